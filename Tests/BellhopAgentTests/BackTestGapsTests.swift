import BellhopCore
import BellhopRules
import Testing

@testable import BellhopAgent

@Suite struct BackTestGapsTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    private func book(_ text: String = "rule: a\non: task_created\ndo: [{log: x}]\n") throws -> RuleBook {
        try RuleBook.load(text)
    }

    private func report(
        of span: Duration = .days(1), first: Duration? = .zero, hasEarlier: Bool = true, unreadable: Int = 0
    ) -> BackTestReport {
        var report = BackTestReport(since: start, until: start + span)
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
        #expect(all.last?.hasPrefix("The back-test does not include times when no agent ran") == true)
        return Array(all.dropLast())
    }

    @Test func `a complete history has only the sentence about times without an agent`() throws {
        #expect(try sentences([], report()) == [])
    }

    @Test func `a history that begins later than requested is reported, unless it is only quiet at first`() throws {
        #expect(try sentences([], report(first: .seconds(7200), hasEarlier: false)).count == 1)
        #expect(try sentences([], report(first: .seconds(7200), hasEarlier: true)) == [])
        #expect(try sentences([], report(first: .seconds(60), hasEarlier: false)) == [])
        let late = try sentences([], report(of: .seconds(1800), first: .seconds(600), hasEarlier: false))
        #expect(late == ["The store has no events before \(time(600))."])
        #expect(try sentences([], report(of: .seconds(1800), first: .seconds(60), hasEarlier: false)) == [])
    }

    @Test func `events that cannot be read are counted`() throws {
        #expect(try sentences([], report(unreadable: 3)) == ["Events that cannot be read: 3."])
    }

    @Test func `a failed source is named with its times, even if the failure began earlier or has not ended`() throws {
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

    @Test func `a source that has failed since before the time is named, and one that bellhop.yaml no longer has`() throws {
        var gaps = BackTestGaps()
        gaps.note([
            StoreStatus.SourceStatus(
                source: "silent", scope: Scope(instance: "i", user: "u", kind: "k"), hasBaseline: true, tasks: 0, lastCommit: nil,
                health: SourceHealth(failures: 9, failingSince: start + .seconds(-60), announced: true))
        ])
        for _ in 0..<2 { gaps.note(eventOfMissingSource: "old") }
        #expect(
            gaps.sentences(of: try book(), report()).dropLast() == [
                "Events of the source old, which bellhop.yaml no longer has: 2. Rules with `from` do not see them, and waits for its tasks end.",
                "The source silent could not be read from \(time(-60)) until the end: changes in this time were seen later or never.",
            ])
    }

    private func time(_ seconds: Int) -> String { (start + .seconds(seconds)).rfc3339 }

    private func row(_ act: String, _ facts: JSON.Object, after seconds: Int) -> AuditRow {
        var entry: JSON.Object = ["kind": "act", "act": .string(act)]
        for (name, value) in facts { entry[name] = value }
        return AuditRow(number: 1, at: start + .seconds(seconds), entry: JSON.object(entry).text, hash: "")
    }

    private func sentences(
        _ rows: [AuditRow], events: [Event] = [], pauses: [Pause] = [], stops: [ReceiverStop] = []
    ) throws -> [String] {
        var gaps = BackTestGaps()
        for event in events { gaps.note(event) }
        for row in rows { gaps.note(row) }
        gaps.note(pauses, stops)
        return gaps.sentences(of: try book(), report()).dropLast()
    }

    @Test func `pauses of writes and of tested rules are read from the audit, and those of other rules are left out`() throws {
        let found = try sentences(
            [
                row("resume", ["rule": "a"], after: 5), row("pause", ["rule": "a", "reason": "noisy"], after: 10),
                row("pause", ["rule": "gone"], after: 11), row("pause", ["writes": true], after: 20),
                row("resume", ["rule": "a"], after: 30), row("retry", ["deliveries": 1], after: 31),
            ])
        #expect(
            found == [
                "The rule a was paused until \(time(5)) and saw no events; here it sees them.",
                "The rule a was paused from \(time(10)) until \(time(30)) and saw no events; here it sees them.",
                "Writes to tasks were paused from \(time(20)) until the end, and waited; here they do not.",
            ])
    }

    @Test func `a pause that began earlier and still lasts is read from the current pauses, and reported once`() throws {
        let before = start + .seconds(-60)
        let found = try sentences(
            [row("pause", ["writes": true], after: 20)],
            pauses: [Pause(.rule("a"), since: before, reason: ""), Pause(.writes, since: start + .seconds(20), reason: "")],
            stops: [ReceiverStop(receiver: "ops", cause: .person, since: before, until: nil, interval: .zero, reason: "")])
        #expect(
            found == [
                "The rule a was paused from \(before.rfc3339) until the end and saw no events; here it sees them.",
                "The receiver ops was paused from \(before.rfc3339) until the end, and its deliveries waited; here they do not.",
                "Writes to tasks were paused from \(time(20)) until the end, and waited; here they do not.",
            ])
    }

    @Test func `the pause of a receiver is read from its events`() throws {
        let paused = Event(
            id: Event.ID("p"), type: .receiverPaused, source: "ops", subject: "ops", time: start, data: ["receiver": "ops"])
        let resumed = Event(
            id: Event.ID("r"), type: .receiverResumed, source: "ops", subject: "ops", time: start + .seconds(9),
            data: ["receiver": "ops"])
        #expect(
            try sentences([], events: [paused, resumed]) == [
                "The receiver ops was paused from \(time(0)) until \(time(9)), and its deliveries waited; here they do not."
            ])
    }

    @Test func `rules that changed during the time are named with the time of their last change`() throws {
        let found = try sentences([
            row("reload", ["added": ["a", "other"]], after: 5), row("reload", ["changed": ["a"]], after: 7),
        ])
        #expect(
            found == [
                "These rules were added or changed in this time, but the back-test uses one version throughout: a (\(time(7)) and before)."
            ])
    }

    @Test func `tasks that rules were made to forget are named, if a tested rule remembers tasks`() throws {
        let rows = (0..<12).map { place in
            row("forget", ["task": .string("snow/\(place)"), "number": .string(place == 0 ? "" : "INC\(place)")], after: place)
        }
        #expect(try sentences(rows) == [])
        var gaps = BackTestGaps()
        for row in rows { gaps.note(row) }
        let book = try book("rule: a\non: task_created\nonce: task.id\ndo: [{log: x}]\n")
        let found = gaps.sentences(of: book, report()).first { $0.hasPrefix("`bellhop forget` made the rules forget tasks") }
        #expect(found?.contains(": snow/0 (\(time(0))), INC1 (\(time(1))), ") == true, "\(found ?? "")")
        #expect(found?.hasSuffix(", INC9 (\(time(9))), 2 more.") == true, "\(found ?? "")")
    }

    @Test func `rules that were added before the first event were not changed for the back-test`() throws {
        var gaps = BackTestGaps()
        gaps.begin = start + .seconds(6)
        for seconds in [5, 7] { gaps.note(row("reload", ["added": [seconds == 5 ? "a" : "b"]], after: seconds)) }
        let book = try book("rule: a\non: task_created\ndo: [{log: x}]\n---\nrule: b\non: task_created\ndo: [{log: x}]\n")
        let found = gaps.sentences(of: book, report())
        #expect(found.filter { $0.contains("added or changed") }.count == 1)
        #expect(found.contains { $0.hasSuffix(": b (\(time(7))).") })
    }

    @Test(arguments: [(25, "There are 15 more such times."), (11, "There is one more such time.")])
    func `many failures of a source are shown as ten lines and a count`(_ count: Int, _ note: String) throws {
        let events = (0..<count).flatMap {
            [event(.sourceFailing, "s", after: .seconds(20 * $0)), event(.sourceRecovered, "s", after: .seconds(20 * $0 + 9))]
        }
        let found = try sentences([], events: events)
        #expect(found.count == 11 && found.last == note)
    }

    @Test func `only the first failures of a source are kept, and all are counted`() throws {
        var gaps = BackTestGaps()
        for number in 0..<5000 {
            gaps.note(event(.sourceFailing, "s", after: .seconds(20 * number)))
            gaps.note(event(.sourceRecovered, "s", after: .seconds(20 * number + 9)))
        }
        #expect(gaps.kept == 10)
        #expect(try gaps.sentences(of: book(), report()).contains("There are 4990 more such times."))
    }

    @Test func `rules with memory and rules that read tasks are named`() throws {
        let remembering = try book("rule: calm\non: task_created\nonce: task.id\ndo: [{log: x}]\n")
        #expect(try sentences([], report(), rules: remembering).count { $0.contains("calm") && $0.contains("begins empty") } == 1)
        let reading = try book("rule: digest\non: {every: 1h}\ndo: [{log: \"${{ string(tasks.size()) }}\"}]\n")
        #expect(try sentences([], report(), rules: reading).contains { $0.contains("`digest` reads the tasks of sources") })
    }
}
