import BellhopCore
import BellhopRules
import Testing

/// Events in the expressions of a rule.
extension RoutingTests {
    @Test func `a filter on changed fields accepts raw values and labels`() throws {
        func change(_ filter: String, from: JSON = 2, to: JSON = 6, label: String = "Resolved") throws -> Bool {
            let book = try Self.log("", on: "{task_changed: {\(filter)}}")
            let before = Fixture.task(fields: ["state": from, "assigned_to": ""], labels: ["state": "In Progress"])
            let after = Fixture.task(fields: ["state": to, "assigned_to": "jane"], labels: ["state": .string(label)])
            return !book.route([Fixture.changed(after, from: before)]).deliveries.isEmpty
        }
        #expect(try change("state: {to: 6}"))
        #expect(try change("state: {to: Resolved}"))
        #expect(try change("state: {from: [1, In Progress], to: [6, 7]}"))
        #expect(try change("state: ~"))
        #expect(try change("state: {}, assigned_to: {from: \"\"}"))
        #expect(try change("assigned_to: {from: , to: jane}"))
        #expect(try change("state: {from: 1, to: 2}", from: 1.0, to: 2.0))
        #expect(try change("state: {from: 1.50, to: 2.0}", from: 1.5, to: 2))
        #expect(try change("state: {from: False, to: True}", from: false, to: true))
        #expect(try !change("state: {to: 2}", to: 2.5))
        #expect(try !change("state: {to: 2.5}", from: 1, to: 2))
        #expect(try !change("state: {to: 7}"))
        #expect(try !change("state: {from: 1}"))
        #expect(try !change("state: {to: 6}, priority: {}"))
    }

    @Test func `expressions can read the changes of an event`() throws {
        let before = Fixture.task(fields: ["state": 1, "priority": 3], labels: ["state": "New"])
        let after = Fixture.task(fields: ["state": 2, "priority": 3], labels: ["state": "In Progress"])
        for (condition, expected) in [
            ("changes.state.to == 2", true), ("changes.state.from == 1 && before.state == 1", true),
            ("changes.priority.to == 3", false),
            ("changes.priority == null", true), ("has(changes.state) && !has(changes.priority)", true),
            (#""state" in changes && size(changes) == 1"#, true), (#"changed("state")"#, true),
            (#"changed("state", 1, 2)"#, true),
            (#"changed("state", "New", "In Progress")"#, true), (#"changed("state", 2, 1)"#, false),
            (#"changed("priority")"#, false),
            (#"label("state") == "In Progress" && label("priority") == "3""#, true),
            (#"task.labels.state == "In Progress""#, true),
            ("task.labels.priority == null", true),
            ("event.type == \"task_changed\" && source == \"my-work\" && user == \"john.doe\"", true),
            ("rule == \"r\" && event.data.task.id == task.id", true), ("task.fields.number == \"\"", true),
            ("before.title == task.title", true),
        ] {
            let book = try Self.log("when: '\(condition)'\nfrom: my-work", on: "task_changed")
            let routing = book.route([Fixture.changed(after, from: before)])
            #expect(routing.deliveries.isEmpty != expected, "\(condition)")
            #expect(routing.tallies.allSatisfy { $0.errors == 0 }, "\(condition): \(routing.tallies)")
        }
    }

    @Test func `an unchanged field is null in the changes of a gathered event, as in those of the event`() {
        let rule = """
            rule: r
            on: task_changed
            from: my-work
            count: {at_least: 2, within: 1h}
            do: [{log: "${{ events.filter(e, e.changes.priority != null).size() }}"}]
            """
        let changes = [
            "{task: {id: a, number: a, state: 2}, before: {state: 1}}",
            "{task: {id: b, number: b, priority: 1}, before: {priority: 2}}",
        ]
        let given = changes.map { "{task_changed: \($0)}" }.joined(separator: ", ")
        #expect(Fixture.problems(of: rule, given: "[\(given)]", expect: "[{log: \"1\"}]") == [])
    }

    @Test func `times can be compared, and the age of a missing time is unknown`() throws {
        let book = try Self.log(#"when: "age(task.due_date) > duration('1h') && now > task.due_date""# + "\nfrom: my-work")
        func task(_ due: JSON) -> Event { Self.number(1, id: "a", fields: ["due_date": due]) }
        #expect(texts(book.route([task("2026-01-05T07:59:59.000000Z")])) == ["INC1"])
        #expect(texts(book.route([task("2026-01-05T08:00:00.000000Z")])) == [])
        #expect(book.route([task(.null)]).tallies == [])
    }

    @Test func `names defined in let are available in the rest of the rule`() throws {
        let book = try Fixture.book(
            """
            rule: r
            on: task_created
            from: my-work
            let:
              urgent: task.priority == 1
              name: 'urgent ? "urgent" : "usual"'
            when: urgent
            once: name + task.id
            do:
              - log: "${{ name }}: ${{ task.number }}"
              - log: never
                if: "!urgent"
              - log: asked
                if: urgent
            """)
        #expect(texts(book.route([Self.number(1, id: "a", fields: ["priority": 1])])) == ["urgent: INC1", "asked"])
        #expect(texts(book.route([Self.number(1, id: "a", fields: ["priority": 2])])) == [])
    }
}
