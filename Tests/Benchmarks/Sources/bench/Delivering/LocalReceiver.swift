import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A webhook receiver on this machine, which by default answers 200. It records when the first byte of a request arrived.
///
/// A class with a mutex, because its connections run on another thread.
final class LocalReceiver: Sendable {
    private struct State {
        var firstByte: ContinuousClock.Instant?
        var requests = 0
    }

    /// How it answers.
    enum Behaviour: Sendable {
        case ok
        /// It answers 202, as the agent's own server does.
        case accepted
        /// It never answers.
        case silent
        /// It answers 429 with `Retry-After: 5`.
        case busy
    }

    private let behaviour: Behaviour
    private let state = Mutex(State())
    private let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener = Mutex<(any Channel)?>(nil)

    init(_ behaviour: Behaviour = .ok) { self.behaviour = behaviour }

    /// Listens on a free port and returns the address to post to.
    func start() async throws -> String {
        let channel = try await ServerBootstrap(group: threads)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Arrival { self.bytesCame() })
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(Answer(behaviour) { self.requestCame() })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        listener.withLock { $0 = channel }
        guard let port = channel.localAddress?.port else { throw BenchError("the receiver has no port") }
        return "http://127.0.0.1:\(port)/hook"
    }

    func stop() async throws {
        try await listener.withLock { $0 }?.close().get()
        try await threads.shutdownGracefully()
    }

    /// The number of answered requests.
    var requests: Int { state.withLock { $0.requests } }

    /// When the first byte arrived since the last call; nil if none arrived.
    func takeFirstByte() -> ContinuousClock.Instant? {
        state.withLock { state in
            defer { state.firstByte = nil }
            return state.firstByte
        }
    }

    private func bytesCame() {
        let now = ContinuousClock.now
        state.withLock { if $0.firstByte == nil { $0.firstByte = now } }
    }

    private func requestCame() { state.withLock { $0.requests += 1 } }
}

/// Records when bytes arrive, before they are read.
private final class Arrival: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    private let note: @Sendable () -> Void

    init(_ note: @escaping @Sendable () -> Void) { self.note = note }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        note()
        context.fireChannelRead(data)
    }
}

/// Answers each request once it is complete.
private final class Answer: ChannelInboundHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let behaviour: LocalReceiver.Behaviour
    private let note: @Sendable () -> Void

    init(_ behaviour: LocalReceiver.Behaviour, _ note: @escaping @Sendable () -> Void) {
        (self.behaviour, self.note) = (behaviour, note)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        note()
        let text = behaviour == .accepted ? "Accepted.\n" : "ok"
        var head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "\(text.utf8.count)"])
        switch behaviour {
        case .ok: break
        case .accepted: head.status = .accepted
        case .silent: return
        case .busy:
            head.status = .tooManyRequests
            head.headers.add(name: "Retry-After", value: "5")
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
