import BellhopCore
import BellhopRules
import Foundation
import FoundationXML
import Testing

/// The coverage of rules by tests (`bellhop test --coverage`), and results for build servers (`--junit`).
@Suite struct CoverageTests {
    /// The parts of a rule that the tests did not cover, in words.
    private func missing(_ rule: String, _ given: [String], untested: [RuleFile] = []) throws -> [String] {
        try coverage(rule, given, untested: untested).files.flatMap(\.points).filter { $0.missing != nil }.map(\.words)
    }

    private func coverage(_ rule: String, _ given: [String], untested: [RuleFile] = []) throws -> RuleCoverage {
        let files = [RuleFile("rules/r.yaml", "rule: r\n\(rule)")]
        let tests = given.enumerated().map { number, given in "  - name: t\(number)\n    given:\n\(given)\n    expect: []" }
        let test = RuleFile("rules/r.test.yaml", "tests:\n" + tests.joined(separator: "\n"))
        let record = CoverageRecord()
        _ = try RuleTests.run([test], context: Fixture.context(), coverage: record) { path in
            files.first { $0.path == path }
        }
        try RuleTests.addUntested(files + untested, to: record, context: Fixture.context())
        return record.coverage
    }

    private static func created(priority: Int, title: String = "a") -> String {
        "      - task_created: {task: {id: a1, number: INC1, priority: \(priority), title: \(title)}}"
    }

    @Test func `each part of a condition must have been true and false`() throws {
        let rule =
            "on: task_created\nwhen: task.priority <= 2 && (task.title == 'a' || !task.title.startsWith('b'))\ndo: [{comment: x}]"
        let (one, two) = (Self.created(priority: 1), Self.created(priority: 3))
        #expect(
            try missing(rule, [one]) == [
                "never false: `when`: task.priority <= 2", "never false: `when`: task.title == 'a'",
                "never evaluated: `when`: task.title.startsWith('b')",
            ])
        let others = [Self.created(priority: 1, title: "b"), Self.created(priority: 1, title: "c")]
        #expect(try missing(rule, [one, two] + others) == [])
    }

    @Test func `a condition decided by the index counts as covered`() throws {
        let rule = "on: task_created\nwhen: task.priority == 1\ndo: [{comment: x}]"
        #expect(
            try missing(rule, [Self.created(priority: 3)]) == [
                "never ran: rule r", "never true: `when`: task.priority == 1", "never ran: step 0 (`comment`)",
            ])
    }

    @Test func `steps, their conditions, named values and templates are covered where they are used`() throws {
        let rule = """
            on: task_created
            let: {urgent: task.priority == 1}
            do:
              - comment: "${{ urgent ? 'now' : 'later' }} ${{ task.number }}"
              - log: "${{ task.title }}"
                if: task.title != 'a'
            """
        #expect(
            try missing(rule, [Self.created(priority: 1)]) == [
                "never false: `urgent`: task.priority == 1", "never false: `comment`: urgent", "never ran: step 1 (`log`)",
                "never evaluated: `log`: task.title", "never true: `if`: task.title != 'a'",
            ])
        #expect(try missing(rule, [Self.created(priority: 1), Self.created(priority: 2, title: "b")]) == [])
    }

    @Test func `keys and steps after a wait are covered once the wait is over`() throws {
        let rule = "on: task_created\nfor: 10m\nthrottle: {every: 1h, by: task.number}\ndo: [{comment: \"${{ task.number }}\"}]"
        #expect(
            try missing(rule, [Self.created(priority: 1)]) == [
                "never ran: rule r", "never evaluated: `by`: task.number", "never ran: step 0 (`comment`)",
                "never evaluated: `comment`: task.number",
            ])
        #expect(try missing(rule, [Self.created(priority: 1) + "\n      - wait: 10m"]) == [])
    }

    @Test func `a rule without tests has no coverage`() throws {
        let other = RuleFile("rules/other.yaml", "rule: o\non: task_created\ndo: [{comment: x}]")
        let found = try coverage("on: task_created\ndo: [{comment: x}]", [Self.created(priority: 1)], untested: [other])
        #expect(found.files.map(\.path) == ["rules/other.yaml", "rules/r.yaml"])
        #expect(found.files.map(\.percent) == [0, 100])
        #expect((found.covered, found.all, found.percent) == (2, 4, 50))
    }

    @Test func `a file is shown line by line, with uncovered parts below their line`() throws {
        let rule = "on: task_created\nwhen: task.priority == 1 || task.title == 'b'\ndo: [{comment: x}]\n"
        let found = try coverage(rule, [Self.created(priority: 1)])
        let lines = RuleCoverage.lines(of: found.files[0], in: "rule: r\n\(rule)")
        #expect(
            lines.map { "\($0.mark)\($0.isSource ? "|" : " ")\($0.line)" } == [
                "✓|rule: r", " |on: task_created", "~|when: task.priority == 1 || task.title == 'b'",
                "  never false: `when`: task.priority == 1", "  never evaluated: `when`: task.title == 'b'",
                "✓|do: [{comment: x}]",
            ])
        // As Windows writes files.
        let text = "rule: r\n\(rule)".replacing("\n", with: "\r\n")
        #expect(RuleCoverage.lines(of: found.files[0], in: text).map(\.line) == lines.map(\.line))
    }

    @Test func `the tests of the shipped rules cover at least 98% of them, and still pass`() throws {
        let files = try ShippedRulesTests.files()
        let record = CoverageRecord()
        let results = try RuleTests.run(files.filter(\.isTest), context: Fixture.context(), coverage: record) { path in
            files.first { $0.path == path }
        }
        #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
        let coverage = record.coverage
        #expect(coverage.files.count == 8)
        #expect(coverage.percent >= 98, "\(coverage.files.flatMap(\.points).filter { $0.missing != nil }.map(\.words))")
    }

    /// The names of the cases, and the messages of the failures.
    private final class Reader: NSObject, XMLParserDelegate {
        var (names, failures, texts): ([String], [String], [String]) = ([], [], [])

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            if name == "testcase" { names.append(attributes["name"] ?? "") }
            if name == "failure" { failures.append(attributes["message"] ?? "") }
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) { texts.append(text) }
    }

    @Test func `an XML reader finds the tests and failures of a report, whatever their names are`() {
        let name = "]]> <b> & \"quotes\" \u{1} é 🎉\ttab"
        let place = Diagnostic.Place(file: "a.test.yaml", line: 3, column: 1)
        let problem = Diagnostic(code: "test-failed", "not <x> & \u{1B}[31m", at: place)
        let report = JUnitReport([
            RuleTestResult(file: "a.test.yaml", line: 3, name: name, problems: [problem]),
            RuleTestResult(file: "b.test.yaml", line: 1, name: "two", problems: []),
        ])
        let reader = Reader()
        let parser = XMLParser(data: Data(report.xml.utf8))
        parser.delegate = reader
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
        #expect(reader.names == [name.replacing("\u{1}", with: "\u{FFFD}"), "two"])
        #expect(reader.failures == ["not <x> & \u{FFFD}[31m"])
        #expect(reader.texts.joined().contains("a.test.yaml:3:1"))
    }
}
