import BellhopCore
@testable import BellhopRules
import Foundation
import Testing

@Suite struct ShippedRulesTests {
    static func files() throws -> [RuleFile] {
        let folder = URL(filePath: #filePath).appending(path: "../../../../rules").standardized.path
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".yaml") }.sorted().map { name in
            RuleFile(path: "rules/\(name)", bytes: Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))))
        }
    }

    @Test func `the shipped rules load with and without a configuration`() throws {
        for isOpen in [true, false] {
            let book = try RuleBook.load(try Self.files(), context: Fixture.context(isOpen: isOpen))
            #expect(book.warnings == [])
            #expect(
                book.rules.map(\.name) == [
                    "acknowledge-new-incidents", "alert-chat-on-new-task", "alert-on-dead-delivery",
                    "alert-on-failed-login", "alert-on-failing-source", "morning-digest", "page-for-unowned-p1",
                    "weekly-review",
                ])
            #expect(book.rules.allSatisfy { $0.description != nil })
        }
    }

    @Test func `the tests of the shipped rules pass with and without a configuration`() throws {
        let files = try Self.files()
        for isOpen in [true, false] {
            let results = try RuleTests.run(files.filter(\.isTest), rules: files, context: Fixture.context(isOpen: isOpen))
            #expect(results.count == 34)
            #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
        }
    }

    @Test(arguments: [
        ("morning-digest", "1h", "Earlier events that are not counted: 3"),
        ("weekly-review", "6h", "1000 came and 0 left since the last review, and earlier ones that are not counted."),
    ])
    func `a shipped digest says if there were more events than it counts`(_ rule: String, _ wait: String, _ text: String) throws {
        let events = (1...1003).map { number in
            "      - task_created: {task: {id: a\(number), assigned_to: \"\", created: 2026-01-01T10:00:00Z}}\n"
        }
        let test = """
            rules: \(rule).yaml
            timezone: UTC
            tests:
              - name: many events
                at: 2026-01-09T08:00:00Z
                given:
            \(events.joined())      - wait: \(wait)
                expect:
                  - notify: {text: "\(text)"}
            """
        let file = RuleFile(path: "rules/many.test.yaml", bytes: Array(test.utf8))
        let results = try RuleTests.run([file], rules: try Self.files(), context: Fixture.context())
        #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
    }

    @Test func `the tests of the shipped rules pass in another time zone, too`() throws {
        let files = try Self.files()
        var context = Fixture.context()
        context.timeZone = try #require(Fixture.zones["Europe/Berlin"])
        context.timeZoneName = "Europe/Berlin"
        let results = try RuleTests.run(files.filter(\.isTest), rules: files, context: context)
        #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
    }

    @Test func `the shipped rules do the same if the agent restarts between any two steps of their tests`() throws {
        let files = try Self.files()
        let results = try RuleTests.run(files.filter(\.isTest), rules: files, context: Fixture.context(), restarts: true)
        #expect(results.count == 34)
        #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
    }
}
