import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct BackTestTests {
    private static let rules = """
        rule: tell
        on: task_created
        do: [{log: x}]
        ---
        rule: held
        on: task_created
        when: task.priority == 1
        for: 10m
        do: [{log: held}]
        ---
        rule: once
        on: task_created
        once: task.id
        do: [{log: once}]
        """

    /// Each event creates a task; there are ten events a minute.
    private func event(_ number: Int) -> StoredEvent {
        var event = Fixture.event(
            .taskCreated, Fixture.task("t\(number)", fields: ["priority": 1, "assignment_group": .string("g\(number % 3)")]),
            id: "e\(number)")
        event.time = Fixture.start + .seconds(6 * number)
        return StoredEvent(sequence: Int64(number + 1), event: event)
    }

    @Test func `a message without lines counts as empty, and not for its day, its receiver or its task`() throws {
        let rules = """
            rule: digest
            on: task_created
            from: my-work
            do:
              - notify:
                  to: ops
                  title: T
                  list: {of: "tasks.filter(t, t.number == 'x')", as: t, item: "${{ t.number }}"}
                  skip_empty: true
              - log: x
            """
        var test = BackTest(try Fixture.book(rules), from: Fixture.start)
        _ = test.feed([event(1)])
        let made = test.finish(at: Fixture.start + .seconds(60)).deliveries
        #expect(made.map { DeliveryOutline($0).outcome } == [.empty, .sent])
        #expect(test.tally.rules["digest"]?.deliveries == [.empty: 1, .sent: 1])
        #expect(test.tally.receivers == ["log": 1] && Array(test.tally.days.values) == [1])
        #expect(Array(test.tally.tasks.values) == [1] && test.tally.rules["digest"]?.latest?.action == "log")
        // A live run would not send it, so a run in shadow mode does not say that it would.
        var shadow = BackTest(try Fixture.book(rules + "\nmode: shadow"), from: Fixture.start)
        let recorded = shadow.feed([event(1)]).deliveries + shadow.finish(at: Fixture.start + .seconds(60)).deliveries
        #expect(recorded.map { DeliveryOutline($0).outcome } == [.empty, .shadow])
    }

    @Test func `a silence that a person ended before it began does not begin in a back-test`() throws {
        let book = try Fixture.book("rule: r\non: [silence_started, silence_ended]\ndo: [{log: x}]")
        let silence = Silence(starts: Fixture.start + .seconds(60), ends: Fixture.start + .seconds(120))
        func runs(ended second: Int) -> Int {
            let record = SilenceRecord(silence, ended: Fixture.start + .seconds(second))
            var test = BackTest(book, from: Fixture.start, silences: [record])
            return test.finish(at: Fixture.start + .seconds(600)).deliveries.count
        }
        #expect(runs(ended: 90) == 2)
        #expect(runs(ended: 30) == 0)
    }

    @Test func `of many silences of a back-test only those in force are looked at, and each begins and ends once`() throws {
        let silences = (0..<100).map { number in
            let start = Fixture.start + .seconds(60 * number)
            return Silence(starts: start, ends: start + .seconds(90), reason: "\(number)")
        }
        var trial = TrialSilences(silences, of: try Fixture.book(Self.rules))
        var (events, most) = (0, 0)
        while let edge = trial.nextEdge {
            events += trial.beginAndEnd(at: edge).count
            most = max(most, trial.book.entries.count)
        }
        #expect(events == 200)
        #expect(most == 2 && trial.book.entries.isEmpty)
    }

    @Test func `a back-test's memory does not grow with the number of events, and no run is lost`() throws {
        var test = BackTest(try Fixture.book(Self.rules), from: Fixture.start)
        var most: (events: Int, tasks: Int) = (0, 0)
        var deliveries = 0
        for page in 0..<30 {
            deliveries += test.feed((page * 200..<page * 200 + 200).map(event)).deliveries.count
            most = (max(most.events, test.remembered.events), max(most.tasks, test.remembered.tasks))
        }
        deliveries += test.finish(at: Fixture.start + .seconds(6 * 6000 + 600)).deliveries.count
        #expect(deliveries == 18_000)
        #expect(test.tally.groups.values.reduce(0, +) == 18_000)
        // A hundred tasks wait at a time; old events are forgotten once there are some thousand.
        #expect(most.events < 5000 && most.tasks < 5000, "\(most)")
        #expect(test.remembered.events < 4000 && test.remembered.tasks < 4000, "\(test.remembered)")
    }

    @Test func `a back-test keeps as few keys of a rule as the store, and pauses a rule with too many keys of once`() throws {
        var context = Fixture.context()
        context.maxKeys = 50
        let rules = Self.rules + "\n---\nrule: often\non: task_created\nthrottle: {every: 1d, by: task.id}\ndo: [{log: often}]"
        let book = try Fixture.book(rules, in: context)
        var test = BackTest(book, from: Fixture.start)
        var (state, timers) = (0, 0)
        for page in 0..<20 {
            _ = test.feed((page * 200..<page * 200 + 200).map(event))
            (state, timers) = (max(state, test.remembered.state), max(timers, test.remembered.timers))
        }
        _ = test.finish(at: Fixture.start + .seconds(6 * 3999))
        // At most 50 waits, each with its begin, and 50 throttles, beside the keys of `once`.
        #expect(state <= 51 + 50 + 2 * 50 && timers <= 50, "\(state) \(timers)")
        #expect(test.tally.rules["once"]?.runs == 51)
        #expect(test.tally.rules["once"]?.paused == Fixture.start + .seconds(6 * 50))
        #expect(test.tally.rules["often"]?.droppedKeys == 3950)
        #expect(test.tally.rules["often"]?.runs == 4000)
        // A hundred would wait at a time: each is dropped before its time is over.
        #expect(test.tally.rules["held"]?.runs == 0)
    }

    @Test func `a stored event that a rule emitted comes from the trial, and not at all if the rule is gone`() throws {
        let reader = "rule: r\non: ping\ndo: [{log: r}]"
        func emitter(_ name: String) -> String { "rule: \(name)\non: task_created\nfrom: my-work\ndo: [{emit: ping}]\n---\n" }
        func runs(_ rules: String, by source: String, hop: Int = 1, isWhole: Bool = true) throws -> Int? {
            var ping = Fixture.event(EventType("ping"), nil, source: source, id: "ping", hop: hop)
            ping.time = Fixture.start + .seconds(6)
            let book = try Fixture.book(rules, in: EmitTests.context)
            var test = BackTest(book, from: Fixture.start, isWhole: isWhole)
            _ = test.feed([event(0), StoredEvent(sequence: 2, event: ping)])
            _ = test.finish(at: Fixture.start + .seconds(60))
            return test.tally.rules["r"]?.runs
        }
        #expect(try runs(emitter("w") + reader, by: "w") == 1)
        // The rule may have the name of a source.
        #expect(try runs(emitter("my-work") + reader, by: "my-work") == 1)
        // The rule was renamed or removed since.
        #expect(try runs(emitter("w") + reader, by: "v") == 1)
        #expect(try runs(reader, by: "v") == nil)
        // It runs beside these rules.
        #expect(try runs(reader, by: "v", isWhole: false) == 1)
        // Another system sent the event.
        #expect(try runs(reader, by: "v", hop: 0) == 1)
    }

    @Test func `an event is of a missing source only if a source has seen it that bellhop.yaml does not have`() throws {
        let book = try Fixture.book(Self.rules, in: EmitTests.context)
        func isMissing(_ type: EventType, _ source: String = "old", hop: Int = 0) -> Bool {
            book.isOfMissingSource(Fixture.event(type, source: source, hop: hop))
        }
        #expect(isMissing(.taskCreated) && isMissing(.sourceFailing) && isMissing(EventType("ping")))
        #expect(!isMissing(.taskCreated, "my-work") && !isMissing(.scheduleDue) && !isMissing(.deliveryDead))
        #expect(!isMissing(.loginEvent))
        // A rule emitted it.
        #expect(!isMissing(EventType("ping"), hop: 1))
    }

    @Test func `a stored notice of a delivery that was dead when it was made counts only if the trial makes it dead, too`() throws
    {
        func book(_ limit: Int) throws -> RuleBook {
            let writer = "rule: often\non: task_created\nlimit: \(limit)/h\ndo: [{comment: x}, {comment: y}]"
            return try Fixture.book(writer + "\n---\nrule: told\non: delivery_dead\ndo: [{log: dead}]")
        }
        var first = BackTest(try book(1), from: Fixture.start)
        let made = first.feed([event(0)]).deliveries + first.finish(at: Fixture.start).deliveries
        let dead = try #require(made.first { $0.death != nil })
        func runs(limit: Int, _ reason: Failure.Reason) throws -> Int? {
            let notice = try #require(
                dead.deathNotice(Failure(reason, .giveUp, "It failed."), at: Fixture.start + .seconds(1)))
            var test = BackTest(try book(limit), from: Fixture.start)
            _ = test.feed([event(0), StoredEvent(sequence: 2, event: notice)])
            _ = test.finish(at: Fixture.start + .seconds(60))
            return test.tally.rules["told"]?.runs
        }
        #expect(try runs(limit: 1, .budget) == 1)
        #expect(try runs(limit: 2, .budget) == nil)
        // It failed when it was tried.
        #expect(try runs(limit: 2, .refused) == 1)
    }

    @Test func `a back-test forgets the names of old deliveries, conversations, receivers and groups`() throws {
        let rules = """
            rule: dead
            on: task_created
            do: [{comment: "${{ 1 / int('0') }}"}]
            ---
            rule: thread
            on: task_created
            do: [{notify: {to: ops, title: x, thread: "${{ task.id }}"}}]
            """
        var test = BackTest(try Fixture.book(rules), from: Fixture.start)
        var most = 0
        for page in 0..<25 {
            let events = (page * 1000..<page * 1000 + 1000).map { number in
                var event = event(number)
                event.event = Fixture.event(
                    .taskCreated, Fixture.task("t\(number)", fields: ["assignment_group": .string("g\(number)")]),
                    id: "e\(number)")
                event.event.time = Fixture.start + .seconds(number)
                return event
            }
            _ = test.feed(events)
            most = max(most, test.names)
        }
        #expect(test.tally.rules["dead"]?.deliveries == [.dead: 24_999])
        #expect(most <= 2 * TrialHolding.maxConversations && most > TrialHolding.maxConversations / 2, "\(most)")
        #expect(test.tally.groups.count <= BackTestTally.maxCounted && test.tally.tasks.count <= BackTestTally.maxCounted)
    }
}
