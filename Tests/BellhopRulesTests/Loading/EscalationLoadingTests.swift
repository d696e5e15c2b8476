import BellhopCore
import Testing

@testable import BellhopRules

/// Warnings about escalations that depend on the configuration, and the stored text of escalations.
@Suite struct EscalationLoadingTests {
    private static func warnings(_ until: String, sources: [Ability]) throws -> [String] {
        var context = Fixture.context()
        context.sources = sources.enumerated().map { number, comments in
            .init(
                name: "s\(number)", kind: "table", connection: "snow", schema: Fixture.schema, scope: Fixture.scope,
                user: "john.doe", comments: comments)
        }
        let rule = "rule: r\non: task_created\ndo: [{log: x}]\n\(until)\nescalate: [{after: 5m, do: [{log: y}]}]"
        return try Fixture.book(rule, in: context).warnings.map { "\($0.message); \($0.help ?? "")" }
    }

    @Test func `counting comments as answers is a warning if the source reports no comments`() throws {
        let without = Ability.setting("journal", values: ["comments"], line: "journal: [comments]")
        for until in ["until: answered", ""] {
            #expect(
                try Self.warnings(until, sources: [without]) == [
                    "comments do not count as answers here: source `s0` reports no comments; in bellhop.yaml add `journal: [comments]` to source `s0`"
                ])
        }
        #expect(
            try Self.warnings("until: answered || task.state == 6", sources: [.no, .no]) == [
                "comments do not count as answers here: sources `s0`, `s1` report no comments; "
            ])
        #expect(try Self.warnings("until: answered", sources: [without, .yes]) == [])
        #expect(try Self.warnings("until: task.state == 6", sources: [without]) == [])
        #expect(try Self.warnings("", sources: [.yes]) == [])
    }

    @Test func `the stored text of an escalation is read back as the same rule`() throws {
        let first = """
            rule: r
            description: "first: one"
            on: [task_created, {task_changed: {state: {to: 6}}}]
            from: my-work
            let: {most: 2, text: "'a\\"b' + task.number"}
            when: task.priority <= most   # urgent
            do: [{log: x}]
            until: |
              answered ||
                task.state == 6
            escalate:
              - after: {time: 1h, calendar: office}
                repeat: {every: 10m, times: 2}
                do:
                  - notify: {to: [ops, pager], title: "yes", severity: warning, list: {of: tasks, as: t, item: "${{ t.number }}"}}
                    if: task.state != 6
                  - log: {text: "${{ text }}", fields: {a: 1, b: true, c: null, d: "1", e: [x, 2.5]}}
            """
        let rule = try #require(try Fixture.book(first).rule(named: "r"))
        let escalation = try #require(rule.escalation)
        let former = try #require(
            RuleReader.former(
                escalation.text, name: "r", version: escalation.version, in: Fixture.context(),
                sharing: SharedNameCache(Fixture.context())))
        #expect(former.escalation?.version == escalation.version)
        #expect(former.escalation?.text == escalation.text)
        #expect(former.escalation?.steps.map(\.actions.count) == [2])
        let other = first.replacing("first: one", with: "second").replacing("# urgent", with: "").replacing(
            "{log: x}", with: "{log: y}")
        #expect(try Fixture.book(other).rule(named: "r")?.escalation?.version == escalation.version)
        let changed = try Fixture.book(first.replacing("most: 2", with: "most: 3"))
        #expect(changed.rule(named: "r")?.escalation?.version != escalation.version)
    }
}
