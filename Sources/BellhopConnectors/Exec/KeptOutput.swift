import Synchronization

/// The beginning and the end of a program's output. The middle of a long output is counted and dropped, so that endless output
/// does not fill the memory.
///
/// A class with a lock, because the output is read by a task of its own.
final class KeptOutput: Sendable {
    private struct State {
        var head: [UInt8] = []
        var tail: [UInt8] = []
        var dropped = 0

        mutating func shortenTail(to count: Int) {
            guard tail.count > count else { return }
            dropped += tail.count - count
            tail.removeFirst(tail.count - count)
        }
    }

    static let (headBytes, tailBytes) = (1 << 10, 3 << 10)

    private let state = Mutex(State())

    func append(_ bytes: some Collection<UInt8>) {
        state.withLock { state in
            let first = bytes.prefix(Self.headBytes - state.head.count)
            state.head += first
            state.tail += bytes.dropFirst(first.count)
            // Removed in large steps, so that each byte is moved about once.
            if state.tail.count > 2 * Self.tailBytes { state.shortenTail(to: Self.tailBytes) }
        }
    }

    /// The output as text, with a note in place of the dropped bytes.
    var text: String {
        state.withLock { state in
            state.shortenTail(to: Self.tailBytes)
            guard state.dropped > 0 else { return String(decoding: state.head + state.tail, as: UTF8.self) }
            let (head, tail) = (String(decoding: state.head, as: UTF8.self), String(decoding: state.tail, as: UTF8.self))
            return "\(head)… (\(state.dropped) bytes left out) …\(tail)"
        }
    }
}
