import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopStore

@Suite struct `Concurrent readers` {
    @Test func `the agent's own reads and the status do not wait for long reads by people`() async throws {
        let bench = try SQLiteUnderTest(.onDisk)
        try await bench.store.append([Sample.event(1)])
        let gates = [Gate(), Gate()]
        let long = gates.map { gate in Task { try await bench.sqlite.read(.forPeople) { _ in gate.pass() } } }
        for gate in gates { while !gate.isEntered { await Task.yield() } }
        // If the agent does wait, the test must still end; on a slow machine, not before the reads have had their turn.
        let end = Task {
            try await Task.sleep(for: .seconds(120))
            for gate in gates { gate.open() }
        }
        async let another = bench.sqlite.read(.forPeople) { try $0.status(at: Sample.now).events }
        #expect(try await bench.store.status().events == 1)
        #expect(try await bench.store.unrouted(limit: 9).count == 1)
        #expect(try await bench.store.events(at: [1]).count == 1)
        #expect(!gates.contains { $0.isOpen })
        end.cancel()
        for gate in gates { gate.open() }
        for read in long { try await read.value }
        #expect(try await another == 1)
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoreUnderTest.allCases)
    func `a stop ends long reads for people, and others go on`(_ kind: StoreUnderTest) async throws {
        let bench = try SQLiteUnderTest(kind)
        try await bench.store.append([Sample.event(1)])
        let begun = Gate()
        begun.open()
        let endless = Task {
            try await bench.sqlite.read(.forPeople) { session in
                begun.pass()
                return try session.int(Self.counting(to: .max))
            }
        }
        while !begun.isEntered { await Task.yield() }
        bench.store.endReadsForPeople()
        let error = await #expect(throws: StoreError.self) { try await endless.value }
        #expect(error?.kind == .busy)
        await #expect(throws: StoreError.self) {
            try await bench.sqlite.read(.forPeople) { try $0.int(Self.counting(to: .max)) }
        }
        #expect(try await bench.sqlite.read { try $0.int(Self.counting(to: 100_000)) } == 100_000)
        #expect(try await bench.store.status().events == 1)
    }

    private static func counting(to last: Int64) -> String {
        """
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(last))
        SELECT count(*) FROM number
        """
    }
}
