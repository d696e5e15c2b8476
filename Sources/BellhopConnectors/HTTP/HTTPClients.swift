import AsyncHTTPClient
import BellhopCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The clients of one connection: two, each with a thread of its own, because one thread is the limit of `webhook.rate`.
///
/// With several threads for one client, AsyncHTTPClient 1.37.0 crashes if an answer arrives before its request is completely sent and
/// the server then closes the connection (HTTP1Connections.releaseConnection).
///
/// A class with atomic numbers, because it owns open sockets, and attempts begin and end in many tasks.
final class HTTPClients: Sendable {
    private struct Member {
        let client: HTTPClient
        let loop: any EventLoop
        let executor: BorrowedThread

        init(_ settings: HTTPClient.Configuration) {
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            self.loop = loop
            client = HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: settings)
            executor = BorrowedThread { loop.execute($0) }
        }
    }

    private let members: [Member]
    private let inProgress = Atomic(0)
    private let attempts = Atomic(0)
    /// The requests in progress from which on the clients take turns. With fewer, the first one reuses few sockets for all of them.
    private static let many = 8

    init(_ settings: HTTPClient.Configuration) { members = [Member(settings), Member(settings)] }

    deinit { for member in members { member.client.shutdown { _ in } } }  // the library requires it; no effect after `shutdown()`

    /// Closes all sockets. Requests in progress fail.
    func shutdown() async throws { for member in members { try await member.client.shutdown() } }

    /// The thread for the next attempt.
    var executor: any TaskExecutor {
        guard inProgress.load(ordering: .relaxed) >= Self.many else { return members[0].executor }
        return members[attempts.add(1, ordering: .relaxed).newValue % members.count].executor
    }

    /// The client of this thread; on another thread, the first one.
    var current: HTTPClient { (members.first { $0.loop.inEventLoop } ?? members[0]).client }

    /// Sends a request by the client of this thread.
    func answer(
        to request: HTTPClient.Request, in collector: AnswerCollector, deadline: NIODeadline
    ) async throws -> HTTPResponse {
        inProgress.add(1, ordering: .relaxed)
        defer { inProgress.subtract(1, ordering: .relaxed) }
        return try await collector.answer(to: request, by: current, deadline: deadline)
    }
}

/// Sends the head of a request together with what follows it, in one write instead of two.
final class FlushAfterHead: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The client writes a body or the end at once, and flushes it: a head (``HTTPConnection/largestHead``) is too small to make the
    /// channel refuse more.
    private var endsWithHead = false

    /// Adds it to a client's connection, between the client and the HTTP encoder.
    static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
        try pipeline.addHandler(FlushAfterHead(), position: .after(encoder))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = unwrapOutboundIn(data) { endsWithHead = true } else { endsWithHead = false }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        if !endsWithHead { context.flush() }
    }
}
