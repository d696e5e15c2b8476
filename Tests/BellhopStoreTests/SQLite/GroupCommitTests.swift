import BellhopCore
import BellhopTesting
import CSQLite
import Dispatch
import Testing

@testable import BellhopStore

@Suite struct `Concurrent writers` {
    @Test(arguments: StoreUnderTest.allCases)
    func `writers that wait together share one commit`(_ kind: StoreUnderTest) async throws {
        let (bench, gate, first) = try await SQLiteUnderTest.blocked(kind)
        let before = bench.sqlite.writing.commits
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 { group.addTask { try await bench.store.append([Sample.event(number)]) } }
            await bench.waitForWriters(50)
            gate.open()
            return try await group.reduce(0, +)
        }
        #expect(count == 50)
        try await first.value
        #expect(bench.sqlite.writing.commits - before == 2)  // the one at the gate, and the fifty
        #expect(try await bench.store.status().events == 50)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a failing write does not fail the writes in the same transaction`(_ kind: StoreUnderTest) async throws {
        let (bench, gate, first) = try await SQLiteUnderTest.blocked(kind)
        let before = bench.sqlite.writing.commits
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
        try await first.value
        #expect(bench.sqlite.writing.commits - before == 2)
        #expect(try await bench.store.events(EventQuery()).map(\.event) == [Sample.event(1)])
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a write whose caller is cancelled is completed, and so are other writes`(_ kind: StoreUnderTest) async throws {
        let (bench, gate, first) = try await SQLiteUnderTest.blocked(kind)
        let cancelled = Task { try await bench.store.append([Sample.event(1)]) }
        let neighbour = Task { try await bench.store.append([Sample.event(2)]) }
        await bench.waitForWriters(2)
        cancelled.cancel()
        gate.open()
        #expect(try await cancelled.value == 1)
        #expect(try await neighbour.value == 1)
        try await first.value
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (try await bench.store.append([Sample.event(3)]), try await bench.store.status().events)
        }
        #expect(try await early.value == (1, 3))
    }

    /// Each by itself would wait for that program as long as their transaction has waited.
    @Test func `writers that wait together are refused together while another program holds the file`() async throws {
        let (bench, gate, first) = try await SQLiteUnderTest.blocked(.inMemory)
        bench.fail(statement: 2, with: SQLITE_BUSY)  // the first is the COMMIT of the blocking write
        let refused = await withTaskGroup(of: Bool.self) { group in
            for number in 1...4 {
                group.addTask {
                    do throws(StoreError) {
                        try await bench.store.append([Sample.event(number)])
                        return false
                    } catch { return error.kind == .busy }
                }
            }
            await bench.waitForWriters(4)
            gate.open()
            return await group.reduce(true) { $0 && $1 }
        }
        bench.stopFailing()
        try await first.value
        #expect(refused)
        #expect(try await bench.store.append([Sample.event(1)]) == 1)
    }

    /// Several writers in one transaction whose statements fail in turn: each write is stored and confirmed, or not stored.
    @Test(arguments: StoreUnderTest.allCases)
    func `each writer of a failing shared transaction gets its own result`(_ kind: StoreUnderTest) async throws {
        for count in 1...40 {
            let (bench, gate, first) = try await SQLiteUnderTest.blocked(kind)
            bench.fail(statement: count + 1, includingReads: false)  // the first is the COMMIT of the blocking write
            let kept = await withTaskGroup(of: (Int, Bool).self) { group in
                for number in 1...4 {
                    group.addTask {
                        do {
                            return (number, try await bench.store.append([Sample.event(number), Sample.event(number + 10)]) == 2)
                        } catch { return (number, false) }
                    }
                }
                await bench.waitForWriters(4)
                gate.open()
                return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
            }
            bench.stopFailing()
            try await first.value
            let stored = Set(try await bench.store.events(EventQuery()).map(\.event.id))
            for number in 1...4 {
                let expected = kept[number] == true
                #expect(stored.contains(Sample.event(number).id) == expected)
                #expect(stored.contains(Sample.event(number + 10).id) == expected)
            }
        }
    }

    @Test func `the page cache of a burst is released when writes stop`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("burst.db")
        let connections = Connections(try Database(path: path, .writing), path: path, hasReaders: true)
        let writing = GroupCommit(connections, log: nil, faults: nil, idleTime: .milliseconds(50))
        let burst = await writing.write { session in
            try session.database.execute(
                """
                PRAGMA cache_size = -32768;
                CREATE TABLE row (data BLOB);
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 4000)
                INSERT INTO row SELECT randomblob(3000) FROM number
                """)
            return session.database.cachedBytes
        }
        #expect(try burst.get() > 8 << 20)
        var bytes = Int.max
        for _ in 0..<200 where bytes > 1 << 20 {
            try await Task.sleep(for: .milliseconds(20))
            bytes = await withCheckedContinuation { continuation in
                connections.write { continuation.resume(returning: (try? $0.get().cachedBytes) ?? 0) }
            }
        }
        #expect(bytes < 1 << 20)
        connections.close()
    }
}
