import BellhopCore
import Synchronization

/// Stores in the notebook how many requests a connection has sent, so that a restart does not let it exceed its rate.
///
/// Tokens are stored before they are used, several at a time if the rate is high. A killed process may have used all tokens that
/// its last note allowed, so the next process counts them as used. A class over a lock, because all requests of a connection
/// share it.
final class RateMemory: Sendable {
    private struct State {
        /// The used tokens, in groups; each group has the time of its last use.
        var used: [Use] = []
        /// The number of tokens that may be used before the next note.
        var left = 0
    }

    /// Tokens that count as used at one moment.
    struct Use: Sendable, Hashable {
        var time: Timestamp
        var count: Int
    }

    private let key: String
    private let rate: Rate
    private let notebook: any Notebook
    private let state = Mutex(State())
    /// Lets one note be written at a time, so that an older note never replaces a newer one.
    private let gate = FIFOGate()

    init(connection: String, _ rate: Rate, in notebook: any Notebook) {
        key = "rate/\(connection)"
        self.rate = rate
        self.notebook = notebook
    }

    /// How many tokens one note allows: a tenth of the rate, or one second's requests if that is more. This keeps writes rare.
    private var portion: Int {
        let second = Double(rate.count) / max(rate.period.seconds, 1e-9)
        return max(1, rate.count / 10, min(rate.count, Int(min(second, 1e9).rounded(.up))))
    }

    /// Returns the tokens that earlier runs used, or may have used after their last note. If the notebook cannot be read, all
    /// tokens count as used now.
    func restore(at now: Timestamp) async -> [Use] {
        let note: JSON?
        do { note = try await notebook.note(key) } catch { return take([Use(time: now, count: rate.count)]) }
        var used = (note?["used"]?.asArray ?? []).compactMap { entry -> Use? in
            guard let time = entry[0]?.asInt, let count = entry[1]?.asInt, count > 0 else { return nil }
            return Use(time: min(Timestamp(microseconds: time), now), count: Int(min(count, Int64(rate.count))))
        }
        guard let more = note?["more"]?.asInt, more > 0 else { return take(used) }
        used.append(Use(time: now, count: Int(min(more, Int64(rate.count)))))
        // Stored at once, so that another restart counts them at this time, not later.
        do { try await notebook.setNote(key, to: Self.note(used, more: 0)) } catch { return take(used) }
        return take(used)
    }

    private static func note(_ used: [Use], more: Int) -> JSON {
        ["used": .array(used.map { [.int($0.time.microseconds), .int(Int64($0.count))] }), "more": .int(Int64(more))]
    }

    private func take(_ used: [Use]) -> [Use] {
        state.withLock { $0.used = used }
        return used
    }

    /// Returns once the use of a token is stored; at once if an earlier note allows it. If the notebook fails, the request is
    /// sent anyway: the store reports its own failures.
    func note(useAt now: Timestamp) async throws(CancellationError) {
        if useAllowedToken(at: now) { return }
        // The disk is fast enough that the attempt keeps its reserved tokens meanwhile.
        let isIn = await FIFOGate.$onWaiting.withValue(nil) { (try? await gate.enter()) != nil }
        guard isIn else { throw CancellationError() }
        defer { gate.leave() }
        if useAllowedToken(at: now) { return }
        let portion = portion
        let used = state.withLock { state in
            // If the clock was set back, entries from the future would otherwise stay forever.
            state.used = state.used.filter { $0.time + rate.period > now }.map { Use(time: min($0.time, now), count: $0.count) }
            state.used.append(Use(time: now, count: 1))
            return state.used
        }
        do { try await notebook.setNote(key, to: Self.note(used, more: portion - 1)) } catch { return }
        state.withLock { $0.left = portion - 1 }
    }

    /// Returns the unused tokens of the last note, so that the next run can use them after an orderly stop.
    func settle() async {
        let used = state.withLock { state -> [Use]? in
            guard state.left > 0 else { return nil }
            state.left = 0
            return state.used
        }
        guard let used else { return }
        // If this fails, the next run counts them as used and starts more slowly.
        try? await notebook.setNote(key, to: Self.note(used, more: 0))
    }

    private func useAllowedToken(at now: Timestamp) -> Bool {
        state.withLock { state in
            guard state.left > 0, let last = state.used.indices.last else { return false }
            state.left -= 1
            state.used[last].count += 1
            state.used[last].time = max(state.used[last].time, now)
            return true
        }
    }
}

/// The rate limiters of all connections. A connection that is made again, in this run or a later one, continues with the limiter
/// of its name.
///
/// A class over a lock, because connections are made again while others are in use.
final class SharedRates: Sendable {
    private let limiters = Mutex<[String: RateLimiter]>([:])

    /// Reads how much of a connection's rate an earlier run used. Call it before the connection is made.
    func restore(_ connection: String, _ rate: Rate?, in environment: ConnectorEnvironment) async {
        guard let rate, environment.keepsRates, limiters.withLock({ $0[connection] })?.rate != rate else { return }
        let memory = RateMemory(connection: connection, rate, in: environment.notebook)
        let limiter = RateLimiter(rate, clock: environment.clock, memory: memory)
        await limiter.restore()
        limiters.withLock { $0[connection] = limiter }
    }

    /// Returns the unused tokens of all connections, at the end of a run.
    func settle() async {
        for limiter in limiters.withLock({ Array($0.values) }) { await limiter.settle() }
    }

    /// The limiter of a connection; nil if ``restore(_:_:in:)`` was not called for its name and rate.
    func limiter(_ connection: String, _ rate: Rate?) -> RateLimiter? {
        limiters.withLock { $0[connection] }.flatMap { $0.rate == rate ? $0 : nil }
    }
}
