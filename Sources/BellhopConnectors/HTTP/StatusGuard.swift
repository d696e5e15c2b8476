import NIOCore
import NIOHTTP1

/// Closes a connection whose server answers with a status below 100, which is not valid HTTP.
///
/// AsyncHTTPClient 1.37.0 treats such a status as informational, then receives the end of an answer that never began, and crashes
/// (HTTPRequestStateMachine.receivedHTTPResponseEnd).
final class StatusGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// The status is not one of HTTP's.
    struct NoStatus: Error {}

    private var isEnded = false

    /// Adds the guard to a client's connection, right behind the HTTP decoder.
    static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try pipeline.addHandler(StatusGuard(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isEnded { return }
        if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
            isEnded = true
            context.fireErrorCaught(NoStatus())
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }
}
