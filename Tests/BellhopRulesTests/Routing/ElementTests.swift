import BellhopCore
import BellhopRules
import Testing

/// Rules that run for each task of a list.
@Suite struct ElementTests {
    private static func rule(_ more: String) -> String { "rule: r\non: {every: 5m}\nfrom: my-work\n\(more)" }

    @Test func `steps write to the element unless they name another task`() {
        let rule = Self.rule(
            """
            each: tasks.filter(t, t.priority == 1)
            do: [{comment: "Hello ${{ task.number }}"}, {comment: {task: b, text: other}}]
            until: answered
            escalate: [{after: 1h, do: [{comment: late}]}]
            """)
        let tasks = "{tasks: [{id: a, number: N1, priority: 1}, {id: b, number: N2, priority: 2}]}"
        let expected = "[{comment: {task: a, text: Hello N1}}, {comment: {task: b, text: other}}]"
        #expect(Fixture.problems(of: rule, given: "[\(tasks), {wait: 5m}]", expect: expected) == [])
    }

    @Test func `a rule runs for at most the first ten thousand elements of a list`() {
        let rule = Self.rule("each: tasks\ndo: [{log: \"${{ task.id }}\", if: \"task.id in ['t9999', 't10000']\"}]")
        let list = (0...10_000).map { "{id: t\($0)}" }.joined(separator: ", ")
        let found = Fixture.problems(of: rule, given: "[{tasks: [\(list)]}, {wait: 5m}]", expect: "[{log: t9999}]")
        #expect(found == ["rule `r` failed: `each` has 10001 tasks; the rule runs for the first 10000 of them"])
    }

    @Test func `each task of a list has its own wait, also if their ids look the same`() {
        let tasks = "{tasks: [{id: \u{e9}, number: N1}, {id: e\u{301}, number: N2}]}"
        for number in ["N1", "N2"] {
            let rule = Self.rule(
                "each: tasks\nfor: 10m\ndo: [{log: \"${{ task.number }}\", if: \"task.number == '\(number)'\"}]")
            #expect(Fixture.problems(of: rule, given: "[\(tasks), {wait: 20m}]", expect: "[{log: \(number)}]") == [])
        }
        // A task that leaves the list ends its own wait, and no other.
        let rule = Self.rule("each: tasks\nfor: 10m\ndo: [{log: \"${{ task.number }}\"}]")
        let fewer = "{tasks: [{id: \u{e9}, number: N1}]}"
        #expect(Fixture.problems(of: rule, given: "[\(tasks), {wait: 6m}, \(fewer), {wait: 14m}]", expect: "[{log: N1}]") == [])
    }
}
