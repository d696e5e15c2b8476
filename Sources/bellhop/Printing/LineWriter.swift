import BellhopCore
import BellhopFiles
import Dispatch
import Glibc
import Synchronization

/// Writes an agent's lines to a descriptor whose reader may have stopped reading.
///
/// A class over a lock and its own queue, because a slow reader blocks `write`, and must not block the agent's threads.
final class LineWriter: Sendable {
    static let standardOutput = LineWriter(STDOUT_FILENO, called: "Standard output")

    private struct Line: Sendable {
        var number: Int
        var bytes: [UInt8]
        var written: CheckedContinuation<Result<Void, Failure>, Never>
    }

    private struct State: Sendable {
        /// The lines that are not being written yet.
        var waiting: [Line] = []
        var current: Line?
        var last = 0
        /// Whether the last line waited too long, so that the reader seems to have stopped.
        var isStalled = false
    }

    private let file: Int32
    private let name: String
    /// How long a line waits for its turn and for the reader.
    private let timeout: Duration
    private let queue = DispatchQueue(label: "bellhop.lines")
    private let state = Mutex(State())

    init(_ file: Int32, called name: String, timeout: Duration = .seconds(5)) {
        (self.file, self.name, self.timeout) = (file, name, timeout)
    }

    /// Returns once the line is written. Throws immediately while the reader is stalled.
    func write(_ line: String) async throws(Failure) {
        let bytes = Array((line + "\n").utf8)
        let number = state.withLock { state -> Int? in
            if state.isStalled { return nil }
            state.last += 1
            return state.last
        }
        guard let number else { throw stalled }
        let result = await withTaskGroup(of: Result<Void, Failure>?.self) { group in
            group.addTask { await self.written(bytes, number) }
            group.addTask {
                // Ends early if the line is written, or the agent ends.
                try? await Task.sleep(for: self.timeout)
                if !Task.isCancelled { self.abandon(number, isStalled: true) }
                return nil
            }
            var result: Result<Void, Failure>?
            for await one in group {
                guard let one else { continue }
                result = one
                group.cancelAll()
            }
            return result
        }
        try (result ?? .failure(stalled)).get()
    }

    private func written(_ bytes: [UInt8], _ number: Int) async -> Result<Void, Failure> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isFirst = state.withLock { state in
                    state.waiting.append(Line(number: number, bytes: bytes, written: continuation))
                    return state.current == nil && state.waiting.count == 1
                }
                if isFirst { queue.async { self.writeAll() } }
                if Task.isCancelled { abandon(number, isStalled: false) }
            }
        } onCancel: {
            abandon(number, isStalled: false)
        }
    }

    /// Stops waiting for a line, so that `write` throws. Drops the line if its writing has not begun.
    private func abandon(_ number: Int, isStalled: Bool) {
        let line = state.withLock { state -> Line? in
            if state.current?.number == number {
                defer { state.current?.number = 0 }
                if isStalled { state.isStalled = true }
                return state.current
            }
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiting.remove(at: place)
        }
        line?.written.resume(returning: .failure(stalled))
    }

    /// Runs on the queue.
    private func writeAll() {
        while true {
            let line = state.withLock { state -> Line? in
                state.current = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                return state.current
            }
            guard let line else { return }
            let result = put(line.bytes)
            let isAwaited = state.withLock { state in
                state.isStalled = false
                defer { state.current?.number = 0 }
                return state.current?.number == line.number
            }
            if isAwaited { line.written.resume(returning: result) }
        }
    }

    private func put(_ bytes: [UInt8]) -> Result<Void, Failure> {
        do throws(SystemError) {
            return .success(try Descriptor.write(bytes, to: file))
        } catch {
            return .failure(Failure(.fileSystem, .retry(after: nil), "\(name) cannot be written: \(error.text)."))
        }
    }

    private var stalled: Failure {
        Failure(
            .fileSystem, .retry(after: nil),
            "\(name) takes no more lines: its reader has stopped. The line is written once it is read again.")
    }
}
