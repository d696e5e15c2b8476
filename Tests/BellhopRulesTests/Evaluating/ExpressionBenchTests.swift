import BellhopCore
import BellhopRules
import Testing

@Suite struct ExpressionBenchTests {
    static let task = Fixture.task(
        fields: ["priority": 2, "state": 1, "active": true, "due_date": "2026-01-05T08:00:00Z", "assigned_to": ""],
        labels: ["state": "New"])

    private func evaluate(
        _ text: String, of subject: ExpressionBench.Subject = .task(task, source: "my-work"), isOpen: Bool = false,
        tasks: [Scope.ID: [Snapshot]] = [:]
    ) throws -> Evaluation {
        try ExpressionBench(Fixture.context(isOpen: isOpen), subject: subject).compile(text).evaluate(
            at: Fixture.start, tasks: tasks)
    }

    /// The result or the rendered diagnostics of an expression.
    private func answer(
        _ text: String, of subject: ExpressionBench.Subject = .task(task, source: "my-work"), isOpen: Bool = false,
        tasks: [Scope.ID: [Snapshot]] = [:]
    ) -> String {
        do {
            switch try evaluate(text, of: subject, isOpen: isOpen, tasks: tasks).outcome {
            case .value(let result): return "\(result.text) : \(result.type)"
            case .failure(let diagnostic): return diagnostic.rendered()
            }
        } catch let diagnostics as Diagnostics {
            return diagnostics.all.map { $0.rendered() }.joined(separator: "\n")
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        ("is_open('office', now)", "true : bool"), ("is_open('office', now + duration('9h'))", "false : bool"),
        ("working_time('office', now, now + duration('24h'))", "duration(\"30600s\") : duration"),
        ("add_working_time('office', now, duration('9h'))", "timestamp(\"2026-01-06T09:30:00Z\") : timestamp"),
        ("add_working_time('office', task.due_date, duration('0s')) == task.due_date", "true : bool"),
    ])
    func `expressions can use the declared calendars`(_ text: String, _ wanted: String) throws {
        #expect(answer(text) == wanted)
    }

    @Test(arguments: [
        ("is_open('ofice', now)", "there is no calendar `ofice`", "did you mean `office`?"),
        ("add_working_time('office', now, duration('-1h'))", "needs a duration that is not negative", ""),
        ("add_working_time('office', now, duration('90000h'))", "the working time does not end within ten years", ""),
        ("is_open('office', null)", "", ""),
    ])
    func `mistakes in calls of calendar functions are reported`(_ text: String, _ message: String, _ help: String) throws {
        let answer = answer(text)
        #expect(answer.contains("error") && answer.contains(message) && answer.contains(help), "\(answer)")
    }

    @Test func `computing the working time of many days counts as cost`() throws {
        let ages =
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(x, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(y, working_time('office', timestamp('0001-01-01T00:00:00Z'), now)))"
        #expect(answer(ages).contains("it costs more than its limit"))
    }

    @Test(arguments: [
        ("1 + 2", "3 : int"), ("task.priority", "2 : int"), ("task.cost", "null : null"),
        ("task.labels.state", "\"New\" : string"),
        ("task.due_date", "timestamp(\"2026-01-05T08:00:00Z\") : timestamp"),
        ("age(task.due_date)", "duration(\"3600s\") : duration"),
        ("[task.number]", "[\"INC0010021\"] : list(string)"), ("changed('state')", "false : bool"),
        ("changes.state", "null : null"), ("before == null", "true : bool"), ("label('state')", "\"New\" : string"),
        ("source", "\"my-work\" : string"), ("user", "\"john.doe\" : string"),
        ("event.data.task.number", "\"INC0010021\" : string"),
    ])
    func `an expression has a value and a type`(_ text: String, _ wanted: String) { #expect(answer(text) == wanted) }

    @Test func `each part has its value, its failure, or a note that it was not evaluated, then without its own parts`() throws {
        let evaluation = try evaluate(
            "task.priority <= 1 && task.title.contains('disk') || [1, 2].exists(n, n == task.state) || task.cost > 1.0")
        let shown = evaluation.parts.map { part in
            switch part.outcome {
            case .value(let result): "\(part.depth) \(part.text) = \(result.brief) ×\(part.times) at \(part.column)"
            case .failure(let code, _): "\(part.depth) \(part.text): \(code)"
            case .notEvaluated: "\(part.depth) \(part.text): -"
            }
        }
        #expect(
            shown == [
                "0 task.priority <= 1 && task.title.contains('disk') || [1, 2].exists(n, n == task.state) = true ×1 at 1",
                "1 task.priority <= 1 && task.title.contains('disk') = false ×1 at 1", "2 task.priority <= 1 = false ×1 at 1",
                "3 task.priority = 2 ×1 at 1", "2 task.title.contains('disk'): -",
                "1 [1, 2].exists(n, n == task.state) = true ×1 at 54", "2 n == task.state = true ×1 at 71", "3 n = 1 ×1 at 71",
                "3 task.state = 1 ×1 at 76", "0 task.cost > 1.0: -",
            ])
    }

    @Test func `a failed evaluation shows the place of the failure`() {
        #expect(
            answer("1 / (task.priority - 2)") == """
                <expression>:1:1: error: division by zero [division-by-zero]
                  1 | 1 / (task.priority - 2)
                    | ^~~~~~~~~~~~~~~~~~~~~~~
                """)
        #expect(
            answer("task.due_date > timestamp('2026-01-01T00:00:00Z') && task.cost > 1.0").contains(
                "in a `when` this is unknown, and the rule does not run"))
    }

    @Test func `mistakes in an expression are reported like those in rules`() {
        #expect(
            answer("task.pririty == 1 && nothing") == """
                <expression>:1:6: error: no field `pririty` on a task of source `my-work` [unknown-field]
                  1 | task.pririty == 1 && nothing
                    |      ^~~~~~~ did you mean `priority`?
                <expression>:1:22: error: unknown name `nothing` [unknown-name]
                  1 | task.pririty == 1 && nothing
                    |                      ^~~~~~~
                """)
        #expect(answer("${{ task.number }}").contains("[template-in-expression]"))
        #expect(answer("").contains("[empty-expression]"))
        #expect(answer("1 +\n").contains("[syntax]"))
    }

    @Test func `an event is available to an expression as it is to a rule`() {
        var before = Self.task
        before.fields["state"] = 3
        let event = ExpressionBench.Subject.event(Fixture.changed(Self.task, from: before))
        #expect(answer("changed('state', 3, 1)", of: event) == "true : bool")
        #expect(answer("changes.state.from", of: event) == "3 : int")
        #expect(answer("changes.priority", of: event) == "null : null")
        #expect(answer("before.state", of: event) == "3 : int")
        #expect(answer("event.type", of: event) == "\"task_changed\" : string")
        let login = ExpressionBench.Subject.event(
            Fixture.event(.loginEvent, nil, source: "snow", data: ["ok": false, "user": "eve"]))
        #expect(answer("event.data.ok || user == 'eve'", of: login) == "true : bool")
        #expect(answer("task.number", of: login).contains("`login_event` has no task [no-task]"))
    }

    @Test func `without an event, an expression can use the tasks, the time and the functions`() {
        let tasks = [Fixture.scope: [Self.task], Fixture.incidentScope: [Self.task]]
        #expect(answer("tasks.filter(t, t.priority == 2).size()", of: .nothing, tasks: tasks) == "2 : int")
        #expect(answer("now", of: .nothing) == "timestamp(\"2026-01-05T09:00:00Z\") : timestamp")
        #expect(answer("age(now - duration('1h'))", of: .nothing) == "duration(\"3600s\") : duration")
        for text in ["task.number", "changed('state')", "label('state')", "before", "changes.state"] {
            #expect(answer(text, of: .nothing).contains("[no-task]"), "\(text)")
        }
        #expect(answer("event.type", of: .nothing).contains("[no-event]"))
        #expect(answer("rule", of: .nothing).contains("only the expressions of a rule have `rule`, the name of that rule"))
    }

    @Test func `an expression can use the tasks of any source by its name`() {
        let tasks = [Fixture.scope: [Self.task], Fixture.incidentScope: [Self.task]]
        for subject in [ExpressionBench.Subject.nothing, .task(Self.task, source: "my-work")] {
            #expect(answer("size(snapshot('incidents').filter(i, i.priority == 2))", of: subject, tasks: tasks) == "1 : int")
        }
    }

    @Test func `without a configuration, a task may have any field`() {
        #expect(answer("task.u_own == null || task.priority == 2", isOpen: true) == "true : bool")
        #expect(answer("task.pririty", isOpen: true).contains("did you mean `priority`?"))
    }

    @Test func `an expression needs the tasks only if it reads them`() throws {
        let bench = ExpressionBench(Fixture.context())
        #expect(try bench.compile("size(tasks) > 0").needsTasks)
        #expect(try !bench.compile("now > timestamp('2026-01-01T00:00:00Z')").needsTasks)
    }

    @Test func `the result in JSON keeps its type`() throws {
        #expect(
            try evaluate("task.priority + 1").json.text
                == #"{"value":3,"type":"int","parts":[{"text":"task.priority","line":1,"column":1,"depth":0,"value":2,"times":1}]}"#
        )
        #expect(try evaluate("1 / (task.priority - 2)").json["error"]?["code"] == "division-by-zero")
    }
}
