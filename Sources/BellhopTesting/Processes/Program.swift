import Foundation
import Synchronization

/// One run of the program, in its own process.
///
/// A class, because a process has identity; other threads collect its output.
public final class Program: Sendable {
    public struct Ended: Sendable {
        public var output: String
        public var errors: String
        /// The exit code, or 128 plus the number of the signal that ended it.
        public var code: Int32
    }

    private let process: ChildProcess
    private let output = Gathered()
    private let errors = Gathered()

    /// Starts it, with a minimal environment plus the given variables.
    /// - Parameters:
    ///   - terminal: the standard input, instead of `input`.
    ///   - screen: receives its output and errors, which are then not collected here.
    public init(
        _ arguments: [String], program: String = Repository.program, in folder: String, environment: [String: String] = [:],
        input: String = "", terminal: PseudoTerminal? = nil, screen: PseudoTerminal? = nil
    ) throws {
        var all = ["PATH": "/usr/bin:/bin", "HOME": folder, "TERM": "dumb", "BELLHOP_KEYCHAIN": folder + "/keychain.json"]
        if let toolchain = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] { all["LD_LIBRARY_PATH"] = toolchain }
        let (out, err) = (Pipe(), Pipe())
        let stdin = input.isEmpty ? nil : Pipe()
        process = try ChildProcess(
            program, arguments, in: folder, environment: all.merging(environment) { _, new in new },
            input: terminal?.input ?? stdin?.fileHandleForReading.fileDescriptor,
            output: screen?.input ?? out.fileHandleForWriting.fileDescriptor,
            errors: screen?.input ?? err.fileHandleForWriting.fileDescriptor)
        for pipe in [out, err] { try pipe.fileHandleForWriting.close() }
        try stdin?.fileHandleForReading.close()
        output.read(out.fileHandleForReading)
        errors.read(err.fileHandleForReading)
        if let stdin {
            stdin.fileHandleForWriting.write(Data(input.utf8))
            try stdin.fileHandleForWriting.close()
        }
    }

    public var id: Int32 { process.id }
    public var isRunning: Bool { process.isRunning }

    public var outputSoFar: String { output.text }
    public var errorsSoFar: String { errors.text }

    /// Returns the output and errors so far. The closure does not retain the program.
    public var said: @Sendable () -> String { { [output, errors] in output.text + errors.text } }

    public func send(_ signal: Int32) { process.send(signal) }

    /// Asks it to stop with SIGTERM, and waits for the end.
    @discardableResult
    public func stop(within limit: Duration = .seconds(60)) async -> Ended {
        send(SIGTERM)
        return await end(within: limit)
    }

    /// Kills it with SIGKILL, and waits for the end.
    public func kill() async {
        send(SIGKILL)
        _ = await end()
    }

    /// Waits for the end. Kills a process that exceeds the limit; its exit code shows this.
    public func end(within limit: Duration = .seconds(60)) async -> Ended {
        let deadline = ContinuousClock.now + limit
        while process.isRunning, ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
        process.send(SIGKILL)
        let code = process.waitUntilExit()
        await output.finished()
        await errors.finished()
        return Ended(output: output.text, errors: errors.text, code: code)
    }

    /// Runs to the end.
    public static func run(
        _ arguments: [String], in folder: String, environment: [String: String] = [:], input: String = ""
    ) async throws -> Ended {
        try await Program(arguments, in: folder, environment: environment, input: input).end()
    }
}

/// The output of a pipe so far.
///
/// A class over a mutex, because a separate thread fills it: a file handle's `readabilityHandler` must not close the handle, and
/// hundreds of programs in one test would exhaust the process's open files.
private final class Gathered: Sendable {
    private let state = Mutex((bytes: [UInt8](), isDone: false))

    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    func read(_ handle: FileHandle) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 16384)
            while true {
                let count = Foundation.read(handle.fileDescriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                state.withLock { $0.bytes += buffer[..<count] }
            }
            try? handle.close()
            state.withLock { $0.isDone = true }
        }
    }

    /// Waits for the end of the pipe, but not long: a child of the program may hold it open.
    func finished() async {
        for _ in 0..<400 where !state.withLock({ $0.isDone }) { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
