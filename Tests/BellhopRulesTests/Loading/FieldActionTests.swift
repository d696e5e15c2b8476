import BellhopCore
import BellhopRules
import Testing

/// Actions that set fields: writing, checking, rendering and testing them.
@Suite struct FieldActionTests {
    static let update = ActionManifest(
        kind: "update", summary: "Sets fields.", receiver: .taskConnection, shorthand: "fields",
        arguments: [
            Setting("fields", .map(.scalar), required: true, "The fields."),
            Setting("expect", .map(.list(.scalar)), "What must be."),
            Setting("unless_changed", .boolean, default: "false", "Or not."),
        ], effect: .writes, refusedFields: ["work_notes": "write `comment`"])

    static let create = ActionManifest(
        kind: "create", summary: "Makes a record.", receiver: .named,
        arguments: [
            Setting("to", .name, required: true, "Where."), Setting("table", .text, required: true, "In what."),
            Setting("fields", .map(.scalar), required: true, "With what."), Setting("correlation", .text, "The key."),
        ], effect: .makes)

    static func context(isOpen: Bool = false, taking actions: [String] = ["comment", "update", "create"]) -> RuleContext {
        var context = Fixture.context(isOpen: isOpen)
        context.actions += [update, create]
        for place in context.connections.indices where context.connections[place].name == "snow" {
            context.connections[place].actions = actions
        }
        return context
    }

    private static func rule(_ step: String) -> String { "rule: r\non: task_created\nfrom: my-work\ndo:\n  - \(step)\n" }

    private func book(_ step: String) throws(Diagnostics) -> RuleBook {
        try Fixture.book(Self.rule(step), in: Self.context(taking: ["update", "create"]))
    }

    private func problems(_ step: String, taking actions: [String] = ["update", "create"]) -> [String] {
        Fixture.findings(Self.rule(step), in: Self.context(taking: actions)).map {
            "\($0.code): \($0.message)\($0.help.map { " (\($0))" } ?? "")"
        }
    }

    private func arguments(_ step: String, _ event: Event = Fixture.event()) throws -> JSON {
        let delivery = try #require(try book(step).route([event]).deliveries.first)
        guard case .values(let values) = delivery.arguments else { return .null }
        if let failure = delivery.death { return .string(failure.message) }
        return .object(values)
    }

    @Test func `a mapping of fields is the short form, and its values keep their types`() throws {
        let event = Fixture.event(.taskCreated, Fixture.task(fields: ["priority": 2, "due_date": .null]))
        let fields: JSON = [
            "state": 2, "active": false, "urgency": 2, "due_date": .null, "short_description": "P2: My computer doesn't work",
        ]
        let written =
            "{state: 2, active: false, urgency: \"${{ task.priority }}\", due_date: \"${{ task.due_date }}\", short_description: \"P${{ task.priority }}: ${{ task.title }}\"}"
        #expect(try arguments("update: \(written)", event) == ["fields": fields, "unless_changed": false])
        #expect(try arguments("update: {fields: \(written)}", event) == ["unless_changed": false, "fields": fields])
    }

    @Test func `a number that would not be sent as it is written is refused`() {
        #expect(
            problems("update: {fields: {assigned_to: 0123, short_description: 1.10}}") == [
                #"number-form: YAML reads `0123` as the number 123 (write `"0123"` for the text, or `123` for the number)"#,
                #"number-form: YAML reads `1.10` as the number 1.1 (write `"1.10"` for the text, or `1.1` for the number)"#,
            ])
        #expect(
            problems(#"update: {fields: {state: 2, urgency: -1, impact: 2.5, active: True, assigned_to: "0123", due_date: ~}}"#)
                == [])
        #expect(
            problems("webhook: {url: https://x.example/, json: {zip: 01067, list: [{version: 1.10}]}}").map { $0.prefix(46) }
                == ["number-form: YAML reads `01067` as the number ", "number-form: YAML reads `1.10` as the number 1"])
        #expect(problems("webhook: {url: https://x.example/, json: {a: 2, b: -1.5, c: \"01067\", d: ~}}") == [])
    }

    @Test func `unless_changed sends the event's values under the record's field names`() throws {
        let event = Fixture.event(.taskCreated, Fixture.task(fields: ["priority": 2, "sys_updated_on": "x"]))
        #expect(
            try arguments("update: {fields: {state: 2}, unless_changed: true, expect: {state: [1, New]}}", event) == [
                "fields": ["state": 2], "unless_changed": true, "expect": ["state": [1, "New"]],
                "seen": ["short_description": "My computer doesn't work", "priority": 2],
            ])
        let other = try arguments("update: {fields: {state: 2}, unless_changed: true, task: b2}", event)
        #expect(other.asString?.contains("the event's own task") == true)
    }

    @Test func `a list as a field's value makes the delivery dead, and the reason says so`() throws {
        let text = try arguments("update: {assigned_to: \"${{ [1, 2] }}\"}").asString
        #expect(text?.contains("a field takes one value") == true)
    }

    @Test(arguments: [
        ("update: {work_notes: x}", "wrong-field: `update` does not set `work_notes` (write `comment`)"),
        ("update: {fields: {a.b: x}}", "wrong-field: `a.b` is not a field of a record (fields of other records cannot be set)"),
        ("update: {}", "missing-key: `update` sets no field"),
        ("update: {state: 2, unless_changed: true}", "missing-key: `update` needs `fields` (The fields.)"),
        ("update: {state: [1]}", "wrong-type: `fields` must be a text, a number, `true`, `false` or `null`, not a list"),
        ("update: {state: }", "wrong-type: `fields` has no value; `\"\"` is an empty one"),
        ("create: {to: ops, table: incident, fields: {a: 1}}", "wrong-connection: connection `ops` takes no `create`"),
    ])
    func `a mistake in setting fields is reported`(_ step: String, _ problem: String) {
        #expect(problems(step).contains { $0.hasPrefix(problem) }, "\(problems(step))")
    }

    @Test func `an action that the source's connection does not support is a mistake`() {
        #expect(
            problems("update: {state: 2}", taking: ["comment"]) == [
                "wrong-connection: `update` is not possible for the tasks of `my-work`: connection `snow` does not support `update` "
                    + "(connections of kind servicenow do not support it)"
            ])
    }

    @Test func `rules that create tasks stop at the last hop, like rules that write to tasks`() throws {
        let book = try book("create: {to: snow, table: incident, fields: {short_description: x}}")
        #expect(book.route([Fixture.event(hop: Event.lastHop - 1)]).deliveries.count == 1)
        #expect(book.route([Fixture.event(hop: Event.lastHop)]).deliveries.isEmpty)
    }

    @Test func `a rule lists the connections, fields and constants that its actions use`() throws {
        #expect(
            try book("update: {fields: {state: 2, urgency: \"${{ task.priority }}\"}, unless_changed: true}").rules[0].uses == [
                ActionUse(
                    action: "update", connections: ["snow"], fields: ["state", "urgency"], constants: ["unless_changed": true])
            ])
    }

    @Test(arguments: [true, false]) func `a test may expect fields in the short form or the long one`(_ isOpen: Bool) throws {
        let rules = "rule: r\non: task_created\nfrom: my-work\ndo:\n  - update: {state: 2, assigned_to: \"${{ task.title }}\"}\n"
        let tests = """
            tests:
              - name: short
                given: [{task_created: {task: {id: a1, title: T}}}]
                expect: [{update: {state: 2, assigned_to: T}}]
              - name: long
                given: [{task_created: {task: {id: a1, title: T}}}]
                expect: [{update: {task: a1, fields: {state: 2, assigned_to: T}}}]
              - name: wrong
                given: [{task_created: {task: {id: a1, title: T}}}]
                expect: [{update: {state: 3}}]
            """
        let results = try Fixture.results(tests, of: rules, in: Self.context(isOpen: isOpen))
        #expect(results.map(\.problems.isEmpty) == [true, true, false])
    }

    @Test func `the schema has both forms`() {
        let step = RuleSchema.rules(actions: [Self.update]).at(
            "$defs", "rule", "properties", "do", "items", "properties", "update")
        #expect(
            step?["anyOf"]?[0]?.text.contains(#""additionalProperties":{"type":["string","number","boolean","null"]}"#) == true)
        #expect(step?["anyOf"]?[1]?.at("properties")?.asObject?.keys == ["fields", "expect", "unless_changed", "task"])
    }
}
