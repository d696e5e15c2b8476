import NIOCore
import NIOPosix

struct RawConnection: Sendable {
    private let channel: any Channel
    private let pieces: AsyncStream<String>

    /// Runs `body` with a new connection, which is closed afterwards.
    static func with<Result: Sendable>(_ port: Int, _ body: (RawConnection) async throws -> Result) async throws -> Result {
        let (pieces, piece) = AsyncStream<String>.makeStream()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Collector(piece)) }
        }.connect(host: "127.0.0.1", port: port).get()
        defer { channel.close(promise: nil) }
        return try await body(RawConnection(channel: channel, pieces: pieces))
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Ends the connection in this direction only.
    func end() async throws { try await channel.close(mode: .output) }

    /// The next bytes that the server sends; nil if it ends the connection first.
    func piece() async -> String? { await pieces.first { _ in true } }

    /// All bytes that the server sends before it ends the connection.
    func readToEnd() async -> String { await pieces.reduce(into: "") { $0 += $1 } }

    /// The first line of the next answer; nil if the server ends the connection first.
    func answer() async -> String? {
        var text = ""
        for await piece in pieces {
            text += piece
            if text.contains(".\n") { break }
        }
        return text.split(separator: "\r\n").first.map(String.init)
    }
}

private final class Collector: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let pieces: AsyncStream<String>.Continuation

    init(_ pieces: AsyncStream<String>.Continuation) { self.pieces = pieces }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { pieces.yield(String(buffer: unwrapInboundIn(data))) }

    func channelInactive(context: ChannelHandlerContext) {
        pieces.finish()
        context.fireChannelInactive()
    }

    // A reset is an end too.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
