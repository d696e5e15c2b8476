import Synchronization

/// The memory for large bodies whose senders only their signatures show: strangers can send bodies too, on all connections at once.
///
/// A class with a mutex, because all connections share it.
final class BodyRoom: Sendable {
    /// How much of a body is read without asking for room, in bytes.
    static let free = 64 << 10
    /// For all bodies together, in bytes; or twice the largest body, so that a body of any allowed size finds room.
    private static let least = 32_000_000

    private let bytes: Mutex<Int>

    init(largestBody: Int) { bytes = Mutex(max(Self.least, 2 * largestBody)) }

    var left: Int { bytes.withLock { $0 } }

    /// Part of the room, for one body.
    struct Share: ~Copyable {
        fileprivate let room: BodyRoom
        /// In bytes.
        private var size = 0

        fileprivate init(of room: BodyRoom) { self.room = room }

        /// Makes room for a body of this many bytes in all. False if there is none.
        mutating func grow(to bytes: Int) -> Bool {
            let more = bytes - BodyRoom.free - size
            if more <= 0 { return true }
            let fits = room.bytes.withLock { left in
                guard left >= more else { return false }
                left -= more
                return true
            }
            if fits { size += more }
            return fits
        }

        deinit { room.bytes.withLock { $0 += size } }
    }

    func share() -> Share { Share(of: self) }
}
