import NIOCore
import NIOPosix

/// Posts the same bytes repeatedly, with as little work as possible, so that the server is measured. An answer is complete when it
/// ends with `Accepted.` and a line feed.
struct RawClient {
    /// A thread of its own: on the shared ones, the server's thread would also do the work of half of the connections.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let host: String
    private let port: Int
    private let request: ByteBuffer

    init(address: String, body: String) {
        let rest = address.dropFirst("http://".count)
        let place = rest.prefix { $0 != "/" }.split(separator: ":")
        host = String(place[0])
        port = Int(place[1]) ?? 0
        request = ByteBuffer(
            string: "POST \(rest.drop { $0 != "/" }) HTTP/1.1\r\nHost: \(host)\r\nAuthorization: Bearer token\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Sends `count` requests, the next on each connection once the last is answered.
    func post(count: Int, connections: Int) async throws {
        try await withThrowingTaskGroup { group in
            for lane in 0..<connections {
                let share = (count - lane + connections - 1) / connections
                group.addTask {
                    let channel = try await ClientBootstrap(group: Self.group)
                        .channelOption(.socketOption(.tcp_nodelay), value: 1)
                        .connect(host: host, port: port).get()
                    let done = channel.eventLoop.makePromise(of: Void.self)
                    try await channel.eventLoop.submit {
                        try channel.pipeline.syncOperations.addHandler(Loop(request, count: share, done))
                    }.get()
                    do { try await done.futureResult.get() } catch {
                        channel.close(promise: nil)
                        throw error
                    }
                    try await channel.close()
                }
            }
            try await group.waitForAll()
        }
    }

    private final class Loop: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let end = Array("Accepted.\n".utf8)
        private let request: ByteBuffer
        private var left: Int
        private let done: EventLoopPromise<Void>

        init(_ request: ByteBuffer, count: Int, _ done: EventLoopPromise<Void>) {
            self.request = request
            left = count
            self.done = done
        }

        func handlerAdded(context: ChannelHandlerContext) { send(context) }

        private func send(_ context: ChannelHandlerContext) {
            if left == 0 { return done.succeed() }
            left -= 1
            context.writeAndFlush(wrapOutboundOut(request), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = unwrapInboundIn(data)
            if piece.getBytes(at: piece.readerIndex, length: 12).map({ $0.starts(with: "HTTP/1.1 ".utf8) }) == true,
                piece.getString(at: piece.readerIndex + 9, length: 3) != "202"
            {
                return done.fail(BenchError("the server answered \(String(buffer: piece))"))
            }
            if piece.readableBytesView.suffix(Self.end.count).elementsEqual(Self.end) { send(context) }
        }

        func channelInactive(context: ChannelHandlerContext) { done.fail(BenchError("the server ended the connection")) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            done.fail(error)
            context.close(promise: nil)
        }
    }
}
