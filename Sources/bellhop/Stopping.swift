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
