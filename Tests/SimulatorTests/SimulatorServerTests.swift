import Glibc
import Testing

@testable import Simulator

@Suite struct SimulatorServerTests {
    /// Connects to a port of this machine, and sends nothing.
    private static func connect(to port: Int) -> Int32 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = in_port_t(UInt16(port)).bigEndian
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        withUnsafePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                _ = Glibc.connect(client, place, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return client
    }

    /// Without expectations: NIO would crash the process if a connection were dropped before it is handled.
    @Test(.timeLimit(.minutes(2))) func `a server can stop while connections arrive`() async throws {
        for _ in 0..<50 {
            let clients = try await SimulatorServer(Simulation { 0 }).serve { address in
                let port = Int(address.split(separator: ":").last ?? "") ?? 0
                return (0..<20).map { _ in Self.connect(to: port) }
            }
            for client in clients { close(client) }
        }
    }
}
