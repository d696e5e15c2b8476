import BellhopFiles
import Dispatch
import Glibc
import Logging
import Synchronization

/// Writes an agent's log to a descriptor whose reader may have stopped reading, which blocks neither the agent nor its end.
///
/// A class over a lock and its own queue, because several loops write lines, and only the queue waits for the reader.
final class LogOutput: Sendable {
    private let file: Int32
    /// The format of the line about lines that were left out.
    private let log: TerminalLog
    /// While so many bytes wait for the reader, lines are left out.
    private let most: Int
    /// Whether it takes a line whole or not at all. A terminal that is ready may take only a part of it.
    private let takesWholeLines: Bool
    private let queue = DispatchQueue(label: "bellhop.log")
    private let state = Mutex((waiting: 0, omitted: 0))

    init(_ file: Int32, log: TerminalLog, most: Int = 8 << 20) {
        (self.file, self.log, self.most) = (file, log, most)
        takesWholeLines = isatty(file) == 0
    }

    func write(_ text: String) {
        state.withLock { state in
            if state.waiting >= most {
                state.omitted += 1
                return
            }
            let count = state.omitted
            let note =
                count == 0
                ? "" : log.line(.warning, "Lines were left out here, because nothing read the log.", ["count": "\(count)"]) + "\n"
            let bytes = Array((note + text).utf8)
            state.omitted = 0
            // A crash loses the lines that wait.
            if state.waiting == 0, hasRoom(for: bytes.count) {
                try? Descriptor.write(bytes, to: file)
                return
            }
            state.waiting += bytes.count
            // Within the lock, so that the lines keep their order.
            queue.async { self.put(bytes) }
        }
    }

    /// Whether so many bytes can be written without waiting (pipe(7)).
    private func hasRoom(for count: Int) -> Bool {
        var wanted = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
        return count <= 4096 && takesWholeLines && poll(&wanted, 1, 0) == 1
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
