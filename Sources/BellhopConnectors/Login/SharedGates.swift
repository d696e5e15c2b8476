import BellhopCore
import Synchronization

/// Gates by name, each made when it is first used. Connections to the same place share them.
///
/// A class with a lock, because independent connections use it.
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
