import BellhopCore
import BellhopRules
import Testing

/// The explanation, in a failed test, of why a rule did not run.
@Suite struct RefusalTests {
    private func problems(_ rule: String, _ given: String, expect: String) throws -> [Diagnostic] {
        let test = "tests:\n  - name: t\n    given:\n\(given)\n    expect:\n\(expect)"
        return try Fixture.results(test, of: "rule: r\non: task_created\n\(rule)").flatMap(\.problems)
    }

    private static let event = "      - task_created: {task: {id: a1, number: INC1, priority: 3}}"
    private static let doing = "do:\n  - comment: x\n"

    @Test func `the condition that keeps an absence from beginning is shown with the values of its parts`() throws {
        func details(_ condition: String) throws -> [String] {
            let on = "on: {none: task_commented, after: task_created, within: 4h, by: task.id}"
            let rule = "\(on)\nwhen: \(condition)\n\(Self.doing)"
            return try self.details(rule, Self.event + "\n      - wait: 5h", expect: "comment")
        }
        let what = "rule `r`: `when` is false for `task_created` (line 4)"
        #expect(try details("task.priority == 1") == [what, "  task.priority  3"])
        #expect(try details("key == 'b1'") == [what, "  key  \"a1\""])
    }

    @Test(arguments: ["all", "sequence"])
    func `a condition that is false for several events, or for one of them, is shown with the values of its parts`(
        _ kind: String
    ) throws {
        let changed = "      - task_changed: {task: {id: a1, number: INC1, priority: 3}, before: {priority: 4}}"
        func details(_ entry: String, _ condition: String) throws -> [String] {
            let on = "on: {\(kind): [task_created, \(entry)], within: 1h, by: task.id}"
            return try self.details("\(on)\n\(condition)\(Self.doing)", "\(Self.event)\n\(changed)", expect: "comment")
        }
        let waits = "`\(kind)` has 1 of 2 events and waits for the others until 2026-01-05T10:00:00Z"
        let first = "rule `r`: `task_created` (line 4): \(waits)"
        #expect(
            try details("task_changed", "when: key == 'b1'\n") == [
                first, "rule `r`: `task_changed` (line 5): `when` does not hold", "  key  \"a1\"",
            ])
        #expect(
            try details("{type: task_changed, when: task.priority == 1}", "") == [
                first, "rule `r`: `when` of an event under `on` is false for `task_changed` (line 5)", "  task.priority  3",
            ])
    }

    @Test func `a sequence names the source of an event that it does not accept`() throws {
        let on = "on: {sequence: [{type: task_created, from: incidents}, {type: task_removed, from: my-work}], within: 4h}"
        let found = try details("\(on)\n\(Self.doing)", "\(Self.event)\n        source: my-work", expect: "comment")
        #expect(found == ["rule `r`: `from` does not name `my-work`, the source of `task_created` (line 4)"])
    }

    @Test func `a rule for returning tasks says that a removed task is not created again`() throws {
        let given = "\(Self.event)\n      - task_removed: {task: {id: a1, number: INC1}}\n\(Self.event)"
        #expect(
            try details("on: task_returned\n\(Self.doing)", given, expect: "comment") == [
                "rule `r`: `on` does not name `task_created` (line 4); a removed task comes back as `task_returned`",
                "rule `r`: `on` does not name `task_removed` (line 5)",
                "rule `r`: `on` does not name `task_created` (line 6); a removed task comes back as `task_returned`",
            ])
    }

    @Test func `the throttle that stopped a run is named, with the time of the run before`() throws {
        let given = [Self.event, "      - wait: 10m", Self.event].joined(separator: "\n")
        let expect = "      - comment: {}\n      - comment: {}"
        let found = try problems("throttle: {every: 1h}\n" + Self.doing, given, expect: expect)
        #expect(
            found.flatMap(\.details) == [
                "rule `r`: `throttle` stopped `task_created` (line 6): it ran at 2026-01-05T09:00:00Z, less than 1h before"
            ])
    }

    @Test func `the key of once that had run before is named`() throws {
        let given = [Self.event, Self.event].joined(separator: "\n")
        let found = try problems("once: task.id\n" + Self.doing, given, expect: "      - comment: {}\n      - comment: {}")
        #expect(
            found.flatMap(\.details) == [
                "rule `r`: `once` stopped `task_created` (line 5): it ran for the key \"a1\" at 2026-01-05T09:00:00Z"
            ])
    }

    @Test func `the step's own condition is shown with the values of its parts`() throws {
        let found = try problems(
            "do:\n  - comment: x\n    if: task.priority <= 2 && task.number != \"\"\n", Self.event, expect: "      - comment: {}")
        #expect(
            found.flatMap(\.details) == [
                "rule `r`: `if` of step 0 (`comment`) is false for `task_created` (line 4)",
                "  task.priority <= 2  false",
                "    task.priority     3",
                "  task.number != \"\"   not evaluated",
            ])
    }

    @Test func `a condition with an unknown value is reported as unknown`() throws {
        let given = "      - task_created: {task: {id: a1, number: INC1}}"
        let found = try problems("when: task.priority < 2\n" + Self.doing, given, expect: "      - comment: {}")
        #expect(
            found.flatMap(\.details) == [
                "rule `r`: `when` is unknown (`<` of null) for `task_created` (line 4)", "  task.priority  null",
            ])
    }

    @Test func `an error of a rule is reported beside a write that exceeded its budget`() throws {
        let events = ["2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z", "null"].map {
            "      - task_created: {task: {id: a1, number: INC1, due_date: \($0)}}"
        }
        let found = try problems(
            "from: my-work\nlimit: 1/h\nthrottle: {every: 1m, by: task.due_date}\n" + Self.doing, events.joined(separator: "\n"),
            expect: "      - comment: {}\n      - comment: {}\n        dead: budget")
        #expect(found.map(\.message) == ["rule `r` failed: `by` has no value"])
    }

    private func details(_ rule: String, _ given: String, expect kind: String = "log") throws -> [String] {
        let test = "tests:\n  - name: t\n    given:\n\(given)\n    expect:\n      - \(kind): {}"
        return try Fixture.results(test, of: "rule: r\n\(rule)").flatMap(\.problems).flatMap(\.details)
    }

    @Test func `a schedule that is not due in the test is named with its time, and a rule that ran too seldom with the number`()
        throws
    {
        let daily = "on: {schedule: \"30 8 * * *\"}\ndo: [{log: x}]"
        #expect(
            try details(daily, "      - wait: 1h") == [
                "rule `r`: its schedule is due at 2026-01-06T08:30:00Z, but the test ends at 2026-01-05T10:00:00Z"
            ])
        let twice = try problems(Self.doing, Self.event, expect: "      - comment: {}\n      - comment: {}")
        #expect(twice.flatMap(\.details) == ["rule `r`: it ran only once"])
        #expect(
            try details("on: task_created\n" + Self.doing, "      - wait: 1h", expect: "comment") == [
                "rule `r`: no event was given"
            ])
    }

    @Test func `a message that was kept back, or was empty, is named as the reason`() throws {
        let when = "2026-01-05T09:00:00Z"
        func rule(_ parts: String) -> String {
            "on: task_created\nfrom: my-work\n\(parts)do: [{notify: {to: ops, title: x, list: {of: tasks, as: t, item: x}, skip_empty: true}}]"
        }
        let known = "      - tasks: [{id: a1}]\n" + Self.event
        #expect(
            try details(rule("quiet: {hours: \"08:00-12:00\"}\n"), known, expect: "notify") == [
                "rule `r`: a quiet time keeps `notify` of \(when) back until 2026-01-05T12:00:00Z; to expect that, write `quiet: true` beside it"
            ])
        #expect(
            try details(rule(""), "      - silence: {for: 1h}\n" + known, expect: "notify") == [
                "rule `r`: a silence kept `notify` back at \(when); to expect that, write `silenced: true` beside it"
            ])
        #expect(
            try details(
                rule("let: {nobody: \"tasks.filter(t, false)\"}\n").replacing("of: tasks", with: "of: nobody"), known,
                expect: "notify")
                == ["rule `r`: `notify` at \(when) was empty, and `skip_empty` keeps it from being sent"])
    }

    @Test func `for a list, the elements for which the condition is false are named, or that there is none`() throws {
        let rule =
            "on: {every: 1h}\nfrom: my-work\neach: tasks.filter(t, t.priority <= 3)\nwhen: task.priority == 1\ndo: [{log: x}]"
        let due = "`schedule_due` at 2026-01-05T10:00:00Z"
        func given(_ priority: Int) -> String {
            "      - tasks: [{id: a1, number: INC1, priority: \(priority)}]\n      - wait: 1h"
        }
        #expect(try details(rule, given(2)) == ["rule `r`: `when` is false for \(due) and task `INC1`", "  task.priority  2"])
        #expect(try details(rule, given(4)).first == "rule `r`: `each` is empty for \(due)")
    }

    @Test func `the condition of a digest is explained with the events that it has`() throws {
        let rule = "on: {every: 1h}\nfrom: my-work\nwhen: size(events) > 1\ndo: [{log: x}]"
        #expect(
            try details(rule, Self.event + "\n      - wait: 1h").prefix(2) == [
                "rule `r`: `when` is false for `schedule_due` at 2026-01-05T10:00:00Z", "  size(events)  1",
            ])
    }

    @Test func `an error of a rule is reported at the event for which it failed`() throws {
        let found = try problems(
            "from: my-work\nthrottle: {every: 1m, by: task.due_date}\n" + Self.doing, Self.event, expect: "      - comment: {}")
        #expect(found.first { $0.message == "rule `r` failed: `by` has no value" }?.place?.line == 4)
    }

    @Test func `a test whose action happens reports no other stopped runs`() throws {
        let given = ["      - task_removed: {task: {id: a1, number: INC1}}", Self.event].joined(separator: "\n")
        #expect(try problems(Self.doing, given, expect: "      - comment: {}").isEmpty)
    }

    @Test func `a message that was not expected is shown with its thread, and with what it does to the thread`() throws {
        func help(_ keys: String) throws -> [String?] {
            let rule = "do:\n  - notify: {to: ops, title: Gone, thread: a1\(keys)}\n"
            return try problems(rule, Self.event, expect: "      []").map(\.help)
        }
        #expect(try help("") == ["notify: {to: [\"ops\"], title: \"Gone\", thread: \"a1\"}"])
        #expect(try help(", resolve: true") == ["notify: {to: [\"ops\"], title: \"Gone\", thread: \"a1\", resolve: true}"])
        #expect(try help(", update: true") == ["notify: {to: [\"ops\"], title: \"Gone\", thread: \"a1\", update: true}"])
    }

    @Test func `a field that no name resembles is refused with the advice to declare it`() throws {
        let given = "      - task_created: {task: {id: a1, caller_is_vip: true}}"
        let error = #expect(throws: Diagnostics.self) { try problems(Self.doing, given, expect: "      - comment: {}") }
        #expect(error?.all.map(\.message) == ["the source declares no field `caller_is_vip`"])
        #expect(error?.all.map(\.help) == ["declare it under `fields` of the source, if its tasks have it"])
    }

    @Test func `a change that a write of a rule caused is given with own, and ends no escalation`() {
        let rule = """
            rule: r
            on: task_created
            from: my-work
            do: [{log: x}]
            escalate: [{after: 10m, do: [{log: later}]}]
            """
        func problems(_ own: String, _ expect: String) -> [String] {
            let change = "{task_changed: {task: {id: a1, state: 2}, before: {state: 1}}\(own)}"
            return Fixture.problems(
                of: rule, given: "[{task_created: {task: {id: a1, state: 1}}}, {wait: 1m}, \(change), {wait: 1h}]", expect: expect
            )
        }
        #expect(problems(", own: true", "[{log: x}, {log: later}]") == [])
        #expect(problems(", own: false", "[{log: x}]") == [])
        #expect(problems("", "[{log: x}]") == [])
        #expect(
            Fixture.problems(
                of: rule, given: "[{task_commented: {task: {id: a1}, comment: {text: x}}, own: true}]", expect: "[]")
                == ["unknown-key: `own` cannot stand beside `task_commented`"])
        for key in ["own: true", "source: my-work"] {
            let name = key.prefix { $0 != ":" }
            #expect(
                Fixture.problems(of: rule, given: "[{wait: 1m, \(key)}]", expect: "[]")
                    == ["unknown-key: `\(name)` cannot stand beside `wait`"])
        }
    }

    @Test func `only limits a test to some rules, and an unknown rule is refused with a suggestion`() throws {
        let files = [
            RuleFile("rules/a.yaml", "rule: a\non: task_created\ndo: [{log: a}]\n---\nrule: b\non: task_created\ndo: [{log: b}]")
        ]
        func problems(_ only: String) throws -> [String] {
            let text = """
                rules: a.yaml
                tests:
                  - name: a created task
                    only: \(only)
                    given: [task_created: {task: {id: "1"}}]
                    expect: [log: a]
                """
            let test = RuleFile("rules/x.test.yaml", text)
            return try RuleTests.run([test], rules: files, context: Fixture.context()).flatMap(\.problems).map(\.message)
        }
        #expect(try problems("a") == [])
        #expect(try problems("[a, b]").count == 1)
        #expect(try problems("b").count == 1)
        let error = #expect(throws: Diagnostics.self) { try problems("[a, bb]") }
        #expect(error?.all.map(\.message) == ["there is no rule `bb` in the rule files"])
        #expect(error?.all.first?.help == "did you mean `b`?")
        #expect(throws: Diagnostics.self) { try problems("[]") }
    }
}
