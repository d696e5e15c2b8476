import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct HTTPClientsTests {
    @Test func `many requests at once use two threads, and few use one`() async throws {
        let simulation = Simulation { 0 }
        let many = 8
        simulation.faults.add(.slow(milliseconds: 60_000), times: nil)
        let address = try HTTPAddress(try await simulation.serve())
        let connection = try HTTPConnection(.init(name: "test"), clock: TestClock())
        func threads() -> Int {
            Set((0..<6).compactMap { _ in connection.executor.map { ObjectIdentifier($0) } }).count
        }
        #expect(threads() == 1)
        try await withThrowingTaskGroup { group in
            for _ in 0..<many { group.addTask { _ = try await connection.send(HTTPRequest(address)) } }
            for _ in 0..<3_000 where simulation.requests.total < many { try await Task.sleep(for: .milliseconds(10)) }
            #expect(threads() == 2)
            group.cancelAll()
            while let result = await group.nextResult() { #expect(throws: TransportError.self) { try result.get() } }
        }
        #expect(threads() == 1)
        try await connection.shutdown()
    }
}
