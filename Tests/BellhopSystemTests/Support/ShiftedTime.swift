import BellhopCore
import Foundation
import Synchronization

/// The time of a simulated instance and of every process that is started for it: the machine's, and as far ahead of it as a test likes.
///
/// A class over an atomic, because the simulated instance reads it from its own threads.
final class ShiftedTime: Sendable {
    private let seconds = Atomic<Int64>(0)

    /// How many seconds ahead of the machine's clock it is.
    var ahead: Int64 { seconds.load(ordering: .relaxed) }

    /// Microseconds since 1970 UTC.
    var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000_000) + ahead * 1_000_000 }

    /// Time passes, for the processes that are started from now on.
    func pass(_ duration: Duration) { seconds.add(duration.components.seconds, ordering: .relaxed) }
}
