import BellhopCore
import BellhopRules
import Testing

@testable import BellhopAgent

@Suite struct BackTestGapsTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    private func book(_ text: String = "rule: a\non: task_created\ndo: [{log: x}]\n") throws -> RuleBook {
        try RuleBook.load(
            [RuleFile(path: "rules/a.yaml", bytes: Array(text.utf8))], surroundings: RuleLoading.openSurroundings())
    }

    private func report(first: Duration? = .zero, hasEarlier: Bool = true, unreadable: Int = 0) -> BackTestReport {
        var report = BackTestReport(since: start, until: start + .days(1))
        report.first = first.map { start + $0 }
        report.hasEarlier = hasEarlier
        report.unreadable = unreadable
        return report
    }

    private func event(_ type: EventType, _ source: String, after: Duration) -> Event {
        Event(
            id: Event.ID("\(type.name)\(source)\(after)"), type: type, source: source, subject: source, time: start + after,
            data: [:])
    }

    /// The sentences besides the last, which is always there.
    private func sentences(_ events: [Event] = [], _ report: BackTestReport, rules: RuleBook? = nil) throws -> [String] {
        var gaps = BackTestGaps()
        for event in events { gaps.note(event) }
        let all = gaps.sentences(of: try rules ?? book(), report)
        #expect(all.last?.hasPrefix("Times at which no agent ran") == true)
        return Array(all.dropLast())
    }

    @Test func `a history without gaps has none but those that are never known`() throws {
        #expect(try sentences([], report()) == [])
    }

    @Test func `a history that begins later than asked says so, one that is quiet at first does not`() throws {
        #expect(try sentences([], report(first: .seconds(7200), hasEarlier: false)).count == 1)
        #expect(try sentences([], report(first: .seconds(7200), hasEarlier: true)) == [])
        #expect(try sentences([], report(first: .seconds(60), hasEarlier: false)) == [])
    }

    @Test func `events that cannot be read are counted`() throws {
        #expect(try sentences([], report(unreadable: 3)) == ["Events that cannot be read: 3."])
    }

    @Test func `a source that failed is named with its time, also if it began before or has not ended`() throws {
        let events = [
            event(.sourceRecovered, "early", after: .seconds(10)), event(.sourceFailing, "whole", after: .seconds(20)),
            event(.sourceFailing, "whole", after: .seconds(25)), event(.sourceRecovered, "whole", after: .seconds(30)),
            event(.sourceFailing, "late", after: .seconds(40)),
        ]
        let found = try sentences(events, report())
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("The source early could not be read until \((start + .seconds(10)).rfc3339)"))
        #expect(
            found[1].hasPrefix(
                "The source whole could not be read from \((start + .seconds(20)).rfc3339) until \((start + .seconds(30)).rfc3339)"
            ))
        #expect(found[2].hasPrefix("The source late could not be read from \((start + .seconds(40)).rfc3339) until the end"))
    }

    @Test func `rules that remember and rules that read tasks are named`() throws {
        let remembering = try book("rule: calm\non: task_created\nonce: task.id\ndo: [{log: x}]\n")
        #expect(try sentences([], report(), rules: remembering).count { $0.contains("calm") && $0.contains("begins empty") } == 1)
    }
}
