import BellhopCore
import BellhopRules
import Testing

/// The action `emit`, and the rules that wait for its events.
@Suite struct EmitTests {
    private static let outage = EventType("outage")

    /// The fixture with the action and two declared types.
    static let context: RuleContext = {
        var context = Fixture.context()
        context.actions.append(
            ActionManifest(
                kind: "emit", summary: "Emits an event.", receiver: .local(nil), shorthand: "type",
                arguments: [
                    Setting("type", .name, required: true, "The type."), Setting("subject", .text, "What it is about."),
                    Setting("data", .map(.json), "Its members."),
                ], emitsEvent: true))
        context.events = EventCatalogue(
            EventCatalogue.builtIn.definitions + [
                EventDefinition(
                    outage, "something is down", from: .outside,
                    [
                        Setting("name", .text, ""), Setting("level", .integer(Int.min...Int.max), ""),
                        Setting("urgent", .boolean, ""), Setting("facts", .json, ""),
                    ]),
                EventDefinition(EventType("ping"), "nothing more", from: .outside, []),
            ])
        return context
    }()

    private static func book(_ text: String) throws(Diagnostics) -> RuleBook { try Fixture.book(text, in: context) }

    private static func diagnostics(_ action: String) -> [String] {
        Fixture.findings("rule: r\non: task_created\nfrom: my-work\ndo:\n  - \(action)", in: context).map {
            $0.message + ($0.help.map { " | \($0)" } ?? "")
        }
    }

    private static let emitter = """
        rule: r
        on: task_created
        from: my-work
        do:
          - emit:
              type: outage
              data: {name: "${{ task.title }}", level: "${{ task.priority }}", urgent: "${{ task.priority == 1 }}", facts: "${{ {'a': [1]} }}"}
        """

    private static func task(_ priority: JSON = 1, hop: Int = 0) -> Event {
        Fixture.event(.taskCreated, Fixture.task(title: "No <b>mail</b>", fields: ["priority": priority]), hop: hop)
    }

    @Test func `an emitted event is stored with its run, and has typed data, its cause and the next hop`() throws {
        let routing = try Self.book(Self.emitter).route([Self.task(hop: 1)])
        let event = try #require(routing.events.first)
        #expect(routing.events.count == 1)
        #expect(event.type == Self.outage && event.source == "r" && event.subject == "acme/a1" && event.time == Fixture.start)
        #expect(event.hop == 2 && event.cause == Event.ID("e1"))
        #expect(event.data == ["name": "No <b>mail</b>", "level": 1, "urgent": true, "facts": ["a": [1]]], "\(event.data)")
        let delivery = try #require(routing.deliveries.first)
        #expect(delivery.initial == .done(Receipt("event outage \(event.id.text.prefix(12))", reference: event.id.text)))
        #expect(delivery.id.receiver == "emit")
        #expect(delivery.emittedEvent(at: Fixture.start) == event)
    }

    @Test func `a run decided again emits the same event, and another step or rule emits a different one`() throws {
        let text = Self.emitter + "\n  - emit: ping\n  - emit: ping\n---\n" + Self.emitter.replacing("rule: r", with: "rule: s")
        let book = try Self.book(text)
        let ids = book.route([Self.task()]).events.map(\.id)
        #expect(ids.count == 4 && Set(ids).count == 4)
        #expect(book.route([Self.task()], at: Fixture.start + .seconds(5)).events.map(\.id) == ids)
    }

    @Test func `a member without a value is left out, and a member of the wrong type fails the step`() throws {
        let missing = try Self.book(Self.emitter).route([Self.task(.null)])
        #expect(missing.deliveries.count == 1)
        let text = try Self.book(
            "rule: r\non: task_created\nfrom: my-work\ndo:\n  - emit: {type: outage, data: {level: \"${{ task.title }}\"}}")
        let routing = text.route([Self.task()])
        #expect(routing.events.map(\.type) == [.deliveryDead])
        let failure = try #require(routing.deliveries.first?.death)
        #expect(failure.reason == .unrenderable && failure.message.contains("is not a whole number"), "\(failure.message)")
        let absent = try Self.book(
            "rule: r\non: task_created\nfrom: my-work\ndo:\n  - emit: {type: outage, data: {name: \"${{ task.title }}\", level: \"${{ task.priority }}\"}}"
        )
        #expect(absent.route([Self.task(.null)]).events.map(\.data) == [["name": "No <b>mail</b>"]])
    }

    @Test func `rules that emit events for each other stop at the bound of hops`() throws {
        let book = try Self.book(
            "rule: r\non: [task_created, ping]\ndo: [{emit: ping}]\n---\nrule: s\non: ping\ndo: [{log: heard}]")
        var events = [Self.task()]
        var emitted = 0
        var received = 0
        var errors: [String] = []
        while !events.isEmpty, emitted < 100 {
            let routing = book.route(events)
            events = routing.events
            emitted += events.count
            received += routing.deliveries.filter { $0.id.rule == "s" }.count
            errors += routing.tallies.compactMap(\.lastError)
        }
        #expect(emitted == Event.lastHop && received == Event.lastHop)
        #expect(errors.count == 1 && errors[0].hasPrefix("stopped: 5 writes or events of rules led to this event"))
    }

    @Test func `an event after a step with on_error: stop waits for it as a delivery`() throws {
        let book = try Self.book(
            """
            rule: r
            on: task_created
            from: my-work
            do:
              - log: first
                on_error: stop
              - emit: ping
              - log: last
            """)
        let routing = book.route([Self.task()])
        #expect(routing.events.isEmpty)
        #expect(routing.deliveries.map(\.initial) == [.available, .available, .available])
        #expect(routing.deliveries.dropFirst().allSatisfy { $0.after == [routing.deliveries[0].id] })
        #expect(routing.deliveries[1].emittedEvent(at: Fixture.start)?.type == EventType("ping"))
    }

    @Test func `in shadow mode an event is recorded but not emitted`() throws {
        let routing = try Self.book(Self.emitter + "\nmode: shadow").route([Self.task()])
        #expect(routing.events.isEmpty)
        #expect(routing.deliveries.map(\.initial) == [.shadow])
    }

    @Test(arguments: [
        ("emit: outtage", ["no event `outtage` is declared | did you mean `outage`?"]),
        ("emit: task_created", ["a rule cannot emit `task_created`, an event of Bellhop itself | use `outage`, `ping`"]),
        ("emit: \"${{ task.title }}\"", ["no event `${{ task.title }}` is declared | use `outage`, `ping`"]),
        ("emit: {data: {name: x}}", ["`emit` needs `type` | The type."]),
        ("emit: {type: outage, data: {nmae: x}}", ["`data` has no setting `nmae` | did you mean `name`?"]),
        ("emit: {type: outage, data: {level: high}}", ["`high` is not a whole number"]),
        (
            "emit: {type: outage, data: \"${{ task }}\"}",
            ["`data` must be a mapping of the event's members, not a text | such as `{name: \"${{ task.number }}\"}`"]
        ),
        ("emit: {type: ping, data: {name: x}}", ["`data` has no setting `name`"]),
        ("emit: {type: outage, data: {level: 3, facts: [1, {a: b}]}}", []),
        ("emit: ping", []),
    ])
    func `the type and the members of an emitted event are checked`(_ action: String, _ expected: [String]) {
        #expect(Self.diagnostics(action) == expected)
    }

    @Test func `rules see the members of a declared event, checked by their names`() {
        func problems(_ condition: String) -> [String] {
            Fixture.findings("rule: r\non: outage\nwhen: \(condition)\ndo: [{log: x}]", in: Self.context).map(\.message)
        }
        #expect(problems("event.data.level > 2") == [])
        #expect(problems("event.data.levle > 2") == ["`event.data` of `outage` has no `levle`"])
        #expect(problems("event.data.level == \"high\"") == ["`event.data.level` is never \"high\""])
    }

    @Test func `a test shows the emitted event, and runs the rules that wait for it`() throws {
        let rules = """
            rule: r
            on: task_created
            from: my-work
            when: task.priority == 1
            do:
              - log: first
                on_error: stop
              - emit: {type: outage, data: {name: "${{ task.title }}", level: 1}}
            ---
            rule: s
            on: outage
            when: event.data.level == 1
            do: [{log: "${{ event.data.name }} from ${{ event.source }}"}]
            """
        let test = """
            tests:
              - name: the outage is logged
                given: [{task_created: {task: {id: a1, title: No mail, priority: 1}}}]
                expect:
                  - log: first
                  - emit: {type: outage, subject: test/a1, data: {name: No mail, level: 1}}
                  - log: No mail from r
              - name: a test can give the event itself
                given: [{outage: {name: No mail, level: 1}}]
                expect: [{log: "No mail from my-work"}]
            """
        let results = try Fixture.results(test, of: rules, in: Self.context)
        #expect(results.count == 2)
        #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
    }
}
