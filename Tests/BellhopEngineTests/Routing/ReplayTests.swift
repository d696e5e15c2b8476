import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Events that people have routed again.
@Suite(.timeLimit(.minutes(5))) struct `Replays` {
    private static let rules = """
        rules:
          - {rule: all, on: task_created, do: [{comment: thanks}]}
          - {rule: once, on: task_created, once: task.id, do: [{comment: once}]}
          - {rule: throttled, on: task_created, throttle: {every: 1h}, do: [{comment: throttled}]}
          - {rule: shadow, on: task_created, mode: shadow, do: [{comment: shadow}]}
          - {rule: false, on: task_created, when: "task.number == 'none'", do: [{comment: never}]}
        """

    /// A bench with an event that was routed, by default an hour ago, and its router.
    private static func routed(
        _ rules: String = rules, waiting: Duration = .seconds(60)
    ) async throws -> (bench: Bench, shelf: RuleShelf, router: Router, event: StoredEvent) {
        let bench = try Bench()
        let shelf = try await bench.shelf(rules, sources: [bench.source()])
        let router = Router(bench.context, shelf: shelf, timers: TimerLoop(bench.context, shelf: shelf))
        try await bench.store.append([.created(1, at: bench.now)])
        try await router.routePending()
        await bench.clock.advance(by: waiting)
        return (bench, shelf, router, try await bench.store.events(EventQuery()).events[0])
    }

    /// The rules of the deliveries that were made for replays, with their state if it is another than available.
    private static func replayed(_ bench: Bench) async throws -> [String] {
        try await bench.deliveries().filter { $0.delivery.id.occasion.isReplay }
            .map { $0.delivery.id.rule + ($0.state == .available ? "" : " \($0.state.rawValue)") }
    }

    @Test func `a replay is one new occasion, to which the present once and throttle apply`() async throws {
        let (bench, _, router, event) = try await Self.routed()
        #expect(try await bench.deliveries().count == 4)
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        #expect(try await router.routePending() == 1)
        #expect(try await router.routePending() == 0)
        #expect(try await Self.replayed(bench) == ["all", "shadow shadow"])
        let stops = try await bench.store.decisions(
            DecisionQuery(occasion: Occasion.replay(of: event.event.id, at: bench.now).id))
        #expect(Set(stops.map(\.rule)) == ["once", "throttled"])
        // Another replay is another occasion.
        await bench.clock.advance(by: .seconds(3600))
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        #expect(try await Self.replayed(bench) == ["all", "shadow shadow", "all", "throttled", "shadow shadow"])
    }

    @Test func `the deliveries of events, timers and replays are reported as made`() async throws {
        let (bench, shelf, router, event) = try await Self.routed(
            """
            rules:
              - {rule: all, on: task_created, do: [{log: thanks}]}
              - {rule: grouped, on: task_created, group: {by: source, wait: 30s}, do: [{log: grouped}]}
            """)
        try await TimerLoop(bench.context, shelf: shelf).fireDue()
        try await bench.store.replay([event], rule: "all", isForced: false, at: bench.now)
        try await router.routePending()
        let made = bench.recorder.all.compactMap { signal in
            if case .routed(_, let deliveries, _) = signal { deliveries } else { nil }
        }
        #expect(made == [1, 1, 1])
        #expect(try await bench.deliveries().count == 3)
    }

    @Test func `a replay of an event begins a group or a count of its own`() async throws {
        let (bench, shelf, router, event) = try await Self.routed(
            """
            rules:
              - {rule: grouped, on: task_created, group: {by: source, wait: 1m}, do: [{log: grouped}]}
              - {rule: counted, on: task_created, count: {at_least: 2, within: 5m}, do: [{log: counted}]}
            """, waiting: .seconds(3600))
        let timers = TimerLoop(bench.context, shelf: shelf)
        try await timers.fireDue()
        #expect(try await bench.deliveries().count == 1)
        for count in 2...3 {
            try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
            try await router.routePending()
            let due = try #require(try await bench.store.nextTimer())
            #expect(due == bench.now + .seconds(60))
            await bench.clock.advance(by: .seconds(60))
            try await timers.fireDue()
            #expect(try await bench.deliveries().count { $0.delivery.id.rule == "grouped" } == count)
            // A second replay within five minutes is the second of two that are counted.
            #expect(try await bench.deliveries().count { $0.delivery.id.rule == "counted" } == count - 2)
        }
    }

    @Test func `a forced replay ignores once and throttle, but not shadow mode`() async throws {
        let (bench, _, router, event) = try await Self.routed()
        try await bench.store.replay([event], rule: nil, isForced: true, at: bench.now)
        try await router.routePending()
        #expect(try await Self.replayed(bench) == ["all", "once", "throttled", "shadow shadow"])
    }

    @Test func `a replay for one rule reaches no other rule, and no paused rule`() async throws {
        let (bench, shelf, router, event) = try await Self.routed()
        try await bench.store.replay([event], rule: "throttled", isForced: true, at: bench.now)
        try await router.routePending()
        #expect(try await Self.replayed(bench) == ["throttled"])
        try await bench.store.pause(Pause(.rule("all"), since: bench.now, reason: "x"))
        try await shelf.installAgain(in: bench.context)
        await bench.clock.advance(by: .seconds(1))
        try await bench.store.replay([event], rule: "all", isForced: true, at: bench.now)
        try await router.routePending()
        #expect(try await Self.replayed(bench) == ["throttled"])
        #expect(try await bench.store.replays(limit: 9).isEmpty)
    }

    @Test func `a rule that was loaded after the event gets its replay`() async throws {
        let (bench, shelf, router, event) = try await Self.routed()
        let later = "rule: later\non: task_created\ndo: [{comment: later}]"
        let book = try await bench.shelf(later, sources: [bench.source()]).book
        try await shelf.install(try #require(book), in: bench.context)
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        #expect(try await Self.replayed(bench) == ["later"])
    }

    @Test func `a replay ends no wait`() async throws {
        let waiting = "rule: r\non: task_created\nwhen: task.title == 'hot'\nfor: 10m\ndo: [{comment: waited}]"
        let (bench, _, router, calm) = try await Self.routed(waiting)
        var (hot, snapshot) = (Event.created(2, at: bench.now), task("t1"))
        snapshot.title = "hot"
        hot.subject = calm.event.subject
        hot.data = ["task": snapshot.json(source: "my-work")]
        try await bench.store.append([hot])
        try await router.routePending()
        let due = try #require(try await bench.store.nextTimer())
        try await bench.store.replay([calm], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        #expect(try await bench.store.nextTimer() == due)
        #expect(try await bench.store.replays(limit: 9).isEmpty)
    }

    @Test func `a preview shows the deliveries of a replay and stores nothing`() async throws {
        let (bench, shelf, router, event) = try await Self.routed()
        let before = try await bench.deliveries().count
        let replay = Replay(id: 0, event: event, at: bench.now)
        let book = try #require(shelf.book)
        let preview = try await bench.context.preview([replay], by: book)[0][0]
        #expect(try await bench.deliveries().count == before)
        #expect(try await bench.store.replays(limit: 9).isEmpty)
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        let made = try await bench.deliveries().filter { $0.delivery.id.occasion.isReplay }.map(\.delivery)
        #expect(preview.deliveries.map(\.id) == made.map(\.id))
        #expect(preview.deliveries.map(\.arguments) == made.map(\.arguments))
    }

    @Test(arguments: ["when: task.title != ''\nfor: 10m", "none"])
    func `a replay during a wait, and its preview, name the event that began the wait and its end`(_ part: String) async throws {
        let none = "on: {none: task_commented, after: task_created, within: 10m, by: task.id}"
        let rule = part == "none" ? none : "on: task_created\n\(part)"
        let (bench, shelf, router, event) = try await Self.routed("rule: r\n\(rule)\ndo: [{comment: waited}]")
        let book = try #require(shelf.book)
        let due = try #require(try await bench.store.nextTimer())
        let preview = try await bench.context.preview([Replay(id: 0, event: event, at: bench.now)], by: book)[0][0]
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        let made = try await bench.store.decisions(DecisionQuery(rule: "r")).filter { $0.occasion.isReplay }
        #expect(preview.decisions.map(\.detail) == made.map(\.detail) && made.count == 1)
        let words = "had begun before, with event \(event.event.id.text.prefix(12)), and waits until \(due.formatted(in: .utc))"
        #expect(book.clause(made[0]).hasSuffix(words))
        #expect(try await bench.store.nextTimer() == due)
    }

    @Test func `a preview shows what the events that a replay emits cause, except for paused rules`() async throws {
        let rules = """
            rules:
              - {rule: first, on: task_created, do: [{emit: ping}]}
              - {rule: second, on: ping, throttle: {every: 1h}, do: [{log: heard}, {emit: ping}]}
              - {rule: paused, on: ping, do: [{log: never}]}
            """
        let (bench, shelf, router, event) = try await Self.routed(rules, waiting: .seconds(7200))
        _ = try await bench.store.pause(Pause(.rule("paused"), since: bench.now, reason: ""))
        try await shelf.installAgain(in: bench.context)
        let known = Set(try await bench.deliveries().map(\.delivery.id))
        let book = try #require(shelf.book)
        let preview = try await bench.context.preview([Replay(id: 0, event: event, at: bench.now)], by: book)[0]
        #expect(preview.flatMap(\.deliveries).map(\.id.rule) == ["first", "second", "second"])
        #expect(try await bench.deliveries().count == known.count)
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        try await router.routePending()
        let made = try await bench.deliveries().map(\.delivery.id).filter { !known.contains($0) }
        #expect(Set(made) == Set(preview.flatMap(\.deliveries).map(\.id)) && made.count == 3)
    }

    @Test func `in a preview, a run for several events has also those that the replay emits`() async throws {
        let rules = """
            rules:
              - {rule: first, on: task_created, do: [{emit: ping}, {emit: ping}]}
              - {rule: second, on: ping, count: {at_least: 2, within: 1h}, do: [{log: "${{ size(events) }} heard"}]}
            """
        let (bench, shelf, router, event) = try await Self.routed(rules, waiting: .seconds(7200))
        let known = Set(try await bench.deliveries().map(\.delivery.id))
        let book = try #require(shelf.book)
        let preview = try await bench.context.preview([Replay(id: 0, event: event, at: bench.now)], by: book)[0]
        #expect(preview.flatMap(\.deliveries).filter { $0.id.rule == "second" }.map(\.text) == ["2 heard"])
        try await bench.store.replay([event], rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        try await router.routePending()
        let made = try await bench.deliveries().map(\.delivery).filter { !known.contains($0.id) }
        #expect(made.filter { $0.id.rule == "second" }.map(\.text) == ["2 heard"])
    }

    @Test func `in a preview of several replays, one stops another as the replays do`() async throws {
        let rules = "rule: r\non: task_created\nonce: task.title\ndo: [{comment: seen}]"
        let (bench, shelf, router, _) = try await Self.routed("rule: other\non: task_removed\ndo: [{comment: x}]")
        try await bench.store.append((2...3).map { .created($0, at: bench.now) })
        try await router.routePending()
        let events = Array(try await bench.store.events(EventQuery(limit: 9))).filter { $0.event.type == .taskCreated }
        let book = try #require(try await bench.shelf(rules, sources: [bench.source()]).book)
        try await shelf.install(book, in: bench.context)
        let replays = events.map { Replay(id: 0, event: $0, at: bench.now) }
        let previews = try await bench.context.preview(replays, by: book)
        #expect(previews.map { $0.flatMap(\.deliveries).count } == [1] + Array(repeating: 0, count: events.count - 1))
        try await bench.store.replay(events, rule: nil, isForced: false, at: bench.now)
        try await router.routePending()
        #expect(try await bench.deliveries().filter { $0.delivery.id.occasion.isReplay }.count == 1)
    }
}
