import BellhopCore
import Synchronization

/// Gates that connections share which lead to the same place: each thing that is done there one at a time has a name, and a gate.
///
/// A class over a lock, because connections know nothing of each other.
final class SharedGates: Sendable {
    private let gates = Mutex<[String: FIFOGate]>([:])

    func gate(_ name: String) -> FIFOGate {
        gates.withLock { gates in
            let gate = gates[name] ?? FIFOGate()
            gates[name] = gate
            return gate
        }
    }
}
