import Dispatch
import Glibc
import Synchronization
import UnixSignals

/// Runs something until it ends or a signal asks to.
enum Stopping {
    /// Lets work that ends by itself go on for a while after a signal, so that what is in flight is finished.
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

/// Ends the program at once when it is asked to stop a second time, while it finishes what is in flight.
///
/// A class, because the signals it watches are the process's own; let go of it, and a second signal does nothing more.
final class Haste {
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

    /// How often the process was asked to stop; the signals' handlers share it.
    private final class Asked: Sendable {
        private let count = Mutex(0)

        func add(_ signal: Int32) {
            let total = count.withLock { count in
                count += 1
                return count
            }
            guard total > 1 else { return }
            Console.note("Asked twice, it ends at once; unfinished work is checked at the next start.")
            _exit(128 + signal)
        }
    }
}
