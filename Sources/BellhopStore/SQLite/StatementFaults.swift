import CSQLite
import Synchronization

/// Makes the n-th statement from now fail, once. Only tests use it.
///
/// A class over a lock, because a test sets the fault while the connection's queue counts statements.
final class StatementFaults: Sendable {
    private struct State {
        var remaining: Int?
        var ran = 0
        var code = SQLITE_IOERR
        var includingReads = false
    }

    private let state = Mutex(State())

    /// Lets `count - 1` statements pass and fails the next one.
    ///
    /// - Parameter includingReads: whether statements of readers count too.
    func fail(statement count: Int, with code: Int32 = SQLITE_IOERR, includingReads: Bool = false) {
        state.withLock { $0 = State(remaining: count, code: code, includingReads: includingReads) }
    }

    var countsReads: Bool { state.withLock { $0.includingReads } }

    /// Stops failing; returns how many statements ran since `fail`, and whether the failure happened.
    @discardableResult
    func stop() -> (ran: Int, failed: Bool) {
        state.withLock { state in
            defer { state = State() }
            return (state.ran, state.remaining == 0)
        }
    }

    func beforeStatement() throws {
        try state.withLock { state in
            state.ran += 1
            guard let remaining = state.remaining, remaining > 0 else { return }
            state.remaining = remaining - 1
            if remaining == 1 { throw SQLiteError(code: state.code, message: "a test made it fail") }
        }
    }
}
