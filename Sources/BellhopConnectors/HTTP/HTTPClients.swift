import BellhopCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The clients of one connection: two, each with a thread of its own, because one thread is the limit of `webhook.rate`.
///
/// A class with atomic numbers, because it owns open sockets, and attempts begin and end in many tasks.
final class HTTPClients: Sendable {
    private struct Member {
        let loop: any EventLoop
        let executor: BorrowedThread
        let pool: NIOLoopBoundBox<SocketPool>

        init(_ opener: SocketOpener, idle: TimeAmount) {
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            self.loop = loop
            executor = BorrowedThread { loop.execute($0) }
            pool = .makeBoxSendingValue(SocketPool(on: loop, opener, idle: idle), eventLoop: loop)
        }

        /// At once if this is its thread, so that no part of a request changes threads.
        func run(_ work: @escaping @Sendable (SocketPool) -> Void) {
            if loop.inEventLoop { return work(pool.value) }
            loop.execute { work(pool.value) }
        }

        func shutDown() async throws {
            try await loop.flatSubmit { pool.value.shutDown() }.get()
        }
    }

    private let members: [Member]
    private let inProgress = Atomic(0)
    private let attempts = Atomic(0)
    /// The requests in progress from which on the clients take turns. With fewer, the first one reuses few sockets for all of them.
    private static let many = 8

    /// - Parameter idle: how long an unused socket stays open.
    init(_ opener: SocketOpener, idle: TimeAmount = .seconds(60)) {
        members = [Member(opener, idle: idle), Member(opener, idle: idle)]
    }

    deinit { for member in members { member.run { _ = $0.shutDown() } } }

    /// Closes all sockets. Requests in progress fail.
    func shutdown() async throws { for member in members { try await member.shutDown() } }

    /// The thread for the next attempt.
    var executor: any TaskExecutor {
        guard inProgress.load(ordering: .relaxed) >= Self.many else { return members[0].executor }
        return members[attempts.add(1, ordering: .relaxed).newValue % members.count].executor
    }

    /// Sends a request by the client of this thread; on another thread, by the first one. Cancelling the task ends the request.
    /// - Parameter reader: makes the reader of the answer, on the client's thread.
    func answer(
        to request: CallRequest, reader: @escaping @Sendable () -> any AnswerReader
    ) async throws -> HTTPResponse {
        inProgress.add(1, ordering: .relaxed)
        defer { inProgress.subtract(1, ordering: .relaxed) }
        let member = members.first { $0.loop.inEventLoop } ?? members[0]
        let ticket = Ticket(member.loop)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                member.run { pool in
                    let call = Call(request, reader()) { continuation.resume(with: $0) }
                    guard ticket.begin(call) else { return call.end(CancellationError()) }
                    pool.begin(call)
                }
            }
        } onCancel: {
            ticket.cancel()
        }
    }
}

/// Cancels a request, from any thread.
private final class Ticket: Sendable {
    private struct State {
        var call: NIOLoopBound<Call>?
        var isCancelled = false
    }

    private let loop: any EventLoop
    private let state = Mutex(State())

    init(_ loop: any EventLoop) { self.loop = loop }

    /// False if it is cancelled already.
    func begin(_ call: Call) -> Bool {
        let call = NIOLoopBound(call, eventLoop: loop)
        return state.withLock { state in
            state.call = call
            return !state.isCancelled
        }
    }

    func cancel() {
        let call = state.withLock { state in
            state.isCancelled = true
            return state.call
        }
        if let call { loop.execute { call.value.end(CancellationError()) } }
    }
}
