import BellhopCore
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The channel of one connection: its requests are read and answered by an ``InboundExchange``.
struct InboundChannel: ServerChildChannel {
    struct Connection: ServerChildChannelValue {
        let channel: any Channel
        /// Succeeds when the connection is closed and no request is being answered.
        let end: EventLoopFuture<Void>
    }

    let handler: InboundHandler
    let timeouts: InboundServer.Timeouts
    let connections: InboundConnections
    let executor: BorrowedThread

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = InboundServer.largestHead
            limits.maxHeaderListSize = InboundServer.largestHead
            limits.maxHeaderFieldCount = 100
            let pipeline = channel.pipeline.syncOperations
            // Stops reading while the peer does not read its answers, which would otherwise fill the memory.
            try pipeline.addHandler(BackPressureHandler())
            // NIO's handler for pipelining holds back the next request until the answer is sent, and ends the connection at a shutdown.
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: true, withErrorHandling: false, withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: limits)
            try pipeline.addHandlers([VersionHandler(), SlowSenderHandler(timeouts, connections)])
            let end = channel.eventLoop.makePromise(of: Void.self)
            do {
                try pipeline.addHandler(InboundExchange(handler, connections, executor, end: end))
            } catch {
                end.fail(error)
                throw error
            }
            return Connection(channel: channel, end: end.futureResult)
        }
    }

    func handle(value: Connection, logger: Logger) async {
        await withTaskCancellationHandler {
            // Does not fail here: a connection to which no exchange could be added is not handled.
            try? await value.end.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}

/// Reads the requests of a connection, one after the other, and sends their answers.
///
/// A channel handler for NIO's own types: an asynchronous channel, and the conversion of types before it, would take a third of the server's
/// time for a request (benchmark `inbound`). All its state belongs to the connection's thread.
final class InboundExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case waiting
        case reading(InboundHandler.Admission)
        case answering
        /// The request is answered before its end. The rest is read and dropped, so that the sender gets the answer before the
        /// connection closes.
        case dropping(bytes: Int)
    }

    private let handler: InboundHandler
    private let connections: InboundConnections
    private let executor: BorrowedThread
    private let end: EventLoopPromise<Void>
    private var state = State.waiting
    private var request = InboundRequest(headers: [], body: [])
    /// Whether the connection ends after this answer.
    private var isLast = false
    private var isOpen = true
    private var room: BodyRoom.Share?

    init(
        _ handler: InboundHandler, _ connections: InboundConnections, _ executor: BorrowedThread, end: EventLoopPromise<Void>
    ) {
        (self.handler, self.connections, self.executor, self.end) = (handler, connections, executor, end)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let piece): read(piece, context)
        case .end: finish(context)
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .waiting = state else { return }
        isLast = !head.isKeepAlive
        request = InboundRequest(headers: head.headers.map { (name: $0.name, value: $0.value) }, body: [])
        do throws(InboundAnswer) {
            state = .reading(
                try handler.admit(
                    method: head.method.rawValue, path: Self.path(of: head.uri), head: request,
                    announced: head.headers.first(name: "Content-Length").flatMap { Int($0) }))
        } catch {
            return refuse(error, context, isHead: head.method == .HEAD)
        }
        // Without this answer, the sender would wait before it sends the body (RFC 9110, 10.1.1).
        if head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
    }

    /// The path of a request's target, without the query. The target may be a whole address (RFC 9112, 3.2.2).
    private static func path(of target: String) -> String {
        let path = Substring(target.unicodeScalars.prefix { $0 != "?" })
        if path.hasPrefix("/") { return String(path) }
        let parts = path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 ? "/" + parts[3] : String(path)
    }

    private func read(_ piece: ByteBuffer, _ context: ChannelHandlerContext) {
        switch state {
        case .reading(let admission):
            let size = request.body.count + piece.readableBytes
            if size > admission.largestBody { return refuse(handler.tooLarge(admission), context) }
            if !admission.isKnown, !hasRoom(for: size) {
                let answer = InboundAnswer(503, "Too many large bodies arrive at the same time.", retryAfter: 10)
                return refuse(handler.reported(answer, at: admission.path), context)
            }
            request.body += piece.readableBytesView
        case .dropping(let bytes):
            if bytes > InboundServer.maxDrained { return context.close(promise: nil) }
            state = .dropping(bytes: bytes + piece.readableBytes)
        case .waiting, .answering: break
        }
    }

    private func hasRoom(for size: Int) -> Bool {
        if room == nil { room = handler.bodies.share() }
        return room?.grow(to: size) ?? false
    }

    private func finish(_ context: ChannelHandlerContext) {
        switch state {
        case .reading(let admission):
            state = .answering
            let request = request
            self.request.body = []
            let own = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            Task(executorPreference: executor) { [handler] in
                let answer = await handler.answer(request, admission)
                let (exchange, context) = own.value
                exchange.answered(answer, context)
            }
        case .dropping: close(context)
        case .waiting, .answering: break
        }
    }

    /// Closes the connection. Flushes first: writing the end of an answer lets NIO read the bytes that came after the request, so this may
    /// be called before the answer is flushed.
    private func close(_ context: ChannelHandlerContext) {
        context.flush()
        context.close(promise: nil)
    }

    private func answered(_ answer: InboundAnswer, _ context: ChannelHandlerContext) {
        room = nil
        let isLast = isLast
        state = isLast ? .dropping(bytes: 0) : .waiting
        guard isOpen else { return end.succeed() }
        // With the end of the answer, the next request may arrive at once.
        send(answer, context, isLast: isLast)
        if isLast { context.close(mode: .output, promise: nil) }
    }

    /// Answers a request before its end.
    ///
    /// - Parameter isHead: whether the request is a HEAD, whose answer has no body. Each HEAD is refused.
    private func refuse(_ answer: InboundAnswer, _ context: ChannelHandlerContext, isHead: Bool = false) {
        state = .dropping(bytes: 0)
        request.body = []
        room = nil
        send(answer, context, isLast: true, isHead: isHead)
    }

    private func send(_ answer: InboundAnswer, _ context: ChannelHandlerContext, isLast: Bool, isHead: Bool = false) {
        connections.setKnown(answer.isToKnownSender, context.channel)
        let text = ByteBuffer(string: answer.body)
        var headers: HTTPHeaders = [
            "Content-Type": "text/plain; charset=utf-8", "Content-Length": String(text.readableBytes),
        ]
        if let seconds = answer.retryAfter { headers.add(name: "Retry-After", value: String(seconds)) }
        if let challenge = answer.challenge { headers.add(name: "WWW-Authenticate", value: challenge) }
        if answer.status == 405 { headers.add(name: "Allow", value: "POST") }
        if isLast { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The end of a connection within a request is an error too, but nobody reads its answer.
        guard context.channel.isActive else { return }
        switch (state, error) {
        // An error of HTTP comes after the answer. The bytes after it are dropped until the time limit, so that the sender gets the
        // answers before the connection closes.
        case (.answering, _), (_, is ByteToMessageDecoderError): break
        case (.reading(let admission), is SlowSenderHandler.TooSlow):
            refuse(handler.refusal(InboundAnswer(408, "The request took too long to arrive."), admission), context)
        case (.reading(let admission), is HTTPParserError):
            refuse(handler.refusal(InboundAnswer(400, "The request was cut off."), admission), context)
            context.close(mode: .output, promise: nil)
        case (.waiting, is HTTPParserError):
            refuse(InboundAnswer(400, "This is not a request in HTTP."), context)
            context.close(mode: .output, promise: nil)
        default: close(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        if case .answering = state { isLast = true } else { close(context) }
    }

    /// Also called for a connection that is closed before it is active.
    func handlerRemoved(context: ChannelHandlerContext) {
        isOpen = false
        if case .answering = state {} else { end.succeed() }
    }
}
