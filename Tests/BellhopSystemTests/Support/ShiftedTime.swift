import BellhopCore
import Foundation
import Synchronization

/// The time of a simulated instance and of every process started for it: ahead of the machine's clock by an adjustable offset.
///
/// A class with an atomic number, because the simulated instance reads it on its own threads.
final class ShiftedTime: Sendable {
    private let seconds = Atomic<Int64>(0)

    /// The offset from the machine's clock in seconds.
    var ahead: Int64 { seconds.load(ordering: .relaxed) }

    /// Microseconds since 1970 UTC.
    var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000_000) + ahead * 1_000_000 }

    /// Moves the time ahead, for processes started from now on.
    func pass(_ duration: Duration) { seconds.add(duration.components.seconds, ordering: .relaxed) }
}
