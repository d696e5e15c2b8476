import Dispatch
import Glibc
import Synchronization
import UnixSignals

/// Runs something until it ends or a signal stops it.
enum Stopping {
    /// After a signal, lets finite work go on for a while to finish what is in flight.
    static func finishing(within grace: Duration = .seconds(20), _ work: @escaping @Sendable () async throws -> Void) async throws
    {
        try await onSignal(work, grace: grace)
    }

    static func onSignal(
        _ work: @escaping @Sendable () async throws -> Void, grace: Duration = .zero
    ) async throws {
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
        }
    }
}

extension Stopping {
    /// Does work that starts other programs. A signal that ends this program first cancels the work, which ends those: they have process
    /// groups of their own, so that the terminal's Ctrl-C does not reach them.
    ///
    /// Signals that are ignored stay ignored, such as those of a shell's background jobs.
    static func endingWithPrograms<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let watches = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !isIgnored($0) }.map { number in
            let watch = DispatchSource.makeSignalSource(signal: number, queue: .global())
            watch.setEventHandler {
                continuation.yield(number)
                // The work may be in a call that no cancellation ends.
                DispatchQueue.global().asyncAfter(deadline: .now() + 2) { end(by: number) }
            }
            return watch
        }
        defer { for watch in watches { watch.cancel() } }
        for watch in watches {
            await withCheckedContinuation { registered in
                watch.setRegistrationHandler { registered.resume() }
                watch.activate()
            }
        }
        return await withTaskGroup(of: Outcome<Value>.self) { group in
            group.addTask { .value(await work()) }
            group.addTask {
                for await number in signals { return .signal(number) }
                return .cancelled
            }
            var asked: Int32?
            for await outcome in group {
                switch outcome {
                case .value(let value):
                    group.cancelAll()
                    if let asked { end(by: asked) }
                    return value
                case .signal(let number):
                    asked = number
                    group.cancelAll()
                case .cancelled: break
                }
            }
            preconditionFailure("the work has a value")
        }
    }

    private enum Outcome<Value: Sendable>: Sendable { case value(Value), signal(Int32), cancelled }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var present = sigaction()
        sigaction(signal, nil, &present)
        return unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends the program as the signal does by default.
    private static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        sleep(1)  // another thread takes the signal
        _exit(128 + number)
    }
}

/// Ends the program at once on a second signal, while it finishes what is in flight.
///
/// A class, because it watches the process's signals; once it is released, a second signal does nothing.
final class SecondSignal {
    private let watches: [any DispatchSourceSignal]

    init() {
        let asked = Asked()
        watches = [SIGINT, SIGTERM].map { number in
            let watch = DispatchSource.makeSignalSource(signal: number, queue: .global())
            watch.setEventHandler { asked.add(number) }
            watch.activate()
            return watch
        }
    }

    deinit { for watch in watches { watch.cancel() } }

    /// How often the process was asked to stop; shared by the signal handlers.
    private final class Asked: Sendable {
        private let count = Mutex(0)

        func add(_ signal: Int32) {
            let total = count.withLock { count in
                count += 1
                return count
            }
            guard total > 1 else { return }
            Console.note("Second signal: Bellhop stops at once, and checks unfinished work at its next start.")
            _exit(128 + signal)
        }
    }
}
