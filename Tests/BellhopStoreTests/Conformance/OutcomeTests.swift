import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Deliveries created while the clock was ahead` {
    @Test(arguments: Benches())
    func `a delivery created while the clock was ahead is due at the next start`(_ bench: Bench) async throws {
        var later = Sample.delivery(2)
        later.runAt = bench.after(30)
        try await bench.enqueue([Sample.delivery(1, at: bench.after(9999)), later])
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.start(.only, at: bench.now) == 0)
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(1).id])
    }
}

@Suite struct `Outcomes of deliveries` {
    @Test(arguments: Benches())
    func `a lost lease refuses the outcome`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        let claim = try await bench.claim()[0]
        #expect(try await bench.store.rescue(at: bench.after(59)) == 0)
        await bench.clock.pass(60)
        #expect(try await bench.store.rescue(at: bench.now) == 1)
        #expect(try await bench.finish(claim, .done(Receipt("late")), events: [Sample.event(1)]) == false)
        let second = try await bench.claim()[0]
        #expect(try await bench.finish(claim, .done(Receipt("later"))) == false)
        #expect(try await bench.finish(second, .done(Receipt("in time", reference: "ref"))) == true)
        #expect(try await bench.finish(second, .done(Receipt("twice"))) == false)
        let record = try await bench.store.deliveries(DeliveryQuery())[0]
        #expect(record.state == .done)
        #expect(record.attempts == 2)
        #expect(record.receipt == Receipt("in time", reference: "ref"))
        #expect(record.finishedAt == bench.now)
        #expect(try await bench.store.status().events == 0)
    }

    @Test(arguments: Benches())
    func `an outcome is never stored in the row of another delivery`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2)])
        let claims = try await bench.claim()
        let late = claims[0].changing { $0.row = claims[1].lease.row }
        #expect(try await bench.finish(late, .done(Sample.receipt)) == false)
        #expect(try await bench.states() == [.running, .running])
    }

    @Test(arguments: Benches())
    func `storing outcomes and claiming in one transaction has the same result as in two`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1, lane: "a"), Sample.delivery(2, lane: "a"), Sample.delivery(3)])
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery.id) == [Sample.delivery(1).id, Sample.delivery(3).id])
        await bench.clock.pass(1)
        var finishes = claims.map { Finish($0, at: bench.now, next: .done(Sample.receipt)) }
        finishes[1].claim = claims[1].changing { $0.token -= 1 }
        let request = ClaimRequest(limit: 10, quotas: [:], others: 10, by: .only, until: bench.after(60), at: bench.now)
        let (kept, claimed) = try await bench.store.finish(finishes, claiming: request)
        // The end of the first frees the second; an end without its lease changes nothing.
        #expect(kept == [true, false])
        #expect(claimed.claims.map(\.delivery.id) == [Sample.delivery(2).id])
        #expect(!claimed.mayHaveMore)
        #expect(try await bench.states() == [.done, .running, .running])
        #expect(try await bench.claim(limit: 1, others: 1) == Claimed())
        finishes = [Finish(claimed.claims[0], at: bench.now, next: .done(Sample.receipt))]
        try bench.tested.fail(statement: 6, includingReads: false)
        await #expect(throws: StoreError.self) { try await bench.store.finish(finishes, claiming: request) }
        #expect(try bench.tested.stopFailing())
        #expect(try await bench.states() == [.done, .running, .running])
    }

    @Test(arguments: Benches())
    func `a claim reports whether more deliveries were due than its limit`(_ bench: Bench) async throws {
        try await bench.enqueue((1...3).map { Sample.delivery($0) })
        for (limit, mayHaveMore) in [(2, true), (2, false)] {
            let claimed = try await bench.claim(limit: limit, others: 10)
            #expect(claimed.mayHaveMore == mayHaveMore)
        }
    }

    @Test(arguments: Benches())
    func `a delivery left running is recovered as uncertain`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2)])
        let started = bench.now
        _ = try await bench.claim(1)
        await bench.clock.pass(1)
        #expect(try await bench.store.start(.only, at: bench.now) == 1)
        let claims = try await bench.claim()
        #expect(claims.map(\.attempt.lastUncertain) == [nil, started])
        #expect(claims.map(\.attempt.firstStarted) == [nil, started])
        #expect(claims.map(\.attempt.number) == [1, 2])
    }

    @Test(arguments: Benches())
    func `a node that starts rescues its own deliveries and those with an expired lease, and no others`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue((1...3).map { Sample.delivery($0) })
        let nodes = ["own", "other", "gone"].map { NodeID($0) }
        var claims: [Claim] = []
        for (node, seconds) in zip(nodes, [60, 60, 10]) {
            claims += try await bench.claim(limit: 1, others: 1, by: node, for: seconds).claims
        }
        #expect(claims.map(\.lease.node) == nodes)
        await bench.clock.pass(20)
        #expect(try await bench.store.start(nodes[0], at: bench.now) == 2)
        #expect(try await bench.states() == [.available, .running, .available])
        let finish = Finish(claims[1], at: bench.now, next: .done(Sample.receipt))
        #expect(try await bench.store.finish([finish]) == [true])
    }

    @Test(arguments: Benches())
    func `a postponed attempt does not count for the retry policy, keeps its place and stores its rest`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2)])
        let claim = try #require(try await bench.claim(1).first)
        await bench.clock.pass(5)
        let rest = ReceiverStop(
            receiver: "chat", cause: .rest, since: bench.now, until: bench.after(60), interval: .seconds(2), reason: "Slow down.")
        let failure = Failure(.throttled, .rest(.seconds(60)), "429")
        let finish = Finish(claim, at: bench.now, next: .postponed(failure), stops: [rest])
        #expect(try await bench.store.finish([finish]) == [true])
        #expect(try await bench.store.stops() == [rest])
        #expect(try await bench.store.deliveries(DeliveryQuery()).map(\.attempts) == [1, 0])
        #expect(try await bench.store.deliveries(DeliveryQuery())[0].failure == failure)
        let again = try await bench.claim()
        #expect(again.map(\.delivery.id) == [Sample.delivery(1).id, Sample.delivery(2).id])
        #expect(again.map(\.attempt.number) == [1, 1])
        #expect(again.map(\.attempt.firstStarted) == [nil, nil])
    }

    @Test(arguments: Benches())
    func `a paused attempt does not count for the retry policy, and waking its receiver makes it due`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2, receiver: "mail")])
        let failure = Failure(.unauthenticated, .pauseConnection, "The password was refused.")
        for claim in try await bench.claim() { try await bench.finish(claim, .paused(failure, until: bench.after(300))) }
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(300))
        let record = try await bench.store.deliveries(DeliveryQuery())[0]
        #expect(record.attempts == 1)
        #expect(record.failure == failure)
        await bench.clock.pass(1)
        try await bench.store.wake(receiver: "chat", at: bench.now)
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery.id) == [Sample.delivery(1).id])
        #expect(claims.map(\.attempt) == [Attempt(number: 1, now: bench.now)])
        // A delivery that waits for another reason is not woken.
        try await bench.finish(claims[0], .retry(at: bench.after(50), Sample.failure))
        try await bench.store.wake(receiver: "chat", at: bench.now)
        #expect(try await bench.claim().isEmpty)
    }

    @Test(arguments: Benches())
    func `once a receiver is back, its deliveries that wait for their next attempt are due, except for a time that it asked for`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue((1...5).map { Sample.delivery($0) })
        let claims = try await bench.claim()
        try await bench.enqueue([Sample.delivery(6, receiver: "mail")])
        let other = try await bench.claim()[0]
        let silence = Failure(.timeout, .retry(after: nil), "The other side was silent.")
        // The later a delivery was made, the earlier it would be tried.
        for (place, claim) in [claims[1], claims[2], other].enumerated() {
            try await bench.finish(claim, .retry(at: bench.after(7200 - place), silence))
        }
        let refusal = Failure(.unauthenticated, .pauseConnection, "The password was refused.")
        try await bench.finish(claims[3], .paused(refusal, until: bench.after(300)))
        let asked = Failure(.serverError, .retry(after: .seconds(90)), "500")
        try await bench.finish(claims[4], .retry(at: bench.after(3600), asked))
        var later = Sample.delivery(7)
        later.runAt = bench.after(600)
        try await bench.enqueue([later])
        await bench.clock.pass(30)
        let back = Finish(claims[0], at: bench.now, next: .done(Sample.receipt), isReceiverBack: true)
        let (kept, _) = try await bench.failingEachStatement {
            try await bench.store.finish([back])
        } afterFailure: { _ async throws in
            #expect(try await bench.claim().isEmpty)
        }
        #expect(kept == [true])
        let again = try await bench.claim()
        #expect(again.map(\.delivery.id) == [2, 3].map { Sample.delivery($0).id })
        #expect(again.map(\.attempt.number) == [2, 2])
        await bench.clock.pass(59)
        #expect(try await bench.claim().isEmpty)
        await bench.clock.pass(1)
        #expect(try await bench.claim(for: 9999).map(\.delivery.id) == [Sample.delivery(5).id])
    }

    @Test(arguments: Benches())
    func `a dead delivery is stored together with its event`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        let death = Sample.event(9, type: .deliveryDead)
        #expect(try await bench.finish(try await bench.claim()[0], .dead(Sample.failure), events: [death]))
        #expect(try await bench.store.unrouted(limit: 9).map(\.event) == [death])
        let record = try await bench.store.deliveries(DeliveryQuery(states: [.dead]))[0]
        #expect(record.failure == Sample.failure)
        #expect(try await bench.store.nextDue(excluding: []) == nil)
    }

    @Test(arguments: Benches())
    func `each of several outcomes is accepted or refused separately`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2)])
        let claims = try await bench.claim()
        var finishes = claims.map { Finish($0, at: bench.now, next: .done(Sample.receipt)) }
        finishes[0].claim = claims[0].changing { $0.token += 1 }
        #expect(try await bench.store.finish(finishes) == [false, true])
        #expect(try await bench.states() == [.running, .done])
    }

    @Test(arguments: Benches())
    func `a person can retry a dead or held delivery, with all its attempts again`(_ bench: Bench) async throws {
        var expiring = Sample.delivery(1)
        expiring.expires = bench.after(10)
        try await bench.enqueue([expiring, Sample.delivery(2), Sample.delivery(3)])
        let claims = try await bench.claim()
        let started = bench.now
        try await bench.finish(claims[0], .dead(Sample.failure))
        try await bench.finish(claims[1], .held(Sample.failure), uncertain: true)
        try await bench.finish(claims[2], .done(Sample.receipt))
        await bench.clock.pass(5)
        #expect(try await bench.store.apply(.retry, to: claims.map(\.delivery.id), at: bench.now) == 2)
        let again = try await bench.claim()
        #expect(again.map(\.delivery.id) == [expiring.id, Sample.delivery(2).id])
        #expect(again.map(\.delivery.expires) == [nil, nil])
        #expect(again.map(\.attempt.number) == [1, 1])
        #expect(again.map(\.attempt.lastUncertain) == [nil, started])
        #expect(try await bench.store.deliveries(DeliveryQuery()).map(\.attempts) == [2, 2, 1])
    }

    @Test(arguments: Benches())
    func `an attempt that does not count keeps the first attempt of a retried delivery`(_ bench: Bench) async throws {
        let started = bench.now
        let rest = RetryPolicy.Next.postponed(Failure(.throttled, .rest(nil), "429"))
        let pause = RetryPolicy.Next.paused(Failure(.unauthenticated, .pauseConnection, "401"), until: bench.after(5))
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2)])
        for claim in try await bench.claim() { try await bench.finish(claim, .dead(Sample.failure)) }
        await bench.clock.pass(5)
        #expect(try await bench.store.apply(.retry, to: [1, 2].map { Sample.delivery($0).id }, at: bench.now) == 2)
        for (claim, next) in zip(try await bench.claim(), [rest, pause]) { try await bench.finish(claim, next) }
        await bench.clock.pass(5)
        // By this the mail action knows that some recipients may have the mail already.
        let again = try await bench.claim()
        #expect(again.map(\.attempt.number) == [1, 1])
        #expect(again.map(\.attempt.firstStarted) == [started, started])
    }

    @Test(arguments: Benches())
    func `a retried delivery takes its old place, behind a running one`(_ bench: Bench) async throws {
        let deliveries = (1...3).map { Sample.delivery($0, lane: "a") }
        try await bench.enqueue(deliveries)
        try await bench.finish(try await bench.claim()[0], .dead(Sample.failure))
        let second = try await bench.claim()[0]
        _ = try await bench.store.apply(.retry, to: [deliveries[0].id], at: bench.now)
        #expect(try await bench.claim().isEmpty)
        try await bench.finish(second, .retry(at: bench.now, Sample.failure))
        // The second has begun and continues; the first is next, as the oldest unfinished one.
        let next = try await bench.claim()
        #expect(next.map(\.delivery.id) == [deliveries[1].id])
        try await bench.finish(next[0], .done(Sample.receipt))
        #expect(try await bench.claim().map(\.delivery.id) == [deliveries[0].id])
    }

    @Test(arguments: Benches())
    func `a person can retry a delivery that waits for its next attempt, without deciding that it was not received`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        try await bench.finish(bench.claim()[0], .retry(at: bench.after(600), Sample.failure))
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.apply(.retry, to: [Sample.delivery(1).id], at: bench.now) == 1)
        // Only the retry of a delivery that was given up, or held to be looked for, begins the count anew.
        #expect(try await bench.claim().map(\.attempt.number) == [2])
    }

    @Test(arguments: Benches())
    func `an expired write is dead, unless an earlier attempt may have made it`(_ bench: Bench) async throws {
        let deliveries = [(1, "update"), (2, "update"), (3, "webhook")].map { number, action in
            var delivery = Sample.delivery(number, action: action)
            delivery.expires = bench.after(10)
            return delivery
        }
        try await bench.enqueue(deliveries)
        for claim in try await bench.claim() {
            try await bench.finish(
                claim, .retry(at: bench.after(20), Sample.failure), uncertain: claim.delivery.id != deliveries[0].id)
        }
        await bench.clock.pass(20)
        #expect(try await bench.claim().map(\.delivery.id) == [deliveries[1].id])
        #expect(try await bench.states() == [.dead, .running, .dead])
    }

    @Test(arguments: Benches())
    func `the note of a write is deleted as its end is stored, and kept while an attempt may follow`(
        _ bench: Bench
    ) async throws {
        let (failure, later) = (Sample.failure, bench.after(5))
        let ends: [(next: RetryPolicy.Next, keeps: Bool)] = [
            (.done(Sample.receipt), false), (.dead(failure), false), (.held(failure), true), (.retry(at: later, failure), true),
            (.postponed(failure), true), (.paused(failure, until: later), true),
        ]
        let deliveries = (1...ends.count).map { Sample.delivery($0, action: "update") }
        try await bench.enqueue(deliveries)
        for delivery in deliveries { try await bench.store.setNote(delivery.noteKey, to: ["since": 1]) }
        for (claim, end) in zip(try await bench.claim(), ends) {
            let key = claim.delivery.noteKey
            #expect(try await bench.finish(claim.changing { $0.token += 1 }, end.next) == false)
            #expect(try await bench.store.note(key) == ["since": 1])
            try await bench.finish(claim, end.next)
            let note = try await bench.store.note(key)
            #expect((note != nil) == end.keeps, "\(end.next)")
        }
    }

    @Test(arguments: Benches())
    func `a delivery last tried while the clock was ahead is due once the clock is set back`(_ bench: Bench) async throws {
        try await bench.enqueue((1...2).map { Sample.delivery($0) })
        try await bench.finish(bench.claim(1)[0], .retry(at: bench.after(600), Sample.failure))
        await bench.clock.pass(3600)
        try await bench.finish(bench.claim(1, for: 60)[0], .retry(at: bench.after(600), Sample.failure), uncertain: true)
        try await bench.store.correctFutureTimes(at: bench.after(-3300))
        // The one tried earlier keeps its own time.
        let due = try await bench.store.claim(limit: 9, excluding: [], until: bench.now, at: bench.after(-3300))
        #expect(due.map(\.attempt.number) == [2])
        #expect(due.map(\.attempt.lastUncertain) == [bench.after(-3300)])
    }

    @Test(arguments: Benches())
    func `an attempt that was cut off while the clock was ahead counts as made when the clock is set back`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        await bench.clock.pass(3600)
        _ = try await bench.claim(1)
        try await bench.store.start(.only, at: bench.after(-3000))
        let due = try await bench.store.claim(limit: 9, excluding: [], until: bench.now, at: bench.after(-3000))
        #expect(due.map(\.attempt.lastUncertain) == [bench.after(-3000)])
    }

    @Test(arguments: Benches())
    func `a person can drop a delivery that is not running, and its lane goes on`(_ bench: Bench) async throws {
        let deliveries = (1...3).map { Sample.delivery($0, lane: "a") } + [Sample.delivery(4)]
        try await bench.enqueue(deliveries)
        let running = try await bench.claim(1)[0]
        #expect(try await bench.store.apply(.drop, to: deliveries[0...1].map(\.id), at: bench.now) == 1)
        try await bench.finish(running, .retry(at: bench.after(600), Sample.failure))
        #expect(try await bench.store.apply(.drop, to: [deliveries[0].id], at: bench.now) == 1)
        #expect(try await bench.states() == [.dropped, .dropped, .available, .available])
        #expect(try await bench.claim().map(\.delivery.id) == [deliveries[2].id, deliveries[3].id])
        #expect(try await bench.store.apply(.drop, to: [deliveries[0].id], at: bench.now) == 0)
    }
}
