import Synchronization

/// Wakes the poller of a source. A class with a mutex, because the poller and others share it.
public final class PollBell: Sendable {
    enum Request: Sendable { case soon, now }

    let bell = Bell()
    private let request = Mutex<Request?>(nil)

    public init() {}

    /// Asks for a poll at once, because something that the source was waiting for has changed.
    public func ringNow() { ring(.now) }

    /// Asks for a poll as soon as the plan's spacing, and any rest or wait after a failure, allow.
    public func ringSoon() { ring(.soon) }

    private func ring(_ new: Request) {
        request.withLock { if $0 != .now { $0 = new } }
        bell.ring()
    }

    /// Takes the most urgent request since the last call.
    func take() -> Request? {
        request.withLock { request in
            defer { request = nil }
            return request
        }
    }
}
