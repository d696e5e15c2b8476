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

    /// Moves the time ahead to an hour of the next day in UTC, so that no schedule of the test comes due by the machine's time of day.
    func pass(toHour hour: Int64) { pass(.seconds(86_400 - now / 1_000_000 % 86_400 + hour * 3600)) }
}
