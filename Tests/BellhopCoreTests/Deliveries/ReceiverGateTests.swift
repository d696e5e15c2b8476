import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Receiver gate` {
    private let start = Timestamp(seconds: 1_767_603_600)

    private static let timeout = Outcome.failed(Failure(.timeout, .retry(after: nil), "Silence."))
    private static let refused = Outcome.failed(Failure(.refused, .giveUp, "400"))

    private func room(_ gate: inout ReceiverGate, _ seconds: Int, inFlight: Int = 0) -> (attempts: Int, next: Timestamp?) {
        gate.room(inFlight: inFlight, most: 8, at: start + .seconds(seconds))
    }

    /// A gate after some failures in a row, one a second.
    private func failing(_ count: Int) -> ReceiverGate {
        var gate = ReceiverGate("ops")
        for second in 0..<count {
            gate.began(at: start + .seconds(second))
            _ = gate.ended(Self.timeout, began: start + .seconds(second), at: start + .seconds(second))
        }
        return gate
    }

    /// Lets trials of an open breaker fail one after another, and the next one end with an outcome.
    private func end(
        _ gate: inout ReceiverGate, _ now: inout Timestamp, after trials: Int, with outcome: Outcome
    ) -> ReceiverGate.Change {
        var change = ReceiverGate.Change()
        for outcome in Array(repeating: Self.timeout, count: trials) + [outcome] {
            now = gate.room(inFlight: 0, most: 8, at: now).next ?? now
            gate.began(at: now)
            change = gate.ended(outcome, began: now, at: now)
        }
        return change
    }

    @Test func `the breaker opens at the fifth failure in a row, and after its time lets one attempt through`() {
        var four = failing(4)
        let free = room(&four, 3)
        #expect(free.attempts > 1)
        var gate = failing(5)
        let open = room(&gate, 5)
        #expect(open.attempts == 0 && open.next == start + .seconds(9))
        let trial = room(&gate, 9)
        #expect(trial.attempts == 1)
        #expect(gate.isOnTrial(at: start + .seconds(9)))
        let beside = room(&gate, 9, inFlight: 1)
        #expect(beside.attempts == 0)
    }

    @Test func `a failed trial opens the breaker for twice as long, up to two minutes`() {
        var gate = failing(5)
        var now = start + .seconds(4)
        for wait in [5, 10, 20, 40, 80, 120, 120] {
            let next = gate.room(inFlight: 0, most: 8, at: now).next
            #expect(next == now + .seconds(wait))
            now = next ?? now
            gate.began(at: now)
            let change = gate.ended(Self.timeout, began: now, at: now)
            #expect(change.opened != nil && change.stops == [change.opened])
        }
    }

    @Test(arguments: [0, 1, 2, 3])
    func `a receiver is back when a delivery is made after two failed trials, not after a short failure or another answer`(
        _ trials: Int
    ) {
        for (outcome, isMade) in [(Outcome.delivered(Receipt("ok")), true), (Self.refused, false)] {
            var gate = failing(5)
            var now = start + .seconds(4)
            let change = end(&gate, &now, after: trials, with: outcome)
            #expect(change.closed != nil && change.isBack == (isMade && trials >= 2))
            let next = gate.ended(outcome, began: now, at: now)
            #expect(!next.isBack)
        }
    }

    @Test func `a receiver is back at most once an hour, also if the clock is set back`() {
        var gate = failing(5)
        var now = start + .seconds(4)
        /// Many deliveries always fail, and some others are made.
        func returns(until end: Timestamp) -> [Timestamp] {
            var found: [Timestamp] = []
            while now < end {
                let change = self.end(&gate, &now, after: 3, with: .delivered(Receipt("ok")))
                if change.isBack { found.append(now) }
                for _ in 0..<ReceiverGate.maxFailures {
                    gate.began(at: now)
                    _ = gate.ended(Self.timeout, began: now, at: now)
                }
            }
            return found
        }
        let found = returns(until: start + .seconds(4 * 3600))
        #expect(found.count == 4)
        #expect(zip(found, found.dropFirst()).allSatisfy { $1 - $0 >= .seconds(3600) })
        now = start - .days(1)
        gate.correctFutureTimes(to: now)
        let later = returns(until: now + .seconds(5000))
        #expect(later.count == 1)
    }

    @Test func `a rest is kept although the outcome of the write that asked for it is unknown`() {
        var gate = ReceiverGate("snow")
        gate.began(at: start)
        var failure = Failure(.throttled, .unknownOutcome, "503")
        failure.rest = .seconds(60)
        let change = gate.ended(.failed(failure), began: start, at: start)
        #expect(change.stops.map(\.cause) == [.rest])
        let resting = room(&gate, 59)
        #expect(resting.attempts == 0 && resting.next == start + .seconds(60))
    }

    @Test(arguments: [Outcome.delivered(Receipt("ok")), refused]) func `any answer closes the breaker`(_ answer: Outcome) {
        var gate = failing(5)
        let now = start + .seconds(10)
        gate.began(at: now)
        let change = gate.ended(answer, began: now, at: now)
        #expect(change.closed?.cause == .failures)
        let free = room(&gate, 10)
        #expect(free.attempts > 1)
        // The next failures are counted anew.
        let changes = (1...4).map { _ in gate.ended(Self.timeout, began: now, at: now) }
        #expect(changes.allSatisfy { $0.opened == nil })
        // A later run knows that the breaker was closed.
        var restored = ReceiverGate("ops")
        for stop in change.stops { restored.restore(stop, at: now) }
        #expect(restored.isFresh(at: now))
    }

    @Test func `refusals of single messages, and failures that are not the receiver's, do not open the breaker`() {
        var gate = failing(4)
        _ = gate.ended(Self.refused, began: start, at: start)
        let own = Outcome.failed(Failure(.badArguments, .giveUp, ""))
        let outcomes = Array(repeating: Self.timeout, count: 4) + [.interrupted, own, .interrupted, own]
        let changes = outcomes.map { gate.ended($0, began: start, at: start) }
        #expect(changes.allSatisfy { $0.opened == nil })
        let last = gate.ended(Self.timeout, began: start, at: start)
        #expect(last.opened != nil)
    }

    @Test func `failures of another host neither open the breaker nor rest the receiver`() {
        var gate = ReceiverGate("ops")
        for second in 0..<20 {
            let began = start + .seconds(second)
            let wait = Failure(.throttled, .rest(.seconds(86_400)), "429").from(ownHost: false)
            let failure = second % 2 == 0 ? Failure(.unreachable, .retry(after: nil), "No such host.").from(ownHost: false) : wait
            gate.began(at: began)
            let change = gate.ended(.failed(failure), began: began, at: began)
            #expect(change.stops.isEmpty && change.opened == nil && change.pause == nil)
        }
        #expect(room(&gate, 20).attempts > 1)
    }

    @Test func `an answer of another host does not close the breaker, and does not interrupt the count of failures`() {
        let other = Outcome.delivered(Receipt("200").from(ownHost: false))
        var open = failing(5)
        open.began(at: start + .seconds(10))
        let change = open.ended(other, began: start + .seconds(10), at: start + .seconds(10))
        #expect(change.closed == nil && open.isOnTrial(at: start + .seconds(10)))
        var closed = failing(4)
        _ = closed.ended(other, began: start, at: start)
        let last = closed.ended(Self.timeout, began: start + .seconds(4), at: start + .seconds(4))
        #expect(last.opened != nil)
    }

    @Test func `attempts at other hosts do not wait for a trial of the receiver for ever`() {
        var gate = failing(5)
        let moment = start + .seconds(200)
        gate.began(at: moment)
        let change = gate.ended(.delivered(Receipt("200").from(ownHost: false)), began: moment, at: moment)
        #expect(change.closed != nil && !gate.isOnTrial(at: moment))
    }

    @Test func `repeated refusals pause a receiver once, until it is resumed`() {
        var gate = ReceiverGate("ops")
        let refusal = Outcome.failed(Failure(.goneOrHidden, .pauseReceiver, "404"))
        let first = gate.ended(refusal, began: start, at: start)
        let second = gate.ended(refusal, began: start, at: start + .seconds(1))
        #expect(first.isNew && !second.isNew)
        #expect(first.pause == second.pause && first.pause?.until == nil)
        let later = room(&gate, 1_000_000)
        #expect(later.attempts == 0 && later.next == nil)
        gate.ignoreEarlierRefusals(at: start + .seconds(2))
        let waiting = room(&gate, 3)
        #expect(waiting.attempts == 0)
        let resumed = [gate.resume(), gate.resume()]
        #expect(resumed == [true, false])
        let after = room(&gate, 1_000_000)
        #expect(after.attempts > 0)
    }

    @Test func `an attempt that began before the receiver was resumed does not pause it again`() {
        var gate = ReceiverGate("ops")
        let refusal = Outcome.failed(Failure(.unauthenticated, .pauseReceiver, "401"))
        _ = gate.ended(refusal, began: start, at: start)
        gate.ignoreEarlierRefusals(at: start + .seconds(10))
        let between = gate.ended(refusal, began: start + .seconds(9), at: start + .seconds(10))
        gate.resume()
        let late = gate.ended(refusal, began: start + .seconds(9), at: start + .seconds(11))
        #expect(between == ReceiverGate.Change() && late == ReceiverGate.Change())
        let free = room(&gate, 11)
        #expect(free.attempts > 0)
        // The store's answer about the pause arrives late.
        gate.restore(ReceiverStop(receiver: "ops", cause: .refusal, since: start, until: nil, reason: "401"), at: start)
        let restored = room(&gate, 11)
        #expect(restored.attempts > 0)
        let next = gate.ended(refusal, began: start + .seconds(11), at: start + .seconds(12))
        #expect(next.isNew && next.pause?.since == start + .seconds(12))
    }

    @Test(arguments: 0..<200) func `the gate keeps its contract in a random history`(_ seed: UInt64) {
        var history = GateHistory(seed: seed, at: start)
        for _ in 0..<300 { history.step() }
        #expect(history.violations.isEmpty, "\(history.violations)")
    }
}

/// A random history of attempts at a receiver, which checks the contract at each moment.
private struct GateHistory {
    private var random: SeededRandom
    private var gate = ReceiverGate("ops")
    private var now: Timestamp
    private var inFlight: [(began: Timestamp, isTrial: Bool)] = []
    private(set) var violations: [String] = []

    // The state that the contract describes.
    private var failuresInARow = 0
    private var restEnd = Timestamp.distantPast
    private var breaker: (since: Timestamp, end: Timestamp)?
    private var isPaused = false
    private var resumed = Timestamp.distantPast
    private var hasRested = false
    /// The stops that a later run would find.
    private var stored: [ReceiverStop.Cause: ReceiverStop] = [:]

    init(seed: UInt64, at now: Timestamp) {
        random = SeededRandom(seed: seed)
        self.now = now
    }

    mutating func step() {
        check()
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7: begin()
        case 7..<15: end()
        case 15..<18: now = now + .milliseconds(Int.random(in: 1...40_000, using: &random))
        case 18:
            if Bool.random(using: &random) {
                let stop = ReceiverStop(receiver: "ops", cause: .person, since: now, until: nil, reason: "")
                gate.pause(stop)
                stored[.person] = stop
                isPaused = true
            } else {
                gate.ignoreEarlierRefusals(at: now)
                resumed = now
                // Attempts end before the resumption is stored.
                while Bool.random(using: &random), !inFlight.isEmpty { end() }
                if gate.resume() != isPaused { violations.append("resuming does not say whether it was paused") }
                stored = stored.filter { !$0.key.isPause }
                isPaused = false
            }
        default:
            // A restart, which knows only the stored stops; attempts in flight are lost.
            gate = ReceiverGate("ops")
            for stop in stored.values { gate.restore(stop, at: now) }
            inFlight = []
            failuresInARow = breaker == nil ? 0 : failuresInARow
        }
    }

    private var stopEnd: Timestamp? { [restEnd, breaker?.end].compactMap(\.self).filter { $0 > now }.max() }

    private mutating func check() {
        let room = gate.room(inFlight: inFlight.count, most: 8, at: now)
        if isPaused {
            if room.attempts != 0 { violations.append("a paused receiver is called") }
        } else if let stopEnd {
            if room.attempts != 0 { violations.append("it is called during a rest or with an open breaker") }
            if room.next != stopEnd {
                violations.append("the end of the stop is \(stopEnd), not \(room.next.map { "\($0)" } ?? "nil")")
            }
        } else if breaker != nil {
            if room.attempts > 1 { violations.append("a trial has more than one attempt") }
            if !inFlight.isEmpty, room.attempts > 0 { violations.append("a trial begins beside other attempts") }
            if inFlight.isEmpty, room.attempts == 0, room.next == nil { violations.append("a trial never begins") }
        } else if inFlight.isEmpty, room.attempts == 0, !hasRested {
            violations.append("a receiver that is not stopped gets nothing")
        }
        if room.attempts + inFlight.count > max(8, inFlight.count) { violations.append("more than eight are in flight") }
        if inFlight.count(where: \.isTrial) > 1 { violations.append("two trials") }
    }

    private mutating func begin() {
        guard gate.room(inFlight: inFlight.count, most: 8, at: now).attempts > 0 else { return }
        gate.began(at: now)
        inFlight.append((now, breaker != nil))
        now = now + .microseconds(1)
    }

    private mutating func end() {
        guard let place = inFlight.indices.randomElement(using: &random) else { return }
        let attempt = inFlight.remove(at: place)
        now = now + .milliseconds(Int.random(in: 1...300, using: &random))
        let outcome: Outcome
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<7:
            outcome = .failed(
                Failure(
                    [.unreachable, .timeout, .tls, .cut, .gateway, .serverError].randomElement(using: &random) ?? .cut,
                    .retry(after: nil), ""))
            failuresInARow += 1
            if let before = breaker {
                if attempt.began > before.since {
                    breaker = (now, now + min((before.end - before.since) * 2, .seconds(120)))
                }
            } else if failuresInARow >= 5 {
                breaker = (now, now + .seconds(5))
            }
        case 7..<9:
            outcome = Bool.random(using: &random) ? .delivered(Receipt("ok")) : .failed(Failure(.refused, .giveUp, "400"))
            (failuresInARow, breaker) = (0, nil)
        case 9:
            let wait = Duration.milliseconds(Int.random(in: 200...60_000, using: &random))
            outcome = .failed(Failure(.throttled, .rest(wait), "429"))
            (failuresInARow, breaker, hasRested) = (0, nil, true)
            restEnd = max(restEnd, now + wait)
        case 10:
            outcome = .failed(Failure(.unauthenticated, .pauseReceiver, "401"))
            (failuresInARow, breaker) = (0, nil)
            if attempt.began >= resumed { isPaused = true }
        default: outcome = .interrupted
        }
        let change = gate.ended(outcome, began: attempt.began, at: now)
        for stop in change.stops + (change.pause.map { [$0] } ?? []) { stored[stop.cause] = stop }
    }
}
