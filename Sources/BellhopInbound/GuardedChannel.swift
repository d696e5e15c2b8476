package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1

/// Hummingbird's channel for HTTP/1, with a ``VersionHandler`` and a ``SlowSenderHandler`` behind the decoder.
package struct GuardedChannel: ServerChildChannel {
    private let http: HTTP1Channel
    private let timeouts: InboundServer.Timeouts
    private let connections: InboundConnections

    package init(_ http: HTTP1Channel, _ timeouts: InboundServer.Timeouts, _ connections: InboundConnections) {
        (self.http, self.timeouts, self.connections) = (http, timeouts, connections)
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { [timeouts, connections] value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandlers(
                [VersionHandler(), SlowSenderHandler(timeouts, connections)], position: .after(decoder))
            return value
        }
    }

    package func handle(value: HTTP1Channel.Value, logger: Logger) async { await http.handle(value: value, logger: logger) }
}

/// Makes a request of HTTP/1.0 mean what it means there: it knows no 100 Continue and must get none (RFC 9110, 10.1.1), and its
/// connection ends with the answer unless it asks to keep it (RFC 9112, 9.3). The connection of a request that asks for another
/// protocol ends with the answer too.
///
/// A channel handler, because the requests that the server is given no longer have a version.
final class VersionHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), head.version == .http1_0 || head.asksForProtocol else {
            return context.fireChannelRead(data)
        }
        if head.version == .http1_0 { head.headers.remove(name: "Expect") }
        if !head.isKeepAlive || head.asksForProtocol { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}

extension HTTPRequestHead {
    /// Whether it asks for another protocol, as Java's client asks for HTTP/2. NIO's decoder reads no request after it, and keeps all
    /// further bytes in memory.
    var asksForProtocol: Bool { method == .CONNECT || headers.contains(name: "Upgrade") }
}
