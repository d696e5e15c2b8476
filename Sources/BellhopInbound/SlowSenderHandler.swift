package import NIOCore
package import NIOHTTP1

/// Closes a connection whose peer is too slow to begin a request, to finish one, or to read an answer. After the answer to a request for
/// another protocol, it closes the connection too.
///
/// A channel handler: all its state belongs to the connection's thread.
package final class SlowSenderHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// Thrown to the reader of a body that did not arrive in time.
    struct TooSlow: Error {}

    /// The most bytes that are read at a time.
    private static let mostRead = 16 << 10

    private let timeouts: InboundServer.Timeouts
    private let connections: InboundConnections
    /// When the peer is too slow; nil while it waits for an answer.
    private var deadline: NIODeadline?
    /// Checks the deadline. It remains scheduled when the deadline moves on, because scheduling a check for each request takes
    /// longer than reading one.
    private var check: (time: NIODeadline, task: Scheduled<Void>)?
    /// Whether the head of a request has arrived, but not its end.
    private var isReceiving = false
    /// Whether the incomplete request was already answered.
    private var isAnsweredEarly = false
    /// Whether a head was too large: all further bytes are ignored.
    private var isRefused = false
    /// Whether the latest request asks for another protocol: the connection then ends with the answer.
    private var asksForProtocol = false
    /// Whether the server sends nothing more, and waits for the peer to close the connection.
    private var isOutputClosed = false
    /// The number of complete requests without an answer.
    private var unanswered = 0
    /// The number of answers that are not sent yet.
    private var unsent = 0

    package init(_ timeouts: InboundServer.Timeouts, _ connections: InboundConnections) {
        self.timeouts = timeouts
        self.connections = connections
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        connections.add(context.channel)
        // All requests that arrive together are decoded before the first is answered, and a decoded head may be twenty times as large.
        if let options = context.channel.syncOptions {
            try? options.setOption(.maxMessagesPerRead, value: 1)
            try? options.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: Self.mostRead))
        }
        arm(timeouts.head, context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { leave(context) }

    package func channelInactive(context: ChannelHandlerContext) {
        leave(context)
        context.fireChannelInactive()
    }

    private func leave(_ context: ChannelHandlerContext) {
        disarm()
        check?.task.cancel()
        check = nil
        connections.remove(context.channel)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isReceiving = true
            asksForProtocol = head.asksForProtocol
            arm(timeouts.body, context)
        case .body: break
        case .end:
            isReceiving = false
            if isAnsweredEarly {
                isAnsweredEarly = false
            } else {
                unanswered += 1
                if unanswered == 1 { connections.setAnswering(true, context.channel) }
            }
            if unsent == 0 { awaitPeer(context) }
        }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        unsent += 1
        if unanswered > 0 {
            unanswered -= 1
            if unanswered == 0 { connections.setAnswering(false, context.channel) }
        } else {
            isAnsweredEarly = isReceiving
        }
        if !isReceiving { arm(timeouts.head, context) }
        let sent = promise ?? context.eventLoop.makePromise()
        let own = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        sent.futureResult.whenSuccess {
            let (handler, context) = own.value
            handler.unsent -= 1
            if !handler.isReceiving { handler.awaitPeer(context) }
        }
        context.write(data, promise: sent)
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output, !isOutputClosed {
            isOutputClosed = true
            if !isReceiving { arm(timeouts.head, context) }
        }
        context.close(mode: mode, promise: promise)
    }

    /// Sets the time limit for the peer between two requests; none while it waits for an answer.
    private func awaitPeer(_ context: ChannelHandlerContext) {
        if unsent > 0 {
            arm(timeouts.head, context)
        } else if unanswered > 0 {
            // The next request may have arrived completely before the answer was sent.
            disarm()
        } else if asksForProtocol {
            context.close(promise: nil)
        } else {
            arm(isOutputClosed ? timeouts.head : timeouts.idle, context)
        }
    }

    private func disarm() { deadline = nil }

    private func arm(_ time: Duration, _ context: ChannelHandlerContext) {
        let deadline = context.eventLoop.now + TimeAmount(time)
        self.deadline = deadline
        if let check, check.time <= deadline { return }
        schedule(deadline, context)
    }

    private func schedule(_ time: NIODeadline, _ context: ChannelHandlerContext) {
        check?.task.cancel()
        let own = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleTask(deadline: time) {
            let (handler, context) = own.value
            handler.check = nil
            guard let deadline = handler.deadline else { return }
            if deadline > context.eventLoop.now { handler.schedule(deadline, context) } else { handler.expire(context) }
        }
        check = (time, task)
    }

    /// Answers 431 to header fields that are too large or too many. The other handlers would answer 400.
    ///
    /// Further bytes are read and dropped for a while, so that the sender gets the answer before the connection closes.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The bytes after such a head cause further errors.
        if isRefused { return }
        guard let error = error as? HTTPParserError, error == .headerOverflow, !isReceiving, unanswered == 0 else {
            return context.fireErrorCaught(error)
        }
        isRefused = true
        let text = ByteBuffer(string: "The header fields are too large, or more than 100.\n")
        let head = HTTPResponseHead(
            version: .http1_1, status: .requestHeaderFieldsTooLarge,
            headers: [
                "Content-Type": "text/plain; charset=utf-8", "Content-Length": String(text.readableBytes), "Connection": "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(mode: .output, promise: nil)
        arm(timeouts.body, context)
    }

    /// Fails the reader of an incomplete body, and gives it the same time again to send an answer with the reason.
    private func expire(_ context: ChannelHandlerContext) {
        deadline = nil
        guard isReceiving, !isAnsweredEarly else { return context.close(promise: nil) }
        isAnsweredEarly = true
        arm(timeouts.body, context)
        context.fireErrorCaught(TooSlow())
    }
}
