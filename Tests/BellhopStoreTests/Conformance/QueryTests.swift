import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Queries of the store` {
    @Test(arguments: Benches())
    func `events that cannot be read are skipped and counted`(_ bench: Bench) async throws {
        try await bench.store.append((1...5).map { Sample.event($0) })
        try await bench.tested.corruptEvents([2, 5])
        let page = try await bench.store.events(EventQuery())
        #expect(page.map(\.sequence) == [1, 3, 4])
        #expect(page.unreadable == 2)
        #expect(page.end == 5)
        let rest = try await bench.store.events(EventQuery(after: 4))
        #expect(rest.isEmpty && rest.unreadable == 1 && rest.end == 5)
    }

    @Test(arguments: Benches())
    func `the newest rows of a query are read in pages, oldest first`(_ bench: Bench) async throws {
        try await bench.store.append((1...9).map { Sample.event($0, source: $0.isMultiple(of: 2) ? "even" : "odd") })
        #expect(try await bench.store.span(of: EventQuery(sources: ["none"])) == nil)
        #expect(try await bench.store.span(of: EventQuery(limit: 3)) == RowSpan(after: 6, through: 9))
        let span = try #require(try await bench.store.span(of: EventQuery(sources: ["odd"], limit: 3)))
        #expect(span == RowSpan(after: 4, through: 9))
        try await bench.store.append([Sample.event(11, source: "odd")])
        let query = EventQuery(after: span.after, through: span.through, sources: ["odd"], limit: 2)
        #expect(try await bench.store.events(query).map(\.sequence) == [5, 7])

        try await bench.enqueue((1...5).map { Sample.delivery($0) })
        let all = try await bench.store.deliveries(DeliveryQuery())
        let deliveries = try #require(try await bench.store.span(of: DeliveryQuery(states: [.available], limit: 3)))
        let page = try await bench.store.deliveries(
            DeliveryQuery(after: deliveries.after, through: deliveries.through, states: [.available], limit: 2))
        #expect(page == Array(all[2..<4]))
        #expect(all.map(\.place) == all.map(\.place).sorted() && deliveries.through == all.last?.place)
    }

    @Test(arguments: Benches())
    func `the activity counts events and deliveries of each hour, and deliveries by their present state`(
        _ bench: Bench
    ) async throws {
        let hour = Sample.now.microseconds / 3_600_000_000
        try await bench.store.append((1...3).map { Sample.event($0) })
        let later = Sample.now + .seconds(3600)
        let deliveries = [Sample.delivery(1), Sample.delivery(2, initial: .shadow), Sample.delivery(3, at: later)]
        try await bench.enqueue(deliveries)
        let activity = try await bench.store.activity(since: Sample.now)
        #expect(activity.events == [.init(hour: hour, count: 3)])
        #expect(activity.deliveries[.available] == [.init(hour: hour, count: 1), .init(hour: hour + 1, count: 1)])
        #expect(activity.deliveries[.shadow] == [.init(hour: hour, count: 1)] && activity.deliveries.count == 2)
        #expect(try await bench.store.activity(since: later + .seconds(1)) == Activity(events: [], deliveries: [:]))
    }

    @Test(arguments: Benches())
    func `the status does not count expired events that are not pruned yet`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "r", revision: "1", waits: "w", maxKeys: 9)], at: bench.now)
        let writes = [StateKey.Kind.count, .match].flatMap { kind in
            [60, 120].map {
                StateWrite(StateKey(rule: "r", kind: kind, key: "k", element: "\($0)"), .set(1, expires: bench.after($0)))
            }
        }
        try await bench.store.route(Routing(state: writes, at: bench.now))
        for (seconds, count) in [(59, 2), (60, 1), (120, 0)] {
            let status = try await bench.store.status(at: bench.after(seconds))
            #expect(status.waits.map(\.count) == (count == 0 ? [] : [count, count]))
            #expect(status.counts.map(\.count) == (count == 0 ? [] : [count]))
        }
    }

    @Test(arguments: Benches())
    func `the status counts events, deliveries and tasks`(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([1, 2, 3], at: bench.after(1)))
        try await bench.store.route(
            Routing(
                routed: [1],
                deliveries: [Sample.delivery(1), Sample.delivery(2), Sample.delivery(3), Sample.delivery(4, initial: .shadow)]))
        let claims = try await bench.claim(2)
        try await bench.finish(claims[0], .done(Sample.receipt))
        let status = try await bench.store.status()
        #expect(status.events == 3)
        #expect(status.unrouted == 2)
        #expect(status.deliveries == [.available: 1, .running: 1, .done: 1, .shadow: 1])
        #expect(
            status.sources == [
                .init(
                    source: "tasks", scope: Sample.scope, hasBaseline: true, tasks: 3, lastCommit: bench.after(1),
                    health: SourceHealth())
            ])
    }

    @Test(arguments: Benches())
    func `the status says what each receiver has yet to receive, since when, and when and why the oldest was not received`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([
            Sample.delivery(1, lane: "one"), Sample.delivery(2, receiver: "mail"), Sample.delivery(3, receiver: "page"),
        ])
        await bench.clock.pass(5)
        try await bench.enqueue([Sample.delivery(4, lane: "one", at: bench.now)])
        func backlog(
            _ receiver: String, waiting: Int, isTried: Bool = false, _ failure: Failure? = nil, next: Timestamp? = nil
        ) -> StoreStatus.BacklogStatus {
            .init(
                receiver: receiver, waiting: waiting, since: Sample.now, firstAttempt: isTried ? bench.now : nil,
                failure: failure, next: next)
        }
        #expect(
            try await bench.store.status().backlog == [
                backlog("chat", waiting: 2), backlog("mail", waiting: 1), backlog("page", waiting: 1),
            ])
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery.id.receiver) == ["chat", "mail", "page"])
        #expect(
            try await bench.store.status().backlog == [
                backlog("chat", waiting: 1, isTried: true), backlog("mail", waiting: 0, isTried: true),
                backlog("page", waiting: 0, isTried: true),
            ])
        let refusal = Failure(.unauthenticated, .pauseConnection, "The password was refused.")
        try await bench.finish(claims[0], .paused(refusal, until: bench.after(300)))
        try await bench.finish(claims[1], .retry(at: bench.after(60), Sample.failure))
        try await bench.finish(claims[2], .done(Sample.receipt))
        let left = try await bench.store.status().backlog
        // An attempt at a connection that cannot be used does not count.
        #expect(
            left == [
                backlog("chat", waiting: 2, refusal, next: bench.after(300)),
                backlog("mail", waiting: 1, isTried: true, Sample.failure, next: bench.after(60)),
            ])
        #expect(left.map(\.isUnusable) == [true, false])
    }

    @Test(arguments: Benches())
    func `events are found by type, source, task, id and time, oldest first`(_ bench: Bench) async throws {
        let events = [
            Sample.event(1), Sample.event(2), Sample.event(1, type: .taskChanged, source: "mine", at: bench.after(60)),
            Event(id: Event.ID("odd_1%"), type: .loginEvent, source: "snow", subject: "snow", time: bench.now, data: [:]),
        ]
        try await bench.store.append(events)
        func found(_ query: EventQuery) async throws -> [Event] { try await bench.store.events(query).map(\.event) }
        #expect(try await found(EventQuery()) == events)
        #expect(try await found(EventQuery(limit: 2)) == Array(events[2...]))
        #expect(try await found(EventQuery(after: 1, limit: 2)) == Array(events[1...2]))
        #expect(try await found(EventQuery(types: [.loginEvent, .taskChanged])) == Array(events[2...]))
        #expect(try await found(EventQuery(sources: ["mine"])) == [events[2]])
        #expect(try await found(EventQuery(since: bench.after(1))) == [events[2]])
        #expect(try await found(EventQuery(task: "INC1001")) == [events[0], events[2]])
        #expect(try await found(EventQuery(task: Sample.key(2).text)) == [events[1]])
        #expect(try await found(EventQuery(task: Sample.subject(2))) == [events[1]])
        #expect(try await found(EventQuery(id: String(events[1].id.text.prefix(6)))) == [events[1]])
        let whole = events[1].id.text
        #expect(try await found(EventQuery(id: whole)) == [events[1]])
        #expect(try await found(EventQuery(id: String(repeating: "a", count: 60_000))) == [])
        #expect(try await found(EventQuery(after: 1, id: whole)) == [events[1]])
        #expect(try await found(EventQuery(after: 2, id: whole)).isEmpty)
        #expect(try await found(EventQuery(through: 1, id: whole)).isEmpty)
        #expect(try await found(EventQuery(types: [.loginEvent], id: whole)).isEmpty)
        #expect(try await found(EventQuery(id: String(whole.reversed()))).isEmpty)
        #expect(try await bench.store.span(of: EventQuery(id: whole)) == RowSpan(after: 1, through: 2))
        #expect(try await bench.store.span(of: EventQuery(through: 1, id: whole)) == nil)
        #expect(try await found(EventQuery(id: "odd_1%")) == [events[3]])
        #expect(try await found(EventQuery(id: "odd%")).isEmpty)
    }

    @Test(arguments: Benches())
    func `deliveries are found by state, rule, id and event, oldest first`(_ bench: Bench) async throws {
        var other = Sample.delivery(3)
        other.id.rule = "another"
        let deliveries = [Sample.delivery(1), Sample.delivery(2, initial: .shadow), other]
        try await bench.enqueue(deliveries)
        func found(_ query: DeliveryQuery) async throws -> [Delivery] {
            try await bench.store.deliveries(query).map(\.delivery)
        }
        #expect(try await found(DeliveryQuery()) == deliveries)
        #expect(try await found(DeliveryQuery(limit: 1)) == [other])
        #expect(try await found(DeliveryQuery(states: [.shadow, .dead])) == [deliveries[1]])
        #expect(try await found(DeliveryQuery(rule: "another")) == [other])
        #expect(try await found(DeliveryQuery(id: String(other.id.text.prefix(8)))) == [other])
        #expect(try await found(DeliveryQuery(event: Sample.event(1).id)) == [deliveries[0]])
    }

    @Test(arguments: Benches())
    func `notes can be stored, read and deleted`(_ bench: Bench) async throws {
        #expect(try await bench.store.note("a") == nil)
        try await bench.store.setNote("a", to: ["refused": true])
        try await bench.store.setNote("a", to: ["refused": false])
        #expect(try await bench.store.note("a") == ["refused": false])
        try await bench.store.setNote("a", to: nil)
        #expect(try await bench.store.note("a") == nil)
    }

    @Test(arguments: Benches())
    func `a digest has the newest selected events between two places, and the number of the others`(_ bench: Bench) async throws {
        try await bench.store.append(
            (1...1005).map { Sample.event($0, source: $0 == 1004 ? "other" : "tasks") }
                + [Sample.event(1006, type: .scheduleDue), Sample.event(1007)])
        let query = DigestQuery(after: 2, before: 1006, types: [.taskCreated], sources: ["tasks"])
        let digest = try await bench.store.digest(query)
        #expect(digest.events.map(\.sequence) == Array(5...1003) + [1005])
        #expect(digest.more == 2)
        let all = try await bench.store.digest(DigestQuery(after: 1003, before: 2000, types: [.taskCreated], sources: []))
        #expect(all == Digest(events: try await bench.store.events(at: [1004, 1005, 1007]), more: 0))
        #expect(try await bench.store.digest(DigestQuery(after: 0, before: 9, types: [], sources: [])) == Digest(events: []))
        try await bench.tested.corruptEvents([1005])
        #expect(try await bench.store.digest(query).events.last?.sequence == 1003)
    }
}
