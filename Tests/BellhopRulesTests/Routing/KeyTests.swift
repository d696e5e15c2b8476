import BellhopCore
import BellhopRules
import Testing

/// The keys under which rules wait, count, gather and remember.
@Suite struct KeyTests {
    @Test(arguments: [
        ("task_created", "for: {time: 1h, by: task.priority}", "`by` of `for` has no value"),
        ("task_created", "count: {at_least: 1, within: 1h, by: task.priority}", "`by` of `count` has no value"),
        ("task_created", "count: {at_least: 1, within: 1h, distinct: task.priority}", "`distinct` has no value"),
        ("task_created", "group: {wait: 1m, by: task.priority}", "`by` of `group` has no value"),
        ("task_created", "throttle: {every: 1h, by: task.priority}", "`by` has no value"),
        ("task_created", "once: task.priority", "`once` has no value"),
        ("{all: [task_created, task_changed], within: 1h, by: task.priority}", "", "`by` has no value"),
        ("{sequence: [task_created, task_changed], within: 1h, by: task.priority}", "", "`by` has no value"),
        ("{none: task_changed, after: task_created, within: 1h, by: task.priority}", "", "`by` has no value"),
    ])
    func `a key that is null is an error of the rule, which does not run`(_ on: String, _ part: String, _ error: String) {
        let text = "rule: r\non: \(on)\nfrom: my-work\n\(part)\ndo: [{log: ran}]"
        let given = "[{task_created: {task: {id: a, number: a, priority: null}}}, {wait: 2h}]"
        #expect(Fixture.problems(of: text, given: given, expect: "[]") == ["rule `r` failed: \(error)"])
    }

    @Test func `values of distinct that only look the same are counted separately`() {
        let text =
            "rule: r\non: task_created\nfrom: my-work\ncount: {at_least: 2, within: 1h, distinct: task.title}\ndo: [{log: ran}]"
        let tasks = ["{id: a, number: a, title: \u{e9}}", "{id: b, number: b, title: e\u{301}}"]
        let given = tasks.map { "{task_created: {task: \($0)}}" }.joined(separator: ", ")
        #expect(Fixture.problems(of: text, given: "[\(given)]", expect: "[{log: ran}]") == [])
    }
}
