import BellhopTesting
import NIOCore
import NIOPosix

/// A server on this machine that answers each request in a wrong way.
struct FaultyServer {
    enum Answer: String, Sendable, CaseIterable {
        /// Disconnects without an answer.
        case nothing
        /// Announces 1,000 bytes, sends ten and disconnects.
        case half
        /// 404, and disconnects in the middle of the body.
        case halfRefusal
        /// 100 MB of a JSON text.
        case huge
        /// 503 with `Retry-After`, and 100 MB of a page.
        case hugeError
        /// A page that asks for a login, with status 200.
        case loginPage
        /// The greeting of another protocol.
        case noHTTP
        /// 500 without a body.
        case serverError
        /// A status below 100, which HTTP does not have.
        case noStatus
        /// Header fields without end.
        case endlessFields
        /// Two `Content-Length` fields for one body.
        case twoLengths
        /// A chunk whose length is not a number.
        case wrongChunks
        /// A body that is announced as gzip and is not.
        case damaged
        /// A valid head, then one byte every 20 ms.
        case drip
        /// The bytes given to `serve`.
        case given
        /// 500 before the whole request is read; then disconnects.
        case early
    }

    /// - Parameter bytes: the answer with its head, for `given`.
    static func serve<Value: Sendable>(
        _ answer: Answer, bytes: [UInt8] = [], _ body: (String) async throws -> Value
    ) async throws -> Value {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler(answer, bytes)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { channel.close(promise: nil) }
        return try await body("http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
    }

    /// Serves until the test ends, and returns the address.
    static func serve(_ answer: Answer, bytes: [UInt8] = []) async throws -> String {
        try await untilTestEnds { try await serve(answer, bytes: bytes, $0) }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: Answer
        private let bytes: [UInt8]
        private var hasAnswered = false
        /// The megabytes that are still to be sent.
        private var left = 100

        init(_ answer: Answer, _ bytes: [UInt8]) { (self.answer, self.bytes) = (answer, bytes) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasAnswered else { return }
            hasAnswered = true
            switch answer {
            case .nothing: context.close(promise: nil)
            case .half: say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"ok\":true", context, closing: true)
            case .halfRefusal: say("HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n{\"ok\":true", context, closing: true)
            case .huge:
                say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n", context)
                sendMore(context)
            case .hugeError:
                say("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 104857600\r\n\r\n", context)
                sendMore(context)
            case .loginPage:
                let page = "<!DOCTYPE html><html><title>Log in</title><form action=/login></form></html>"
                say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)", context)
            case .noHTTP: say("SSH-2.0-OpenSSH_10.0\r\n", context, closing: true)
            case .given: context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .noStatus: say("HTTP/1.1 000 Nothing\r\nContent-Length: 2\r\n\r\nok", context)
            case .endlessFields:
                say("HTTP/1.1 200 OK\r\n", context)
                sendMore(context)
            case .twoLengths: say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", context)
            case .wrongChunks: say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nok\r\n0\r\n\r\n", context)
            case .damaged: say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nwhat", context)
            case .drip:
                say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", context)
                drip(context)
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
            let piece =
                switch answer {
                case .huge, .hugeError: ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 20)
                case .endlessFields: ByteBuffer(string: String(repeating: "X-More: and more\r\n", count: 1 << 16))
                default: ByteBuffer()
                }
            while piece.readableBytes > 0, hasAnswered, left > 0, context.channel.isWritable {
                left -= 1
                context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
            }
        }

        private func drip(_ context: ChannelHandlerContext) {
            guard context.channel.isActive else { return }
            say(" ", context)
            let own = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .milliseconds(20)) { own.value.0.drip(own.value.1) }
        }

        private func say(_ text: String, _ context: ChannelHandlerContext, closing: Bool = false) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            if closing { context.close(promise: nil) }
        }
    }
}
