import BellhopCore
import Testing

@testable import BellhopStore

@Suite struct `Concurrent writers` {
    @Test(arguments: StoreUnderTest.allCases)
    func `writers that wait together share one commit`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        let gate = Gate()
        async let first: Void = bench.block(with: gate)
        try await bench.waitUntilBlocked(gate)
        let before = bench.store.writing.commits
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 { group.addTask { try await bench.store.append([Sample.event(number)]) } }
            await bench.waitForWriters(50)
            gate.open()
            return try await group.reduce(0, +)
        }
        #expect(count == 50)
        try await first
        #expect(bench.store.writing.commits - before == 2)  // the one at the gate, and the fifty
        #expect(try await bench.store.status().events == 50)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a failing write fails alone`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        let gate = Gate()
        async let first: Void = bench.block(with: gate)
        try await bench.waitUntilBlocked(gate)
        let before = bench.store.writing.commits
        async let good = bench.store.append([Sample.event(1)])
        let bad = Task {
            try await bench.store.setHealth(SourceHealth(), of: Scope.ID(text: "?"), events: [Sample.event(2)], rest: nil)
        }
        async let late: Void = bench.store.setNote("a", to: 1)
        await bench.waitForWriters(3)
        gate.open()
        #expect(try await good == 1)
        await #expect(throws: StoreError.self) { try await bad.value }
        try await late
        try await first
        #expect(bench.store.writing.commits - before == 2)
        #expect(try await bench.store.events(EventQuery()).map(\.event) == [Sample.event(1)])
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a write goes on if its writer is cancelled, and so do its neighbours`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        let gate = Gate()
        async let first: Void = bench.block(with: gate)
        try await bench.waitUntilBlocked(gate)
        let cancelled = Task { try await bench.store.append([Sample.event(1)]) }
        let neighbour = Task { try await bench.store.append([Sample.event(2)]) }
        await bench.waitForWriters(2)
        cancelled.cancel()
        gate.open()
        #expect(try await cancelled.value == 1)
        #expect(try await neighbour.value == 1)
        try await first
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (try await bench.store.append([Sample.event(3)]), try await bench.store.status().events)
        }
        #expect(try await early.value == (1, 3))
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a thousand concurrent writers and readers lose nothing`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...1000 {
                group.addTask {
                    try await bench.store.append([Sample.event(number)])
                    _ = try await bench.store.unrouted(limit: 3)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await bench.store.unrouted(limit: 2000).count == 1000)
    }
}
