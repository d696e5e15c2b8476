import NIOCore
import NIOPosix

/// A server on this machine that answers each request with a wrong answer.
struct OddServer {
    enum Answer: String, Sendable, CaseIterable {
        /// It disconnects without an answer.
        case nothing
        /// It promises 1,000 bytes, sends ten and disconnects.
        case half
        /// 100 MB of a JSON text.
        case huge
        /// A page that asks for a login, with status 200.
        case loginPage
        /// Another protocol answers.
        case noHTTP
        /// A status without a body.
        case serverError
        /// The same before it has read the whole request; then it disconnects.
        case early
    }

    static func serve<Value: Sendable>(_ answer: Answer, _ body: (String) async throws -> Value) async throws -> Value {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler(answer)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { channel.close(promise: nil) }
        return try await body("http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: Answer
        private var hasAnswered = false
        /// The megabytes that are still to be sent.
        private var left = 100

        init(_ answer: Answer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasAnswered else { return }
            hasAnswered = true
            switch answer {
            case .nothing: context.close(promise: nil)
            case .half: say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"ok\":true", context, closing: true)
            case .huge:
                say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n", context)
                sendMore(context)
            case .loginPage:
                let page = "<!DOCTYPE html><html><title>Log in</title><form action=/login></form></html>"
                say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)", context)
            case .noHTTP: say("SSH-2.0-OpenSSH_10.0\r\n", context, closing: true)
            case .early: say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", context, closing: true)
            case .serverError: say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", context)
            }
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            sendMore(context)
            context.fireChannelWritabilityChanged()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func sendMore(_ context: ChannelHandlerContext) {
            while answer == .huge, hasAnswered, left > 0, context.channel.isWritable {
                left -= 1
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 20)), promise: nil)
            }
        }

        private func say(_ text: String, _ context: ChannelHandlerContext, closing: Bool = false) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            if closing { context.close(promise: nil) }
        }
    }
}
