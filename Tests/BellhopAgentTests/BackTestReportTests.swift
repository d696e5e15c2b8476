import BellhopCore
import BellhopRules
import BellhopStore
import Testing

@testable import BellhopAgent

@Suite struct `The report of a back-test as JSON` {
    private let start = Timestamp(seconds: 1_767_603_600)

    private func book(_ title: String) throws -> RuleBook {
        let text = """
            rule: tell
            on: task_created
            do: [{log: "\(title) ${{ task.number }}"}, {log: "${{ task.title }}"}]
            ---
            rule: once
            on: task_created
            once: task.title
            do: [{log: "\(title)"}]
            ---
            rule: fails
            on: task_created
            when: int(task.title) > 0
            do: [{log: "never"}]
            ---
            rule: idle
            on: source_failing
            do: [{log: "never"}]

            """
        return try RuleBook.load(text)
    }

    private func report(against: RuleBook? = nil, title: String = "x") async throws -> BackTestReport {
        let store = try Stores.inMemory()
        let events = (0..<150).map { number in
            let task: JSON = [
                "id": .string("t\(number)"), "number": .string("INC\(number % 3)"), "title": .string(title),
                "url": "https://acme.example/", "fields": ["assignment_group": "desk"], "labels": [:],
            ]
            return Event(
                id: Event.ID(type: .taskCreated, facts: "\(number)"), type: .taskCreated, source: "my-work",
                subject: "s\(number)", time: start + .seconds(number), data: ["task": task])
        }
        try await store.append(events)
        return try await BackTestRun.report(
            store, try book("New"), against: against, from: start - .days(1), to: start + .seconds(1000))
    }

    @Test func `a report is read back with its counts, samples, differences and limits`() async throws {
        let report = try await self.report(against: try book("Old"))
        let read = try #require(BackTestReport(json: report.json))
        #expect(read.json == report.json)
        #expect(read.tally.rules.mapValues(\.runs) == report.tally.rules.mapValues(\.runs))
        #expect(read.tally.rules["once"]?.verdicts == [.once: 149] && read.tally.rules["idle"] == BackTestTally.OfRule())
        #expect(read.tally.rules["fails"]?.lastError != nil)
        #expect(read.tally.tasks["INC0"] == 101 && read.tally.days == report.tally.days)
        #expect(read.samples == report.samples && read.samples["tell"]?.text.contains("x") == true)
        #expect(read.deliveries.first == report.deliveries.first && read.deliveries.count == 301)
        #expect(read.difference?.same == 150 && read.difference?.changed.count == 151 && !read.gaps.isEmpty)
    }

    @Test func `a truncated list keeps the number of deliveries`() async throws {
        var json = try await report(against: try book("Old")).json.asObject ?? [:]
        var difference = json["difference"]?.asObject ?? [:]
        for name in ["comes", "goes", "changes"] { difference[name] = .array(Array(difference[name]?.asArray?.prefix(5) ?? [])) }
        json["difference"] = .object(difference)
        json["deliveries"] = .array(Array(json["deliveries"]?.asArray?.prefix(5) ?? []))
        let read = try #require(BackTestReport(json: .object(json)))
        #expect(read.deliveries.first.count == 5 && read.deliveries.count == 301)
        #expect(read.difference?.changed.first.count == 5 && read.difference?.changed.count == 151)
    }

    @Test func `a long sample ends in an ellipsis`() async throws {
        let text = try #require(try await report(title: String(repeating: "ä", count: 5000)).samples["tell"]?.text)
        #expect(text.unicodeScalars.count == BackTestSample.maxText && text.hasSuffix("ä…"))
    }

    @Test(arguments: ["since", "until", "events", "rules"])
    func `JSON without a required key is not a report`(_ missing: String) async throws {
        var json = try await report().json.asObject ?? [:]
        json[missing] = nil
        #expect(BackTestReport(json: .object(json)) == nil)
    }
}
