import BellhopTesting
import Glibc
import Testing

@testable import Simulator

@Suite struct SimulatorServerTests {
    /// Without expectations: NIO would crash the process if a connection were dropped before it is handled.
    @Test(.timeLimit(.minutes(2))) func `a server can stop while connections arrive`() async throws {
        for _ in 0..<50 {
            let clients = try await SimulatorServer(Simulation { 0 }).serve { address in
                let port = Int(address.split(separator: ":").last ?? "") ?? 0
                return (0..<20).compactMap { _ in LoopbackListener.connection(to: port) }
            }
            for client in clients { close(client) }
        }
    }
}
