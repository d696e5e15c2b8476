import BellhopCore
import Synchronization

/// Gates shared by connections to the same place: each thing done there one at a time has a name and a gate.
///
/// A class with a lock, because connections do not know each other.
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
