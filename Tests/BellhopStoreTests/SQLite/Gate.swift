import BellhopCore
import Glibc
import Synchronization
import Testing

@testable import BellhopStore

/// Keeps a connection busy until it is opened. A class with a lock, because the connection's queue waits on it.
final class Gate: Sendable {
    private let state = Mutex((entered: false, open: false))

    var isEntered: Bool { state.withLock { $0.entered } }
    var isOpen: Bool { state.withLock { $0.open } }
    func open() { state.withLock { $0.open = true } }

    func pass() {
        state.withLock { $0.entered = true }
        while !state.withLock({ $0.open }) { sched_yield() }
    }
}

extension SQLiteUnderTest {
    /// A store whose writing connection is busy until the gate opens, and the write that waits there.
    static func blocked(_ kind: StoreUnderTest) async throws -> (bench: SQLiteUnderTest, gate: Gate, first: Task<Void, any Error>)
    {
        let (bench, gate) = (try SQLiteUnderTest(kind), Gate())
        let first = Task { try await bench.sqlite.write { _ in gate.pass() } }
        while !gate.isEntered { await Task.yield() }
        return (bench, gate, first)
    }

    /// Returns once this many callers wait for the transaction after this one.
    func waitForWriters(_ count: Int) async { while sqlite.writing.waiting < count { await Task.yield() } }
}
