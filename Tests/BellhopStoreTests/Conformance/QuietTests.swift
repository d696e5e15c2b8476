import BellhopCore
import BellhopTesting
import Testing

/// Messages that quiet times hold, in the store.
@Suite struct `Held messages` {
    private static let end = Sample.now + .seconds(3600)

    static func message(
        _ number: Int, thread: String? = nil, lane: String? = nil, after: [Int] = [], until end: Timestamp = end
    ) -> Delivery {
        var delivery = Sample.delivery(
            number, lane: lane, action: "notify", after: after,
            initial: .quiet(Delivery.KeptBack(task: Sample.snapshot(number), event: 7)))
        delivery.arguments = .message(Message(title: [.value("Task \(number)")], thread: thread))
        delivery.runAt = end
        delivery.expires = end + .days(1)
        return delivery
    }

    private static func closing(
        _ number: Int, after: [Int] = [], initial: Delivery.InitialState = .available, until end: Timestamp? = nil
    ) -> Delivery {
        var delivery = Sample.delivery(number, lane: "a", action: "notify", after: after, initial: initial)
        delivery.arguments = .message(Message(title: [], thread: "INC1", resolve: true))
        delivery.settles = true
        delivery.runAt = end ?? delivery.runAt
        return delivery
    }

    private func state(_ bench: Bench, _ number: Int) async throws -> DeliveryState? {
        try await bench.store.deliveries(DeliveryQuery(id: Sample.delivery(number).id.text)).first?.state
    }

    @Test(arguments: Benches())
    func `a held message is not due before its end, and blocks no other of its lane`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1, lane: "a"), Self.message(2), Sample.delivery(3, lane: "a")])
        #expect(try await bench.store.nextRelease() == Self.end)
        #expect(try await bench.states() == [.quiet, .quiet, .available])
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(3).id])
        await bench.clock.pass(3599)
        #expect(try await bench.store.released(at: bench.now).isEmpty)
        #expect(try await bench.claim().isEmpty)
        await bench.clock.pass(1)
        let held = try await bench.store.released(at: bench.now)
        #expect(held.map(\.delivery.id) == [Self.message(1).id, Self.message(2).id])
        #expect(held.first?.delivery.initial == Self.message(1).initial)
        // Nothing sends it but a release.
        #expect(try await bench.claim().isEmpty)
        let status = try await bench.store.status()
        #expect(status.quiet == [.init(receiver: "chat", until: Self.end, count: 2)])
        #expect(status.undecided.isEmpty)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `what closes or acknowledges a conversation drops the messages that are still kept back in it, and no later ones`(
        _ kind: StoreUnderTest
    ) async throws {
        var acknowledgement = Self.closing(5)
        acknowledgement.arguments = .values(["thread": " INC1"])
        for settling in [Self.closing(5), acknowledgement] {
            let bench = Bench(kind)
            var waiting = Self.message(2, thread: "INC1", lane: "a", after: [1])
            (waiting.initial, waiting.runAt) = (.available, bench.now)
            try await bench.enqueue([
                Sample.delivery(1), waiting, Self.message(3, thread: "INC1", lane: "a"),
                Self.message(4, thread: "INC2", lane: "a"), settling, Self.message(6, thread: "INC1", lane: "a"),
            ])
            #expect(try await bench.states() == [.available, .dropped, .dropped, .quiet, .available, .quiet])
            #expect(try await bench.store.deliveries(DeliveryQuery(states: [.dropped])).allSatisfy { $0.failure == .settled })
            try await bench.enqueue([settling])
            for claim in try await bench.claim() { try await bench.finish(claim, .done(Sample.receipt)) }
            #expect(try await bench.states() == [.done, .dropped, .dropped, .quiet, .done, .quiet])
        }
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a message that waits for an earlier step drops held ones once that is done, even if it is held itself`(
        _ kind: StoreUnderTest
    ) async throws {
        for isHeld in [false, true] {
            for isFine in [true, false] {
                let bench = Bench(kind)
                let closing =
                    isHeld
                    ? Self.closing(3, after: [1], initial: .quiet(Delivery.KeptBack()), until: Self.end)
                    : Self.closing(3, after: [1])
                let own: DeliveryState = isHeld ? .quiet : .waiting
                try await bench.enqueue([Sample.delivery(1), Self.message(2, thread: "INC1", lane: "a"), closing])
                try await bench.enqueue([Self.message(4, thread: "INC1", lane: "a")])
                #expect(try await bench.states() == [.available, .quiet, own, .quiet])
                let claim = try #require(try await bench.claim().first)
                try await bench.finish(claim, isFine ? .done(Sample.receipt) : .dead(Sample.failure))
                let free: DeliveryState = isHeld ? .quiet : .available
                #expect(
                    try await bench.states()
                        == (isFine ? [.done, .dropped, free, .quiet] : [.dead, .quiet, .dropped, .quiet]))
            }
        }
    }

    @Test(arguments: Benches())
    func `a dropped message that waited lets those behind it go on, and drops the steps after it`(_ bench: Bench) async throws {
        var waiting = Self.message(2, thread: "INC1", lane: "a", after: [1])
        (waiting.initial, waiting.runAt) = (.available, bench.now)
        var behind = Sample.delivery(3, lane: "a", action: "notify")
        behind.arguments = .message(Message(title: [], thread: "INC1"))
        try await bench.enqueue([Sample.delivery(1), waiting, behind, Sample.delivery(4, after: [2])])
        try await bench.enqueue([Self.closing(5)])
        #expect(try await bench.states() == [.available, .dropped, .available, .dropped, .available])
        #expect(try await Set(bench.claim().map(\.delivery.id)) == [Sample.delivery(1).id, behind.id])
    }

    @Test(arguments: Benches())
    func `a release is one transaction, and takes effect only once`(_ bench: Bench) async throws {
        try await bench.enqueue((1...5).map { Self.message($0) })
        let silence = Silence(starts: bench.now, ends: bench.after(99_999), reason: "x", by: "ann").identified
        try await bench.store.add(silence, at: bench.now)
        await bench.clock.pass(4000)
        let held = try await bench.store.released(at: bench.now)
        let joined = Delivery.coalescing(
            Message(title: [.text("2 messages were kept back")]), insteadOf: held[0].delivery, expires: bench.after(86_400),
            hop: 0, at: bench.now)
        let later = bench.after(600)
        let release = MessageRelease(
            Array(
                zip(
                    held,
                    [.joined, .joined, .silenced(by: silence.id), .dropped(Failure(.quiet, .giveUp, "no")), .held(until: later)]
                        as [MessageRelease.Treatment])), joined: joined, at: bench.now)
        #expect(try await bench.store.release(release))
        #expect(try await !bench.store.release(release))
        #expect(try await bench.states() == [.joined, .joined, .silenced, .dropped, .quiet, .available])
        #expect(try await bench.store.nextRelease() == later)
        #expect(try await bench.store.silences().map(\.kept) == [1])
        let records = try await bench.store.deliveries(DeliveryQuery(limit: 99))
        #expect(records[0].receipt?.summary == "joined delivery \(joined.id.text)")
        #expect(records[0].joined == JoinedDelivery(id: joined.id.text, state: .available))
        #expect(records[2].delivery.initial == .silenced(by: silence.id))
        #expect(records[3].failure?.reason == .quiet)
        #expect(records[4].delivery.expires == later + .days(1))
        #expect(try await bench.claim().map(\.delivery.id) == [joined.id])
    }

    @Test(arguments: Benches())
    func `a release is refused if a silence that it used has ended`(_ bench: Bench) async throws {
        let silence = Silence(starts: bench.now, ends: bench.after(99_999), reason: "x", by: "ann").identified
        try await bench.store.add(silence, at: bench.now)
        try await bench.enqueue([Self.message(1), Self.message(2)])
        await bench.clock.pass(3600)
        let held = try await bench.store.released(at: bench.now)
        _ = try await bench.store.endSilence(silence.id, at: bench.now)
        let release = MessageRelease([(held[0], .sent), (held[1], .silenced(by: silence.id))], at: bench.now)
        #expect(try await !bench.store.release(release))
        #expect(try await bench.states() == [.quiet, .quiet])
    }

    @Test(arguments: Benches())
    func `the end of a message that was made while the clock was ahead is computed again only once`(_ bench: Bench) async throws {
        var early = Self.message(1)
        early.createdAt = bench.after(600)
        try await bench.enqueue([early])
        try await bench.store.correctFutureTimes(at: bench.now)
        let held = try await bench.store.released(at: bench.now)
        let end = bench.after(1200)
        #expect(try await bench.store.release(MessageRelease(held.map { ($0, .held(until: end)) }, at: bench.now)))
        // Each loop that notices that the clock was set back lets the store correct its times.
        try await bench.store.correctFutureTimes(at: bench.now)
        #expect(try await bench.store.nextRelease() == end)
        #expect(try await bench.store.deliveries(DeliveryQuery()).map(\.delivery.expires) == [end + .days(1)])
    }

    @Test(arguments: Benches())
    func `a message that is sent unchanged waits and expires as if its release had made it`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1)])
        await bench.clock.pass(3600 + 5 * 86_400)
        let held = try await bench.store.released(at: bench.now)
        #expect(try await bench.store.release(MessageRelease([(held[0], .sent)], at: bench.now)))
        #expect(try await bench.store.status().backlog.map(\.since) == [bench.now])
        let claim = try #require(try await bench.claim().first)
        #expect(claim.delivery.expires == bench.now + .days(1))
        #expect(try await bench.store.status().backlog.map(\.since) == [bench.now])
    }

    @Test(arguments: Benches())
    func `a held message that expires before the one message is sent is left out of it, and the others keep their notes`(
        _ bench: Bench
    ) async throws {
        var short = Self.message(1)
        short.expires = Self.end + .seconds(600)
        try await bench.enqueue([short, Self.message(2), Self.message(3)])
        // The release is late, which gives each message as much more time.
        await bench.clock.pass(3600 + 1000)
        let held = try await bench.store.released(at: bench.now)
        let messages = held.compactMap(\.delivery.arguments.message)
        let notes = [" – closed", " – gone", " – left"].map { [Message.Inline.text($0)] }
        let joined = Delivery.coalescing(
            Message.coalesced(messages, as: .keptBack, notes: notes), insteadOf: held[0].delivery,
            expires: bench.after(86_400), hop: 0, at: bench.now, as: .keptBack)
        let treatments = held.map { ($0, MessageRelease.Treatment.joined) }
        #expect(try await bench.store.release(MessageRelease(treatments, joined: joined, at: bench.now)))
        /// Claims the message, and retries it after some seconds.
        func next(after seconds: Int) async throws -> String {
            let claim = try #require(try await bench.claim().first)
            try await bench.finish(claim, .retry(at: bench.after(seconds), Sample.failure))
            await bench.clock.pass(seconds)
            guard case .message(let message) = claim.delivery.arguments else { return "" }
            return message.title.plainText + ": " + (message.list?.items.map(\.plainText) ?? []).joined(separator: ", ")
        }
        let all = "3 messages were kept back: Task 1 – closed, Task 2 – gone, Task 3 – left"
        #expect(try await next(after: 500) == all)
        #expect(try await next(after: 200) == all)
        #expect(try await next(after: 100) == "2 messages were kept back: Task 2 – gone, Task 3 – left")
        let dead = try await bench.store.deliveries(DeliveryQuery(states: [.dead]))
        #expect(dead.map(\.delivery.id) == [short.id] && dead.first?.failure?.reason == .expired)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a message after a step with on_error stop waits for it, and is dropped if it dies`(_ kind: StoreUnderTest) async throws
    {
        for isFine in [true, false] {
            let bench = Bench(kind)
            try await bench.enqueue([Sample.delivery(1), Self.message(2, after: [1])])
            await bench.clock.pass(3600)
            let held = try await bench.store.released(at: bench.now)
            #expect(held.map(\.waits) == [true])
            #expect(try await bench.store.release(MessageRelease([(held[0], .sent)], at: bench.now)))
            #expect(try await state(bench, 2) == .waiting)
            let claim = try #require(try await bench.claim().first)
            _ = try await bench.finish(claim, isFine ? .done(Sample.receipt) : .dead(Sample.failure))
            #expect(try await state(bench, 2) == (isFine ? .available : .dropped))
        }
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a held message is dropped at once if the step before it dies`(_ kind: StoreUnderTest) async throws {
        for isFine in [true, false] {
            let bench = Bench(kind)
            try await bench.enqueue([Sample.delivery(1), Self.message(2, after: [1])])
            let claim = try #require(try await bench.claim().first)
            _ = try await bench.finish(claim, isFine ? .done(Sample.receipt) : .dead(Sample.failure))
            #expect(try await state(bench, 2) == (isFine ? .quiet : .dropped))
            if isFine { #expect(try await bench.store.released(at: Self.end).map(\.waits) == [false]) }
        }
    }

    @Test(arguments: Benches())
    func `the steps after a held message that a newer one replaces go on`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Self.message(1), Sample.delivery(2), Sample.delivery(3, after: [1, 2]),
            Self.message(4, after: [1], until: Self.end + .seconds(600)),
        ])
        await bench.clock.pass(3600)
        let held = try await bench.store.released(at: bench.now)
        #expect(try await bench.store.release(MessageRelease(held.map { ($0, .dropped(.outdated)) }, at: bench.now)))
        #expect(try await bench.states() == [.dropped, .available, .waiting, .quiet])
        let claim = try #require(try await bench.claim().first)
        _ = try await bench.finish(claim, .done(Sample.receipt))
        #expect(try await bench.states() == [.dropped, .done, .available, .quiet])
    }

    @Test(arguments: Benches())
    func `a person sends a held message now, or drops it`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1), Self.message(2), Sample.delivery(3), Self.message(4, after: [3])])
        #expect(try await bench.store.apply(.retry, to: [Self.message(1).id, Self.message(4).id], at: bench.now) == 2)
        #expect(try await bench.store.apply(.drop, to: [Self.message(2).id], at: bench.now) == 1)
        #expect(try await bench.states() == [.available, .dropped, .available, .waiting])
        #expect(try await bench.store.nextRelease() == nil)
        #expect(try await Set(bench.claim().map(\.delivery.id)) == [Self.message(1).id, Sample.delivery(3).id])
    }

    @Test(arguments: Benches())
    func `each receiver and each end has its own release, the earliest first`(_ bench: Bench) async throws {
        var other = Self.message(2)
        other.id.receiver = "board"
        try await bench.enqueue([Self.message(1), other, Self.message(3, until: Self.end - .seconds(5)), Self.message(4)])
        await bench.clock.pass(3600)
        var groups: [[String]] = []
        while true {
            let held = try await bench.store.released(at: bench.now)
            if held.isEmpty { break }
            groups.append(held.map { $0.delivery.id.receiver + " " + $0.delivery.id.occasion.text })
            #expect(try await bench.store.release(MessageRelease(held.map { ($0, .sent) }, at: bench.now)))
        }
        #expect(groups.map(\.count) == [1, 1, 2])
        #expect(groups[1][0].hasPrefix("board"))
    }

    @Test(arguments: Benches())
    func `a release knows whether the conversation of a message has begun`(_ bench: Bench) async throws {
        var first = Sample.delivery(1, action: "notify")
        first.arguments = .message(Message(title: [.value("first")], thread: "INC1"))
        try await bench.enqueue([first])
        let claim = try #require(try await bench.claim().first)
        let receipt = Receipt("sent", conversation: ConversationChange("INC1", firstMessage: ["ts": "1"]))
        _ = try await bench.finish(claim, .done(receipt))
        try await bench.enqueue([Self.message(2, thread: "INC1"), Self.message(3, thread: "INC2"), Self.message(4)])
        #expect(try await bench.store.released(at: Self.end).map(\.continues) == [true, false, false])
    }
}
