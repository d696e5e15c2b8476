import BellhopCore
import BellhopFiles
import NIOCore
import NIOHTTP1
import NIOPosix

/// Listens on this machine for one browser redirect and answers it with a page.
public enum RedirectListener {
    /// The meaning of one request.
    public enum Redirect: Sendable {
        case code(String)
        /// The request belongs to another login; the listener keeps waiting.
        case foreign
        case refused(String)
    }

    public enum Outcome: Sendable {
        case code(String)
        case refused(String)
        case timedOut
        /// With the reason, such as `Address already in use`.
        case cannotListen(String)
    }

    /// - Parameters:
    ///   - host: a loopback address, or a name of this machine such as `localhost`.
    ///   - path: the path of the redirect; every other path gets 404.
    ///   - interpret: returns the meaning of a request, from its target.
    ///   - ready: called once the listener accepts connections.
    public static func wait(
        host: String, port: Int, path: String, atMost timeout: Duration,
        interpret: @escaping @Sendable (String) -> Redirect, ready: () -> Void
    ) async -> Outcome {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Outcome.self)
        let group = MultiThreadedEventLoopGroup.singleton
        let channel: any Channel
        do {
            channel = try await ServerBootstrap(group: group)
                .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                        try channel.pipeline.syncOperations.addHandler(
                            RedirectHandler(path: path, interpret: interpret, outcomes: continuation))
                    }
                }
                .bind(host: host.hasSuffix("localhost") ? "127.0.0.1" : host, port: port).get()
        } catch {
            return .cannotListen((error as? IOError).map { SystemError($0.errnoCode).text } ?? "\(error)")
        }
        let expiry = group.any().scheduleTask(in: .nanoseconds(timeout.wholeNanoseconds)) {
            _ = continuation.yield(.timedOut)
        }
        ready()
        var outcome = Outcome.timedOut
        for await first in outcomes {
            outcome = first
            break
        }
        expiry.cancel()
        try? await channel.close()
        return outcome
    }

    /// Answers one request.
    private final class RedirectHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let path: String
        private let interpret: @Sendable (String) -> Redirect
        private let outcomes: AsyncStream<Outcome>.Continuation
        private var head: HTTPRequestHead?

        init(path: String, interpret: @escaping @Sendable (String) -> Redirect, outcomes: AsyncStream<Outcome>.Continuation) {
            (self.path, self.interpret, self.outcomes) = (path, interpret, outcomes)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body: return
            case .end:
                guard let head, head.method == .GET, head.uri.prefix(while: { $0 != "?" }) == path else {
                    return answer(context, .notFound, "Not found.", then: nil)
                }
                switch interpret(head.uri) {
                case .code(let code):
                    answer(context, .ok, "Thank you. Return to the terminal; you can close this page.", then: .code(code))
                case .foreign:
                    answer(context, .badRequest, "This belongs to a different login than the one in progress.", then: nil)
                case .refused(let why): answer(context, .ok, "The login was refused. The terminal says why.", then: .refused(why))
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        /// Reports the outcome only after the page is sent, because the program may then exit.
        private func answer(
            _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String, then outcome: Outcome?
        ) {
            let page = "<!DOCTYPE html><html><head><title>Bellhop</title></head><body><p>\(text)</p></body></html>\n"
            let headers: HTTPHeaders = [
                "Content-Type": "text/html; charset=utf-8", "Content-Length": String(page.utf8.count), "Connection": "close",
                "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
            ]
            context.write(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: page)))), promise: nil)
            let outcomes = outcomes
            let sent = context.eventLoop.makePromise(of: Void.self)
            sent.futureResult.whenComplete { _ in if let outcome { outcomes.yield(outcome) } }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        }
    }
}
