import BellhopCore
import Dispatch
import Synchronization

/// Writes the lines of log files, and returns once they are on disk.
///
/// A class with a lock and a queue of its own, because waiting for a disk must not block a shared thread. Lines that arrive while
/// the disk is busy are written together.
final class LogWriter: Sendable {
    private struct Line: Sendable {
        var bytes: [UInt8]
        var file: LogFile
        var written: CheckedContinuation<Result<Void, Failure>, Never>
    }

    private let queue = DispatchQueue(label: "bellhop.log")
    private let waiting = Mutex<[Line]>([])

    /// Returns once the whole line is on disk.
    func append(_ bytes: [UInt8], to file: LogFile) async throws(Failure) {
        let result = await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Line(bytes: bytes, file: file, written: continuation))
                return waiting.count == 1
            }
            if isFirst { queue.async { self.writeAll() } }
        }
        try result.get()
    }

    private func writeAll() {
        let lines = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let results = lines.map { line in Result { () throws(Failure) in try line.file.append(line.bytes) } }
        var synced: [ObjectIdentifier: Result<Void, Failure>] = [:]
        for (line, result) in zip(lines, results) {
            guard case .success = result else {
                line.written.resume(returning: result)
                continue
            }
            let known = synced[ObjectIdentifier(line.file)] ?? Result { () throws(Failure) in try line.file.sync() }
            synced[ObjectIdentifier(line.file)] = known
            line.written.resume(returning: known)
        }
    }
}
