import BellhopCore
import BellhopRules
import Testing

/// Tasks in the tests of rules have the class that their source would read.
@Suite struct `Classes in tests` {
    private func problems(_ className: String, of task: String) throws -> [String] {
        var context = Fixture.context()
        context.sources[1].taskClass = "incident"
        let rule = "rule: r\nfrom: incidents\non: task_created\nwhen: task.class == '\(className)'\ndo: [{log: x}]"
        let test = "tests: [{name: t, given: [{task_created: {task: \(task)}}], expect: [{log: x}]}]"
        return try Fixture.results(test, of: rule, in: context).flatMap(\.problems).map(\.message)
    }

    @Test func `a task without a class has that of its source`() throws {
        #expect(try problems("incident", of: "{id: a1}") == [])
        #expect(try problems("problem", of: "{id: a1, class: problem}") == [])
    }
}

/// The labels of tasks in the tests of rules are those that a source would read.
@Suite struct `Labels in tests` {
    private func problems(_ rule: String, _ given: String, expect: String) -> [String] {
        Fixture.problems(of: "rule: r\nfrom: my-work\n\(rule)\ndo: [{log: x}]", given: "[\(given)]", expect: expect)
    }

    @Test func `the label of an empty value is empty`() {
        let rule = "on: task_created\nwhen: task.labels.assigned_to == ''"
        #expect(problems(rule, "{task_created: {task: {id: a1}}}", expect: "[{log: x}]") == [])
        let labelled = "{task_created: {task: {id: a1, labels: {assigned_to: Ada}}}}"
        #expect(problems(rule, labelled, expect: "[]") == [])
    }

    @Test(arguments: ["before: {assigned_to: ''}", "changes: {assigned_to: {from: ''}}"])
    func `the label of an earlier empty value is empty`(_ earlier: String) {
        let given = "{task_changed: {task: {id: a1, assigned_to: ada, labels: {assigned_to: Ada}}, \(earlier)}}"
        let rule = "on: task_changed\nwhen: before.labels.assigned_to == ''"
        #expect(problems(rule, given, expect: "[{log: x}]") == [])
    }

    @Test(arguments: ["before: {state: 2}", "changes: {state: {from: 2, to: 6}}"])
    func `an earlier value does not have the label of the present one`(_ earlier: String) {
        let given = "{task_changed: {task: {id: a1, state: 6, labels: {state: Resolved}}, \(earlier)}}"
        #expect(problems("on: {task_changed: {state: {from: Resolved}}}", given, expect: "[]") == [])
        #expect(problems("on: {task_changed: {state: {to: Resolved}}}", given, expect: "[{log: x}]") == [])
    }
}
