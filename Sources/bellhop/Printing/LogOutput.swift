import BellhopCore
import BellhopFiles
import Dispatch
import Synchronization

/// Writes an agent's log to a descriptor whose reader may have stopped reading, which blocks neither the agent nor its end.
///
/// A class over a lock and its own queue, because several loops write lines, and only the queue waits for the reader.
final class LogOutput: Sendable {
    private let file: Int32
    /// While so many bytes wait for the reader, lines are left out.
    private let most: Int
    private let queue = DispatchQueue(label: "bellhop.log")
    private let state = Mutex((waiting: 0, omitted: 0))

    init(_ file: Int32, most: Int = 8 << 20) { (self.file, self.most) = (file, most) }

    func write(_ text: String) {
        state.withLock { state in
            if state.waiting >= most {
                state.omitted += 1
                return
            }
            let count = state.omitted
            let note = count == 0 ? "" : "Bellhop left out \(counted(count, "line")) here, because nothing read the log.\n"
            let bytes = Array((note + text).utf8)
            state.omitted = 0
            state.waiting += bytes.count
            // Within the lock, so that the lines keep their order.
            queue.async { self.put(bytes) }
        }
    }

    private func put(_ bytes: [UInt8]) {
        try? Descriptor.write(bytes, to: file)  // its reader may have ended, or the disk may be full
        state.withLock { $0.waiting -= bytes.count }
    }

    /// Returns when everything is written, but at the latest after this time.
    func flush(within limit: DispatchTimeInterval) {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + limit)
    }
}
