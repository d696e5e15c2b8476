import BellhopTesting
import NIOCore
import NIOPosix

/// A proxy on this machine that opens tunnels (RFC 9110, section 9.3.6) and records the requests.
struct ConnectProxy: Sendable {
    let port: Int
    /// The complete heads of the requests for tunnels.
    let heads: Recording<String>

    /// - Parameter credentials: required for a tunnel, as `name:password` in Base 64; nil to open one for every client.
    /// - Parameter answer: sent in place of opening a tunnel, such as `403 Forbidden`.
    static func serve(credentials: String? = nil, answer: String? = nil) async throws -> ConnectProxy {
        let heads = Recording<String>()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ProxyHandler(heads: heads, credentials: credentials, answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        whenTestEnds { channel.close(promise: nil) }
        return ConnectProxy(port: channel.localAddress?.port ?? 0, heads: heads)
    }

    /// Reads the request for a tunnel, opens it, and then forwards everything.
    private final class ProxyHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let heads: Recording<String>
        private let credentials: String?
        private let answer: String?
        private var head = ""
        private var beyond: (any Channel)?

        init(heads: Recording<String>, credentials: String?, answer: String?) {
            (self.heads, self.credentials, self.answer) = (heads, credentials, answer)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if let beyond { return beyond.writeAndFlush(bytes, promise: nil) }
            head += String(buffer: bytes)
            guard head.hasSuffix("\r\n\r\n") else { return }
            heads.add(head)
            let words = head.split(separator: " ", maxSplits: 2)
            let place = words.count > 1 ? words[1].split(separator: ":") : []
            if let answer { return refuse(answer, context) }
            if let credentials, !head.lowercased().contains("proxy-authorization: basic \(credentials.lowercased())") {
                return refuse("407 Proxy Authentication Required", context)
            }
            guard words.first == "CONNECT", place.count == 2, let port = Int(place[1]) else {
                return refuse("405 Method Not Allowed", context)
            }
            let near = context.channel
            ClientBootstrap(group: context.eventLoop).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Relay(to: near)) }
            }.connect(host: String(place[0]), port: port).assumeIsolated().whenComplete { result in
                guard case .success(let far) = result else { return near.close(promise: nil) }
                self.beyond = far
                near.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { beyond?.close(promise: nil) }

        private func refuse(_ status: String, _ context: ChannelHandlerContext) {
            let bytes = ByteBuffer(string: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Forwards the bytes that the target sends.
    private final class Relay: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let near: any Channel

        init(to near: any Channel) { self.near = near }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { near.writeAndFlush(unwrapInboundIn(data), promise: nil) }
        func channelInactive(context: ChannelHandlerContext) { near.close(promise: nil) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
