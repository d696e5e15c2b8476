import BellhopCore
import BellhopRules
import Testing

@Suite struct RoutingTests {
    /// A rule that logs the task's number, with these keys.
    static func log(_ keys: String, on: String = "[task_created, task_changed]", text: String = "${{ task.number }}")
        throws -> RuleBook
    {
        try Fixture.book("rule: r\non: \(on)\n\(keys)\ndo:\n  - log: \"\(text)\"")
    }

    static func number(_ number: Int, id: String, fields: JSON.Object = [:], hop: Int = 0) -> Event {
        Fixture.event(.taskCreated, Fixture.task(id, number: "INC\(number)", fields: fields), id: "e\(number)", hop: hop)
    }

    func texts(_ routing: Routing) -> [String] {
        routing.deliveries.map { delivery in
            if case .values(let values) = delivery.arguments, case .string(let text)? = values["text"] {
                text
            } else {
                delivery.line
            }
        }
    }

    @Test func `texts in different Unicode normal forms are different values, and each event runs a rule once`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let book = try Fixture.book(
            """
            rule: both
            on: task_created
            when: task.title in ["\(composed)", "\(decomposed)"]
            do: [{log: both}]
            ---
            rule: one
            on: task_created
            when: task.title == "\(composed)"
            do: [{log: one}]
            """)
        func rules(_ title: String) -> [String] {
            book.route([Fixture.event(.taskCreated, Fixture.task(title: title))]).deliveries.map(\.id.rule)
        }
        #expect(rules(composed) == ["both", "one"])
        #expect(rules(decomposed) == ["both"])
    }

    @Test func `an event that can neither begin nor end an absence reads no state`() throws {
        let book = try Fixture.book(
            """
            rule: r
            on: {none: [task_changed, task_returned], after: [task_created, task_changed], within: 1h, by: task.id}
            when: task.class == "incident" && key != "a9"
            do: [{log: silent}]
            """)
        func looks(_ type: EventType, _ taskClass: String) -> Bool {
            let event = Fixture.event(type, Fixture.task("a1", class: taskClass))
            return !book.match([StoredEvent(sequence: 1, event: event)], since: [:]).needs.state.isEmpty
        }
        #expect(looks(.taskCreated, "incident"))
        #expect(!looks(.taskCreated, "problem"))
        // These may end one.
        #expect(looks(.taskChanged, "problem"))
        #expect(looks(.taskReturned, "problem"))
    }

    @Test func `a new incident is acknowledged on its own connection`() throws {
        let book = try Fixture.book(
            """
            rule: ack
            on: task_created
            from: my-work
            when: task.class == "incident"
            once: task.id
            do:
              - comment: Thanks, ${{ task.number }} is in my queue.
            """)
        let routing = book.route([Fixture.event()])
        #expect(routing.routed == [1])
        #expect(
            routing.deliveries.map(\.line) == [
                #"ack/0 comment → snow: {"text":"Thanks, INC0010021 is in my queue.","visibility":"internal"}"#
            ])
        #expect(routing.deliveries.map(\.lane) == ["task/snow/a1"])
        #expect(
            routing.state.map(\.key) == [
                StateKey(rule: "ack", kind: .once, key: "a1"), StateKey(rule: "", kind: .budget, key: "snow/a1", element: "1"),
            ])
        #expect(routing.tallies == [RuleTally(rule: "ack", runs: 1, errors: 0, at: Fixture.start)])
        #expect(book.route([Fixture.event(.taskCreated, Fixture.task(class: "problem"))]).deliveries == [])
    }

    @Test func `routing the same events again makes the same deliveries`() throws {
        let book = try Self.log("")
        let events = [Self.number(1, id: "a"), Self.number(2, id: "b")]
        #expect(book.route(events).deliveries == book.route(events).deliveries)
        #expect(Set(book.route(events).deliveries.map(\.id.text)).count == 2)
    }

    @Test func `events that match no rule are marked as routed`() throws {
        let book = try Self.log("when: task.priority == 1")
        let stored = [
            StoredEvent(sequence: 7, event: Fixture.event(.sourceFailing, nil)), StoredEvent(sequence: 9, event: Fixture.event()),
        ]
        let matches = book.match(stored, since: [:])
        #expect(matches.isEmpty && matches.needs.isEmpty)
        #expect(book.decide(stored).routed == [7, 9])
    }

    @Test func `a rule runs only for events after its first loading`() throws {
        let book = try Self.log("")
        let events = [Self.number(1, id: "a"), Self.number(2, id: "b"), Self.number(3, id: "c")]
        #expect(texts(book.route(events, since: ["r": 2])) == ["INC3"])
    }

    @Test func `once holds within a batch and across batches`() throws {
        let book = try Self.log("once: task.id")
        let first = book.route([Self.number(1, id: "a"), Self.number(2, id: "a"), Self.number(3, id: "b")])
        #expect(texts(first) == ["INC1", "INC3"])
        var state: RuleState = [:]
        state.apply(first.state)
        #expect(texts(book.route([Self.number(4, id: "a"), Self.number(5, id: "c")], state: state)) == ["INC5"])
        let runs = ["event/e1", "event/e3"].map { run -> JSON in .string("\(Fixture.start.microseconds) \(run)") }
        #expect(first.state.map(\.change) == runs.map { .set($0, expires: nil) })
        #expect(first.state.map(\.expected) == [.absent, .absent])
    }

    @Test func `a throttle lets the first run through, and the next after its time`() throws {
        let book = try Self.log("throttle: {every: 1h, by: task.id}")
        var state: RuleState = [:]
        var passed: [[String]] = []
        for (minutes, events) in [(0, [1, 2]), (59, [3]), (60, [4]), (90, [5]), (120, [6])] {
            let routing = book.route(
                events.map { Self.number($0, id: "a") }, state: state, at: Fixture.start + .seconds(minutes * 60))
            state.apply(routing.state)
            passed.append(texts(routing))
        }
        #expect(passed == [["INC1"], [], ["INC4"], [], ["INC6"]])
    }

    @Test func `a throttle does not skip a run of a schedule that is a moment less late than the one before`() throws {
        let book = try Fixture.book("rule: r\non: {every: 1h}\nthrottle: {every: 2h}\ndo: [{log: x}]")
        var state: RuleState = [:]
        var passed: [Int] = []
        // A run that is more than a minute late counts by the time at which it is made.
        for (hour, late) in [(0, 900), (1, 0), (2, 100), (3, 0), (4, 70_000), (6, 0), (7, 0)] {
            let due = Fixture.start + .seconds(hour * 3600)
            let event = Fixture.event(
                .scheduleDue, nil, source: "r", data: ["due": .string(due.rfc3339), "missed": 0], id: "e\(hour)")
            let routing = book.route([event], state: state, at: due + .milliseconds(late))
            state.apply(routing.state)
            if !routing.deliveries.isEmpty { passed.append(hour) }
        }
        #expect(passed == [0, 2, 4, 7])
    }

    @Test func `after the clock is set back, a throttle lets runs through`() throws {
        let book = try Self.log("throttle: {every: 1h}")
        let key = StateKey(rule: "r", kind: .throttle, key: "")
        let later = Fixture.start + .seconds(86_400)
        let run = JSON.string("\(later.microseconds) event/e0")
        #expect(texts(book.route([Self.number(1, id: "a")], state: [key: run])) == ["INC1"])
        #expect(texts(book.route([Self.number(1, id: "a")], state: [key: run], at: later)) == [])
    }

    @Test func `a throttled run does not use up once`() throws {
        let book = try Self.log("once: task.number\nthrottle: {every: 1h}")
        #expect(book.route([Self.number(1, id: "a"), Self.number(2, id: "a")]).state.map(\.key.key) == ["INC1", ""])
    }

    @Test func `a run that fails, or is stopped as part of a loop, uses up neither once nor throttle`() throws {
        let book = try Fixture.book(
            "rule: r\non: task_created\nonce: task.priority\nthrottle: {every: 1h, by: task.id}\ndo: [{comment: x}]")
        func event(_ id: String, priority: JSON, hop: Int = 0) -> Event {
            Fixture.event(.taskCreated, Fixture.task("a", fields: ["priority": priority]), id: id, hop: hop)
        }
        let routing = book.route([
            event("e1", priority: .null), event("e2", priority: 1, hop: Event.lastHop), event("e3", priority: 1),
            event("e4", priority: 1),
        ])
        #expect(routing.deliveries.map(\.id.occasion.text) == ["event/e3"])
        #expect(routing.decisions.map(\.verdict) == [.keyFailed, .loop, .throttled])
    }

    @Test func `a task takes ten writes an hour from all rules together, and further ones are dead and visible`() throws {
        let rules = ["a", "b"].map { "rule: \($0)\non: task_changed\ndo:\n  - comment: x" }.joined(separator: "\n---\n")
        let book = try Fixture.book(rules)
        let events = (1...6).map { number in
            Fixture.changed(
                Fixture.task(fields: ["state": .int(Int64(number))]), from: Fixture.task(fields: ["state": 0]), id: "e\(number)")
        }
        let routing = book.route(events)
        let dead = routing.deliveries.filter { $0.death != nil }
        #expect(routing.deliveries.count == 12 && dead.count == 2)
        #expect(dead.first?.line.contains("(dead, budget: INC0010021 was written to 10 times by rules within 1h") == true)
        #expect(routing.events.map(\.type) == [.deliveryDead, .deliveryDead])
        #expect(routing.state.count == 10 && routing.state.allSatisfy { $0.expected == .absent })
        // An hour later there is room again, and the rows of these writes are deleted.
        var state: RuleState = [:]
        state.apply(routing.state)
        let later = book.route([events[5]], state: state, at: Fixture.start + .seconds(3600))
        #expect(later.events == [])
        state.apply(later.state)
        #expect(state.window(StateKey(rule: "", kind: .budget, key: "snow/a1")).keys.map(\.element).sorted() == ["11", "12"])
    }

    @Test func `a rule with a limit has its own budget`() throws {
        let book = try Fixture.book(
            "rule: a\non: task_created\nlimit: 1/m\ndo:\n  - comment: x\n---\nrule: b\non: task_created\ndo:\n  - comment: x")
        let routing = book.route([Self.number(1, id: "t"), Self.number(2, id: "t")])
        #expect(
            routing.deliveries.map { if case .dead = $0.initial { "\($0.id.rule) dead" } else { $0.id.rule } } == [
                "a", "b", "a dead", "b",
            ])
        #expect(routing.deliveries[2].death?.message.contains("was written to once by this rule within 1m;") == true)
        #expect(
            routing.state.map(\.key) == [
                StateKey(rule: "a", kind: .budget, key: "snow/t", element: "1"),
                StateKey(rule: "", kind: .budget, key: "snow/t", element: "1"),
                StateKey(rule: "", kind: .budget, key: "snow/t", element: "2"),
            ])
    }

    @Test func `rules that trigger each other stop after five writes`() throws {
        let book = try Fixture.book(
            "rule: w\non: task_created\ndo:\n  - comment: x\n---\nrule: l\non: task_created\ndo:\n  - log: x")
        #expect(book.route([Self.number(1, id: "a", hop: 4)]).deliveries.map(\.hop) == [4, 4])
        let stopped = book.route([Self.number(1, id: "a", hop: 5)])
        #expect(stopped.deliveries.map(\.id.rule) == ["l"])
        #expect(stopped.tallies.map(\.errors) == [1, 0])
        #expect(stopped.tallies[0].lastError?.hasPrefix("stopped: 5 writes or events of rules") == true)
    }

    @Test func `a rule in shadow mode makes shadow deliveries and has its own state`() throws {
        let book = try Fixture.book(
            "rule: s\nmode: shadow\non: task_created\nonce: task.id\ndo:\n  - comment: x\n  - log: \"${{ 1 / 0 }}\"")
        let routing = book.route([Self.number(1, id: "a")])
        #expect(routing.deliveries.map(\.initial) == [.shadow, .shadow])
        #expect(routing.state.map(\.key) == [StateKey(rule: "shadow/s", kind: .once, key: "a")])
        #expect(routing.events == [])
        #expect(book.rules[0].mode == .shadow)
    }

    @Test func `each event of a batch is read correctly, whatever the order of its members`() throws {
        let book = try Self.log(
            "when: task.priority == 1 && task.fields.state == 2", text: "${{ task.number }} ${{ task.priority }}")
        let events: [Event] = [
            Self.number(1, id: "a", fields: ["priority": 1, "state": 2]),
            Self.number(2, id: "b", fields: ["state": 2, "urgency": 7, "priority": 1]),
            Self.number(3, id: "c", fields: ["urgency": 1, "priority": 2, "state": 2]),
            Self.number(4, id: "d", fields: ["urgency": 1, "state": 2]), Self.number(5, id: "e"),
            Self.number(6, id: "f", fields: ["state": 3, "priority": 1]),
            Self.number(7, id: "g", fields: ["priority": 1, "state": 2]),
        ]
        #expect(texts(book.route(events)) == ["INC1 1", "INC2 1", "INC7 1"])
    }

    @Test func `a null makes a condition unknown, and any other error is counted and reported`() throws {
        let unknown = try Self.log("when: task.priority <= 2 || task.urgency + 1 > 2\nfrom: my-work")
        #expect(unknown.route([Self.number(1, id: "a")]).tallies == [])
        #expect(texts(unknown.route([Self.number(1, id: "a", fields: ["priority": 1])])) == ["INC1"])
        let failing = try Self.log("when: '[1, 2][task.priority] == 1'")
        let routing = failing.route([Self.number(1, id: "a", fields: ["priority": 9])])
        #expect(routing.deliveries == [])
        #expect(routing.tallies.map(\.errors) == [1])
        #expect(routing.tallies[0].lastError?.hasPrefix("`when` failed: ") == true)
    }

    @Test func `snapshots are loaded only for rules that use them`() throws {
        let book = try Fixture.book(
            """
            rule: a
            on: task_created
            from: my-work
            when: task.priority == 1 && size(tasks) > 1
            do: [{log: "${{ task.number }}"}]
            ---
            rule: b
            on: task_created
            from: incidents
            do: [{log: "${{ task.number }} of ${{ tasks.size() }}"}]
            """)
        func scopes(_ event: Event) -> [Scope.ID] {
            book.match([StoredEvent(sequence: 1, event: event)], since: [:]).needs.scopes.sorted { $0.text < $1.text }
        }
        #expect(scopes(Self.number(1, id: "a", fields: ["priority": 2])) == [])
        #expect(scopes(Self.number(1, id: "a", fields: ["priority": 1])) == [Fixture.scope])
        let two = [Fixture.scope: [Fixture.task("a"), Fixture.task("b")]]
        #expect(texts(book.route([Self.number(1, id: "a", fields: ["priority": 1])], tasks: two)) == ["INC1"])
        #expect(texts(book.route([Self.number(1, id: "a", fields: ["priority": 1])])) == [])
        let other = Fixture.event(.taskCreated, Fixture.task(number: "INC2"), source: "incidents")
        #expect(scopes(other) == [Fixture.incidentScope])
        #expect(texts(book.route([other], tasks: [Fixture.incidentScope: [Fixture.task()]])) == ["INC2 of 1"])
    }

    @Test func `a login event comes from its connection and has no task`() throws {
        let book = try Fixture.book(
            "rule: r\non: [login_event, task_created]\nfrom: [snow, my-work]\ndo:\n  - log: \"${{ event.type }} ${{ task.number }} ${{ user }}\""
        )
        let login = Fixture.event(.loginEvent, nil, source: "snow", data: ["connection": "snow", "user": "jane", "ok": false])
        #expect(texts(book.route([login])) == ["login_event  jane"])
        #expect(texts(book.route([Fixture.event()])) == ["task_created INC0010021 john.doe"])
        #expect(texts(book.route([Fixture.event(.loginEvent, nil, source: "other")])) == [])
    }

    @Test func `the index does not leave out a rule that would run`() throws {
        // Each condition in one rule that the index covers, and in one that it cannot cover.
        let conditions = [
            "task.priority == 1", "task.priority in [1, 2]", "task.priority == 1 || task.priority == 3",
            #"task.class == "incident""#,
            "task.priority != 2", "true", #"task.number == "INC1" && task.priority == 1"#, #"source == "my-work""#,
            "task.priority > 0",
        ]
        let indexed = conditions.enumerated().map { "rule: i\($0)\non: task_created\nwhen: '\($1)'\ndo: [{log: x}]" }
        let plain = conditions.enumerated().map { "rule: p\($0)\non: task_created\nwhen: '!!(\($1))'\ndo: [{log: x}]" }
        let book = try Fixture.book((indexed + plain).joined(separator: "\n---\n"))
        for priority in [JSON.int(1), 2, 3, .null] {
            for (number, name) in [(1, "incident"), (2, "problem")] {
                for source in ["my-work", "incidents"] {
                    let task = Fixture.task(number: "INC\(number)", class: name, fields: ["priority": priority])
                    let rules = book.route([Fixture.event(.taskCreated, task, source: source)]).deliveries.map(\.id.rule)
                    let both = [rules.filter { $0.hasPrefix("i") }, rules.filter { $0.hasPrefix("p") }].map {
                        $0.map { $0.dropFirst() }
                    }
                    #expect(both[0] == both[1])
                    #expect(rules.contains("i5"))
                }
            }
        }
    }

    @Test func `a revision changes only with the rule's own text`() throws {
        let one = "rule: a\non: task_created\ndo: [{log: x}]"
        let two = "rule: b\non: task_created\ndo: [{log: x}]"
        let book = try Fixture.book(one + "\n---\n" + two)
        let other = try Fixture.book(two + "\n---\n" + one.replacing("log: x", with: "log: y"))
        #expect(book.rules[1].revision == other.rules[0].revision)
        #expect(book.rules[0].revision != other.rules[1].revision)
        #expect(book.registrations(at: Fixture.start).map(\.revision) == book.rules.map(\.revision))
    }
}
