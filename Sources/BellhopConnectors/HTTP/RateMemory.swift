import BellhopCore
import Synchronization

/// What a rate's requests were, in the notebook, so that a restart allows no more of them than the rate does.
///
/// Tokens are written down before they are used, several at a time where the rate is high: a process that was killed may have used all that
/// its last note allowed, and its successor reckons with that. A class over a lock, because all requests of a connection share it.
final class RateMemory: Sendable {
    private struct State {
        /// Tokens that were used, by the time of the last of several.
        var used: [Use] = []
        /// How many more tokens the note in the notebook allows.
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
    /// One note is written at a time, so that the latest one is what counts.
    private let gate = FIFOGate()

    init(connection: String, _ rate: Rate, in notebook: any Notebook) {
        key = "rate/\(connection)"
        self.rate = rate
        self.notebook = notebook
    }

    /// How many tokens one note allows: a tenth of the rate, and what goes in a second, so that notes are few.
    private var portion: Int {
        let second = Double(rate.count) / max(Double(rate.period.nanoseconds) / 1e9, 1e-9)
        return max(1, rate.count / 10, min(rate.count, Int(min(second, 1e9).rounded(.up))))
    }

    /// Reads what an earlier run used, and may have used since its last note. A notebook that cannot be read counts as one that allows
    /// nothing more for now.
    func restore(at now: Timestamp) async -> [Use] {
        let note: JSON?
        do { note = try await notebook.note(key) } catch { return take([Use(time: now, count: rate.count)]) }
        var used = (note?["used"]?.asArray ?? []).compactMap { entry -> Use? in
            guard let time = entry[0]?.asInt, let count = entry[1]?.asInt, count > 0 else { return nil }
            return Use(time: min(Timestamp(microseconds: time), now), count: Int(min(count, Int64(rate.count))))
        }
        guard let more = note?["more"]?.asInt, more > 0 else { return take(used) }
        used.append(Use(time: now, count: Int(min(more, Int64(rate.count)))))
        // From now on they age like those that were used, however often it restarts.
        do { try await notebook.setNote(key, to: Self.note(used, more: 0)) } catch { return take(used) }
        return take(used)
    }

    private static func note(_ used: [Use], more: Int) -> JSON {
        [
            "used": .array(used.map { [.int($0.time.microseconds), .int(Int64($0.count))] }), "more": .int(Int64(more)),
        ]
    }

    private func take(_ used: [Use]) -> [Use] {
        state.withLock { $0.used = used }
        return used
    }

    /// Returns when the use of a token at this moment is written down, or was allowed by an earlier note. Where the notebook fails the
    /// request goes all the same: the store says by itself that it has trouble.
    func note(useAt now: Timestamp) async throws(CancellationError) {
        if useLeft(at: now) { return }
        // Waiting for the disk does not last: the requests set aside for the attempt stay its own.
        let isIn = await FIFOGate.$onWaiting.withValue(nil) { (try? await gate.enter()) != nil }
        guard isIn else { throw CancellationError() }
        defer { gate.leave() }
        if useLeft(at: now) { return }
        let portion = portion
        let used = state.withLock { state in
            // A clock that was set back must not leave entries of the future for ever.
            state.used = state.used.filter { $0.time + rate.period > now }.map { Use(time: min($0.time, now), count: $0.count) }
            state.used.append(Use(time: now, count: 1))
            return state.used
        }
        do { try await notebook.setNote(key, to: Self.note(used, more: portion - 1)) } catch { return }
        state.withLock { $0.left = portion - 1 }
    }

    /// Hands back what the last note allowed and nobody used, so that an orderly stop costs nothing of the rate.
    func settle() async {
        let used = state.withLock { state -> [Use]? in
            guard state.left > 0 else { return nil }
            state.left = 0
            return state.used
        }
        guard let used else { return }
        // Without it the next run counts them as used, which is only slower.
        try? await notebook.setNote(key, to: Self.note(used, more: 0))
    }

    private func useLeft(at now: Timestamp) -> Bool {
        state.withLock { state in
            guard state.left > 0, let last = state.used.indices.last else { return false }
            state.left -= 1
            state.used[last].count += 1
            state.used[last].time = max(state.used[last].time, now)
            return true
        }
    }
}

/// The rates of the connections of one program, each of which goes on where an earlier connection of the name stopped: one that was made
/// anew because its secrets changed, or that of an earlier run.
///
/// A class over a lock, because connections are made anew while others are in use.
final class SharedRates: Sendable {
    private let limiters = Mutex<[String: RateLimiter]>([:])

    /// Reads what an earlier run noted of a connection's rate. To be called before the connection is made.
    func restore(_ connection: String, _ rate: Rate?, in environment: ConnectorEnvironment) async {
        guard let rate, environment.keepsRates, limiters.withLock({ $0[connection] })?.rate != rate else { return }
        let memory = RateMemory(connection: connection, rate, in: environment.notebook)
        let limiter = RateLimiter(rate, clock: environment.clock, memory: memory)
        await limiter.restore()
        limiters.withLock { $0[connection] = limiter }
    }

    /// Stores the uses of all rates at the end of a run.
    func settle() async {
        for limiter in limiters.withLock({ Array($0.values) }) { await limiter.settle() }
    }

    /// The limiter of a connection; nil where none was restored for it.
    func limiter(_ connection: String, _ rate: Rate?) -> RateLimiter? {
        limiters.withLock { $0[connection] }.flatMap { $0.rate == rate ? $0 : nil }
    }
}
