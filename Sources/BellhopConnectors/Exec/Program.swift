import BellhopCore
import BellhopFiles
import Glibc
import Subprocess
import Synchronization
import SystemPackage

/// A program to run, without a shell and in a session of its own. It inherits nothing from the agent.
struct Program: Sendable {
    /// The absolute path.
    var path: String
    var arguments: [String]
    /// All its environment variables.
    var environment: [String: String]
    var folder: String
    var input: [UInt8]
    var limit: Duration
    /// Texts that the output must not contain.
    var secrets: [String] = []
    /// How many files it must be possible to open.
    var spareFiles = Descriptor.roomForPrograms

    struct RunResult: Sendable {
        enum Cause: Sendable, Hashable {
            case exited(Int32)
            case signaled(Int32)
            /// The program took too long and was stopped, with all processes in its group.
            case stopped
        }

        var cause: Cause
        /// Standard output and standard error, in order; the middle of a long output is left out.
        var output: String
    }

    /// The time between SIGTERM and SIGKILL.
    static let grace = Duration.seconds(2)

    private static let teardown = [TeardownStep.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: grace)]

    /// Runs the program until it ends, and then kills the processes that remain in its process group. Cancelling the task stops
    /// the program, and kills them too.
    func run() async throws -> RunResult {
        guard Descriptor.hasRoom(for: spareFiles) else { throw SystemError(EMFILE) }
        var options = PlatformOptions()
        // A process group of its own can be stopped as a whole; without a terminal, no program can prompt a person.
        options.createSession = true
        options.teardownSequence = Self.teardown
        var variables: [Environment.Key: String] = [:]
        for (name, value) in environment { variables[Environment.Key(stringLiteral: name)] = value }
        let kept = TruncatedOutput()
        let (input, limit) = (input, limit)
        let result = try await Subprocess.run(
            .path(FilePath(path)), arguments: Arguments(arguments), environment: .custom(variables),
            workingDirectory: FilePath(folder), platformOptions: options, input: .inputWriter, output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            let wasStopped = await withTaskGroup(of: Part.self) { group in
                group.addTask {
                    // A program may ignore its input: a failed write is no error.
                    _ = try? await execution.standardInputWriter.write(input)
                    try? await execution.standardInputWriter.finish()
                    return .written
                }
                group.addTask {
                    do {
                        for try await chunk in execution.standardOutput { chunk.withUnsafeBytes { kept.append($0) } }
                    } catch {}  // the output has ended, too
                    return .read
                }
                group.addTask { await Self.waitForEnd(of: execution.processIdentifier.value) ? .ended : .cancelled }
                group.addTask {
                    do { try await ContinuousClock().sleep(for: limit) } catch { return .cancelled }
                    return .late
                }
                var (wasStopped, isOver, isRead) = (false, false, false)
                loop: for await part in group {
                    switch part {
                    case .written: continue
                    case .read: isRead = true
                    case .cancelled where isOver: break loop
                    case .ended, .late, .cancelled:
                        if isOver { continue }
                        isOver = true
                        wasStopped = part == .late
                        if part != .ended { await execution.teardown(using: Self.teardown) }
                        // The teardown ends with the program itself, even if others in its group ignore SIGTERM.
                        try? execution.send(signal: .kill, toProcessGroup: true)
                        if part == .cancelled { break loop }
                        // A process that left the group may hold the output open: wait only briefly for the end of the output.
                        group.addTask {
                            try? await ContinuousClock().sleep(for: Self.grace)
                            return .cancelled
                        }
                    }
                    if isOver, isRead { break }
                }
                group.cancelAll()
                return wasStopped
            }
            return wasStopped
        }
        try Task.checkCancellation()
        let cause: RunResult.Cause =
            switch result.terminationStatus {
            case _ where result.closureResult: .stopped
            case .exited(let code): .exited(code)
            case .signaled(let signal): .signaled(signal)
            }
        return RunResult(cause: cause, output: kept.text(hiding: secrets))
    }

    private enum Part: Sendable { case written, read, ended, late, cancelled }

    /// Returns true once the process has ended, even if others hold its output open; false if the task is cancelled first.
    private static func waitForEnd(of process: pid_t) async -> Bool {
        var pause = Duration.milliseconds(1)
        while true {
            var info = siginfo_t()
            // WNOWAIT: the process remains for Subprocess to reap.
            let result = waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT)
            if result == 0 ? info.si_signo != 0 : errno != EINTR { return true }
            do { try await ContinuousClock().sleep(for: pause) } catch { return false }
            pause = min(pause * 2, .milliseconds(50))
        }
    }
}

/// The beginning and the end of a program's output. The middle of a long output is counted and dropped, so that endless output
/// does not fill the memory.
///
/// A class with a lock, because the output is read by a task of its own.
final class TruncatedOutput: Sendable {
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

    /// The output as text without these secrets, with a note in place of the dropped bytes.
    func text(hiding secrets: [String]) -> String {
        state.withLock { state in
            state.shortenTail(to: Self.tailBytes)
            guard state.dropped > 0 else { return Self.text(state.head + state.tail, hiding: secrets) }
            // A part of a secret would not be recognized, so the parts that were cut off are left out.
            let words = secrets.map { Array($0.utf8) }
            let begun = words.map { Self.overlap(state.head, $0) }.max() ?? 0
            let ended = words.map { Self.overlap($0, state.tail) }.max() ?? 0
            let head = Self.text(state.head.dropLast(begun), hiding: secrets)
            let tail = Self.text(state.tail.dropFirst(ended), hiding: secrets)
            return "\(head)… (\(state.dropped) bytes left out) …\(tail)"
        }
    }

    private static func text(_ bytes: some Collection<UInt8>, hiding secrets: [String]) -> String {
        Redaction.scrub(String(decoding: bytes, as: UTF8.self), of: secrets)
    }

    /// How many bytes at the end of the first text are the beginning of the second.
    private static func overlap(_ first: [UInt8], _ second: [UInt8]) -> Int {
        stride(from: min(first.count, second.count), to: 0, by: -1).first { count in
            first.suffix(count).elementsEqual(second.prefix(count))
        } ?? 0
    }
}
