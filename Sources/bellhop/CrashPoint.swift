import BellhopEngine
import Glibc
import Synchronization

/// Kills this process at a checkpoint, in debug builds only: with `BELLHOP_CRASH=after-t2:3` it ends, as by `kill -9`, the third time
/// that it reaches this checkpoint. Tests use it to show that nothing is lost or done twice.
final class CrashPoint: Sendable {
    // A class over an atomic, because several tasks pass checkpoints.
    private let point: Checkpoint?
    private let remaining: Atomic<Int>

    init(environment: [String: String]) {
        #if DEBUG
            let words = (environment["BELLHOP_CRASH"] ?? "").split(separator: ":")
            point = words.first.flatMap { Checkpoint(rawValue: String($0)) }
            remaining = Atomic(words.dropFirst().first.flatMap { Int($0) } ?? 1)
        #else
            point = nil
            remaining = Atomic(0)
        #endif
    }

    func callAsFunction(_ checkpoint: Checkpoint) {
        guard checkpoint == point, remaining.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        kill(getpid(), SIGKILL)
    }
}
