import BellhopCore
import BellhopRules
import Testing

/// Conditions on labels that no source reads, or that compare labels with values. Only `check` can report that they never hold.
@Suite struct LabelReviewTests {
    private static let schema = TaskSchema([
        .init("number", .text), .init("priority", .int, choices: [.init("1", "1 - Critical"), .init("2", "2 - High")]),
        .init("state", .int), .init("assignment_group", .text, holdsID: true),
        .init(
            "category", .text,
            choices: [.init("hardware", "Hardware"), .init("network", "Network"), .init("network", "Netzwerk")]),
    ])

    /// Labels that are off, and the setting that turns them on.
    private static let off = Ability.setting("display", values: ["both"], line: "display: both")

    private static func source(_ name: String, kind: String = "table", labels: Ability) -> RuleContext.SourceFacts {
        .init(
            name: name, kind: kind, connection: "snow", schema: schema, scope: Scope.ID(text: name), user: "john.doe",
            labels: labels)
    }

    /// The warnings or errors of `check` for a rule on these sources, as codes and helps.
    private static func findings(
        _ rule: String, _ sources: [RuleContext.SourceFacts] = [source("incidents", labels: off)]
    ) -> [String] {
        var context = Fixture.context()
        context.sources = sources
        return Fixture.findings("rule: r\n\(rule)\n", in: context).map { "\($0.code): \($0.help ?? "")" }
    }

    @Test func `a message with a label that no source reads is warned about, and sent`() throws {
        var context = Fixture.context()
        context.sources = [Self.source("incidents", labels: Self.off)]
        let book = try Fixture.book(
            "rule: r\non: task_created\ndo: [{notify: {to: ops, title: 'State ${{ task.labels.state }}'}}]\n", in: context)
        #expect(book.warnings.map(\.code) == ["no-labels"])
        #expect(book.rules.map(\.actions.count) == [1])
    }

    private static func findings(when condition: String, _ sources: RuleContext.SourceFacts...) -> [String] {
        let sources = sources.isEmpty ? [source("incidents", labels: off)] : sources
        return findings("on: task_changed\nwhen: '\(condition)'\ndo: [{log: x}]", sources)
    }

    @Test(arguments: [
        #"label("state") == "In Progress""#, #"label("state").lowerAscii() == "in progress""#,
        #"task.labels.state != null && task.labels.state == "New""#, #"has(before.labels.state)"#,
        #"changed("state", "New", "Resolved")"#, #"tasks.exists(t, t.labels.category == "Hardware")"#,
    ])
    func `a condition on a label that no source reads is reported with the setting that reads it`(_ condition: String) {
        let help = "in bellhop.yaml set `display: both` on source `incidents`"
        #expect(Self.findings(when: condition) == ["no-labels: \(help)"])
        #expect(Self.findings(when: condition, Self.source("incidents", labels: .yes)) == [])
    }

    @Test func `a filter on a change of a label that no source reads is reported, and one on a value is not`() {
        func findings(_ to: String, labels: Ability = Self.off) -> [String] {
            Self.findings("on: {task_changed: \(to)}\ndo: [{log: x}]", [Self.source("incidents", labels: labels)])
        }
        let help = "in bellhop.yaml set `display: both` on source `incidents`"
        #expect(findings("{state: {to: Resolved}}") == ["no-labels: \(help)"])
        #expect(findings("{priority: {to: [2, High]}}") == ["no-labels: write `2`, or \(help)"])
        #expect(findings("{category: {from: Hardware}}") == ["no-labels: write `hardware`, or \(help)"])
        #expect(findings("{assignment_group: {to: Network}}") == ["no-labels: \(help)"])
        #expect(findings("{state: {to: Resolved}}", labels: .yes) == [])
        #expect(findings("{state: {to: 6}, category: {to: hardware}, assignment_group: {to: }}") == [])
    }

    @Test func `a choice's label compared with its value is reported with the value to write`() {
        let labelled = Self.source("incidents", labels: .yes)
        #expect(
            Self.findings(when: #"task.category == "Hardware""#, labelled) == [
                #"label-not-value: write `task.category == "hardware"`, or write `task.labels.category == "Hardware"`"#
            ])
        #expect(
            Self.findings(when: #"task.category in ["hardware", "Netzwerk"]"#, labelled).first?
                .hasPrefix(#"label-not-value: write `task.category in ["hardware", "network"]`"#) == true)
        #expect(
            Self.findings(when: #"task.category == "Hardware""#).first?
                .hasSuffix(#"or set `display: both` on source `incidents`, and write `task.labels.category == "Hardware"`"#)
                == true
        )
        #expect(
            Self.findings(when: #"task.priority == "High""#, labelled) == [
                #"incomparable-types: write `task.priority == 2`, or write `label("priority") == "High"`"#
            ])
        #expect(Self.findings(when: #"task.category == "hardware" || task.category == "anything else""#, labelled) == [])
    }

    @Test func `a missing label in a text is replaced by the value, without a message`() {
        #expect(Self.findings("on: task_created\ndo: [{log: '${{ label(\"state\") }}'}]") == [])
        #expect(
            Self.findings("on: task_created\ndo: [{log: '${{ task.labels.state }}'}]").map { $0.prefix(9) } == ["no-labels"])
    }

    @Test func `a label of sources without labels is reported, unless another source of the rule has labels`() {
        let rest = Self.source("issues", kind: "rest", labels: .no)
        let help = "a source of kind `rest` has no labels: compare the value"
        #expect(Self.findings(when: #"task.labels.category == "Hardware""#, rest) == ["no-labels: \(help)"])
        #expect(Self.findings(when: #"label("category") == "hardware""#, rest) == [])
        #expect(Self.findings(when: #"task.labels.category == "Hardware""#, rest, Self.source("a", labels: .yes)) == [])
    }
}
