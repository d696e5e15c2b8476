import NIOCore
import NIOHTTP1

/// Ends a connection whose server answers with a status below 100, which is no HTTP.
///
/// The client takes such a status for an informational one, meets the end of the answer without its beginning, and ends the process
/// (AsyncHTTPClient 1.37.0, HTTPRequestStateMachine.receivedHTTPResponseEnd).
final class StatusGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// The answer has a status that HTTP does not have.
    struct NoStatus: Error {}

    private var isEnded = false

    /// Adds it to a connection of the client, right behind the handler that reads HTTP.
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
