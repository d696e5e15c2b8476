import BellhopTesting
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on this machine whose answers are written byte by byte. It takes each read for one request.
///
/// A class with a mutex, because its connections run on other threads.
final class SocketServer: Sendable {
    struct Request: Sendable, Hashable {
        /// The number of the connection, from 1.
        var connection: Int
        var text: String
    }

    private let state = Mutex((connections: 0, requests: [Request]()))
    private let answer: @Sendable (Request, _ send: @escaping @Sendable (String) -> Void) -> Void

    private init(_ answer: @escaping @Sendable (Request, _ send: @escaping @Sendable (String) -> Void) -> Void) {
        self.answer = answer
    }

    var connections: Int { state.withLock { $0.connections } }
    var requests: [Request] { state.withLock { $0.requests } }

    /// Serves until the test ends.
    /// - Parameters:
    ///   - tls: the certificate is for `localhost`; nil to serve without TLS.
    ///   - answer: sends the bytes of an answer, now or later. Empty bytes close the connection, without TLS's announcement.
    static func serve(
        over tls: NIOSSLContext? = nil,
        _ answer: @escaping @Sendable (Request, _ send: @escaping @Sendable (String) -> Void) -> Void
    ) async throws -> (SocketServer, address: String) {
        let server = SocketServer(answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = server.state.withLock { state in
                        state.connections += 1
                        return state.connections
                    }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(Edge(), name: Edge.name)
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(Handler(server, number))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        whenTestEnds { channel.close(promise: nil) }
        return (server, (tls == nil ? "http://127.0.0.1" : "https://localhost") + ":\(channel.localAddress?.port ?? 0)")
    }

    /// Serves until the test ends, and answers each request with 200 and this body.
    static func serve(saying body: @escaping @Sendable (Request) -> String) async throws -> (SocketServer, address: String) {
        try await serve { request, send in send(ok(body(request))) }
    }

    /// An answer with status 200.
    static func ok(_ body: String, fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// The first handler. What it closes, TLS does not announce.
    private final class Edge: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        static let name = "edge"
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let server: SocketServer
        private let number: Int

        init(_ server: SocketServer, _ number: Int) { (self.server, self.number) = (server, number) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let request = Request(connection: number, text: String(buffer: unwrapInboundIn(data)))
            server.state.withLock { $0.requests.append(request) }
            let channel = context.channel
            server.answer(request) { text in
                if text.isEmpty {
                    channel.eventLoop.execute {
                        try? channel.pipeline.syncOperations.context(name: Edge.name).close(promise: nil)
                    }
                } else {
                    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
