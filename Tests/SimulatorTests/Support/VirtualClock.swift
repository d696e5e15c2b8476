import Synchronization

/// A clock that moves only on demand. A class, because the simulation and the test share it.
final class VirtualClock: Sendable {
    /// Monday, 5 January 2026, 09:00:00 UTC.
    static let monday: Int64 = 1_767_603_600_000_000

    private let micros: Mutex<Int64>

    init(_ micros: Int64 = VirtualClock.monday) { self.micros = Mutex(micros) }

    var now: Int64 { micros.withLock { $0 } }

    func advance(seconds: Int64) { micros.withLock { $0 += seconds * 1_000_000 } }
}
