import BellhopCore
import Synchronization

/// A host's pause: the wait that a rate limit or a 503 asks for, shared by all requests of one connection. Survives a restart.
///
/// A class with a lock, because the sources and actions of a connection share it.
final class HostPause: Sendable {
    private let key: String
    private let place: String
    private let notebook: any Notebook
    private let clock: any AgentClock
    private struct State {
        var isRead = false
        var until: Timestamp?
    }
    private let state = Mutex(State())
    /// Lets one note be stored at a time, so that the last one is the latest.
    private let storing = FIFOGate()

    init(connection: String, place: String, notebook: any Notebook, clock: any AgentClock) {
        key = "http/\(connection)/\(place)/pause"
        self.place = place
        self.notebook = notebook
        self.clock = clock
    }

    /// Fails during the pause; sends nothing.
    func check() async throws(Failure) {
        if !state.withLock({ $0.isRead }) {
            // If the notebook cannot be read, one request too many is sent.
            let kept = (try? await notebook.note(key))?.flatMap { $0.asMoment }
            state.withLock { state in
                if !state.isRead { state = State(isRead: true, until: kept) }
            }
        }
        let now = clock.now
        let pause = state.withLock { state -> (until: Timestamp, wait: Duration)? in
            guard let until = state.until else { return nil }
            // Even after a clock change, the pause must not exceed the longest allowed one.
            if until > now, until - now <= RetryAfter.longest { return (until, until - now) }
            state.until = nil
            return nil
        }
        guard let (until, wait) = pause else { return }
        throw Failure(
            .throttled, .rest(wait),
            "\(place) asked for no more requests before \(until.rfc3339); nothing is sent until then.")
    }

    /// Records the pause that an answer asks for.
    func note(_ response: HTTPResponse) async {
        guard response.isThrottled || response.status == 503,
            let wait = RetryAfter.read(response.headers, at: clock.now, readsReset: response.isThrottled),
            wait > .zero
        else { return }
        let until = clock.now + wait
        let isLonger = state.withLock { state in
            guard until > state.until ?? .distantPast else { return false }
            state = State(isRead: true, until: until)
            return true
        }
        guard isLonger else { return }
        await storing.enterUncancelled()
        defer { storing.leave() }
        // A longer pause may have been noted meanwhile.
        guard let latest = state.withLock(\.until) else { return }
        try? await notebook.setNote(key, to: .string(latest.rfc3339))
    }
}
