import BellhopCore
import BellhopEngine
import Synchronization

/// Records every signal. A class with a mutex, because all loops emit signals.
final class Recorder: Sendable {
    private let heard = Mutex<[Signal]>([])

    var all: [Signal] { heard.withLock { $0 } }
    var names: [String] { all.map(\.name) }

    func count(_ name: String) -> Int { all.count { $0.name == name } }

    /// The keys that rules lost.
    var losses: [KeyLoss] { heard.withLock { $0.compactMap { if case .keysLost(let loss) = $0 { loss } else { nil } } } }

    /// What the store failed at, and how often.
    var failures: [String] {
        all.compactMap { if case .storeFailed(let doing, _, let times) = $0 { "\(doing): \(times)" } else { nil } }
    }

    var signals: Signals { Signals([{ signal in self.heard.withLock { $0.append(signal) } }]) }
}
