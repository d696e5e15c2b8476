import Dispatch
import Glibc
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs something until it ends or a signal stops it.
enum Stopping {
    /// - Parameter grace: how long the work may continue after a signal, to finish what is in flight.
    /// - Throws: what the work throws, also after a signal, except that it was cancelled.
    static func onSignal(grace: Duration = .zero, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                do { try await work() } catch is CancellationError {}
            }
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
                    try? await ContinuousClock().sleep(for: grace)  // throws only when cancelled
                    return
                }
            }
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()  // the error of work that a signal stopped
        }
    }

    /// Runs work that must clean up before a signal ends this program: a signal first cancels the work. Child processes have their own
    /// process groups, so the terminal's Ctrl-C does not reach them; and a back-test on another machine would continue there.
    /// Afterwards, signals have their previous effect.
    static func cancelledBySignals<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let stopState = StopState()
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let pipe = SignalPipe([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        let source = DispatchSource.makeReadSource(fileDescriptor: pipe.output, queue: .global())
        source.setEventHandler {
            guard let received = stopState.take(from: pipe) else { return }
            continuation.yield()
            // The work may be in a call that ignores cancellation.
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) {
                if !stopState.isOver { end(by: received) }
            }
        }
        // Close the descriptor only when Dispatch no longer uses it.
        source.setCancelHandler { close(pipe.output) }
        source.activate()
        let result = await withTaskGroup(of: Result<Value, Failure>?.self) { group in
            group.addTask {
                do throws(Failure) { return .success(try await work()) } catch { return .failure(error) }
            }
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            var result: Result<Value, Failure>?
            for await ended in group {
                result = ended ?? result
                group.cancelAll()
            }
            return result
        }
        let received = stopState.finish(pipe)
        pipe.restoreHandlers()
        source.cancel()
        if let received { end(by: received) }
        guard let result else { preconditionFailure("the work has ended") }
        return try result.get()
    }

    /// Whether this program ignores the signal, such as SIGHUP if `nohup` started it.
    static func isIgnored(_ number: Int32) -> Bool {
        var present = sigaction()
        sigaction(number, nil, &present)
        return unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends the program as the signal does by default.
    private static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        sleep(1)  // another thread may handle the signal
        _exit(128 + number)
    }
}

/// Whether a signal came during work, and whether the work is over. A class with a mutex, because signals come on other threads.
private final class StopState: Sendable {
    private let state = Mutex<(received: Int32?, isOver: Bool)>((nil, false))

    var isOver: Bool { state.withLock { $0.isOver } }

    /// The signal received so far, if any.
    func take(from pipe: SignalPipe) -> Int32? {
        state.withLock { state in
            if !state.isOver { state.received = state.received ?? pipe.next() }
            return state.received
        }
    }

    func finish(_ pipe: SignalPipe) -> Int32? {
        state.withLock { state in
            state.isOver = true
            return state.received ?? pipe.next()
        }
    }
}

/// The descriptor to which the signal handler of ``SignalPipe`` writes. Unsafe, because a signal handler must not take a lock; it is set
/// before the handler is installed.
private nonisolated(unsafe) var signalPipe: Int32 = -1

/// Redirects signals to a pipe, and later restores their previous handlers, which Dispatch and libraries built on it never do.
///
/// Ignored signals stay ignored, such as those of a shell's background jobs. Unchecked, because C's `sigaction` has function pointers;
/// nothing changes after `init`.
private struct SignalPipe: @unchecked Sendable {
    /// The descriptor from which the signals' numbers can be read.
    let output: Int32
    private let before: [(number: Int32, action: sigaction)]

    /// Only one may exist at a time.
    init(_ numbers: [Int32]) {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (output, signalPipe) = (ends[0], ends[1])
        before = numbers.compactMap { number in
            if Stopping.isIgnored(number) { return nil }
            var (own, present) = (sigaction(), sigaction())
            own.__sigaction_handler.sa_handler = { number in
                let error = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(signalPipe, &byte, 1)
                errno = error
            }
            own.sa_flags = SA_RESTART
            sigaction(number, &own, &present)
            return (number, present)
        }
    }

    func next() -> Int32? {
        var byte: UInt8 = 0
        return read(output, &byte, 1) == 1 ? Int32(byte) : nil
    }

    func restoreHandlers() {
        for (number, var action) in before { sigaction(number, &action, nil) }
        close(signalPipe)
    }
}

/// Ends the program at once if a second signal comes while it finishes current work, or if that takes too long: a system call may never
/// return.
///
/// A class, because it watches the process's signals until it is released.
final class ForcedStop {
    private let watches: [any DispatchSourceSignal]
    private let first: FirstSignal

    enum Cause: Sendable { case secondSignal, timeout }

    /// - Parameters:
    ///   - limit: how many seconds after the first signal the program may take.
    ///   - end: called at the second signal, or when the time is over.
    init(_ signals: [Int32] = [SIGINT, SIGTERM], limit: Int = 35, end: @escaping @Sendable (Int32, Cause) -> Never) {
        let first = FirstSignal()
        self.first = first
        @Sendable func endNow(_ number: Int32, _ cause: Cause) -> Never {
            // `end` writes a line, and that may be the call that does not return.
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) { _exit(128 + number) }
            end(number, cause)
        }
        watches = signals.map { number in
            let watch = DispatchSource.makeSignalSource(signal: number, queue: .global())
            watch.setEventHandler {
                if first.record(at: .now) { endNow(number, .secondSignal) }
                DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(limit)) { endNow(number, .timeout) }
            }
            // Until a source is registered, which another thread does, its signal ends the program.
            let isRegistered = DispatchSemaphore(value: 0)
            watch.setRegistrationHandler { isRegistered.signal() }
            watch.activate()
            isRegistered.wait()
            return watch
        }
    }

    deinit { for watch in watches { watch.cancel() } }

    /// A service that ends the agent at once if a signal came before the agent listened for signals.
    var early: any Service { EarlySignal(first: first) }
}

private struct EarlySignal: Service {
    let first: FirstSignal

    func run() async throws {
        if !first.hasCome { try? await gracefulShutdown() }
    }
}

/// When the first signal came. A class over a mutex, because all watches of ``ForcedStop`` share it.
final class FirstSignal: Sendable {
    /// `timeout` sends its signal twice at the same time, to the program and to its process group. That is one request.
    private static let repetition = Duration.milliseconds(100)

    private let time = Mutex<ContinuousClock.Instant?>(nil)

    var hasCome: Bool { time.withLock { $0 != nil } }

    /// Records a signal at this time. True if it is another request than the first signal.
    func record(at now: ContinuousClock.Instant) -> Bool {
        time.withLock { time in
            guard let first = time else {
                time = now
                return false
            }
            return now - first > Self.repetition
        }
    }
}
