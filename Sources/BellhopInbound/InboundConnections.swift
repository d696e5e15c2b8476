package import NIOCore
package import NIOHTTP1
import Synchronization

/// The open connections of a server. If there are too many, the one that has been idle longest is closed; those without a known
/// sender are closed first. A connection whose request is being answered is never closed.
///
/// A class with a mutex, because connections belong to several threads.
package final class InboundConnections: Sendable {
    struct Status: Sendable {
        /// The number of the last change of its state: it was opened, its request arrived, or its answer was sent. Later changes
        /// have larger numbers.
        var lastChange: UInt64
        /// Whether its latest request came from a known sender.
        var isKnown = false
        /// Whether a complete request is being answered.
        var isAnswering = false
    }

    private struct Entry {
        var status: Status
        var channel: any Channel
    }

    private struct State {
        /// How many changes of state the connections have had.
        var changes: UInt64 = 0
        var entries: [ObjectIdentifier: Entry] = [:]
        var isStopping = false
    }

    private let most: Int
    private let state = Mutex(State())

    package init(most: Int) { self.most = most }

    /// Adds a connection, and closes one if there are too many now.
    func add(_ channel: any Channel) {
        let victim = state.withLock { state -> (any Channel)? in
            state.changes += 1
            if state.isStopping { return channel }
            state.entries[ObjectIdentifier(channel)] = Entry(status: Status(lastChange: state.changes), channel: channel)
            guard state.entries.count > most else { return nil }
            let id = Self.victim(among: state.entries.mapValues(\.status), newest: ObjectIdentifier(channel))
            return state.entries.removeValue(forKey: id)?.channel
        }
        victim?.close(promise: nil)
    }

    /// Closes all connections that are not answering a complete request, and refuses new ones. The server closes the others when
    /// it has answered them.
    package func stop() {
        let unfinished = state.withLock { state in
            state.isStopping = true
            return state.entries.values.filter { !$0.status.isAnswering }.map(\.channel)
        }
        for channel in unfinished { channel.close(promise: nil) }
    }

    /// The connection to close.
    static func victim<ID: Hashable>(among statuses: [ID: Status], newest: ID) -> ID {
        func rank(_ status: Status) -> (Int, UInt64) { (status.isKnown ? 1 : 0, status.lastChange) }
        return statuses.filter { $0.key != newest && !$0.value.isAnswering }.min { rank($0.value) < rank($1.value) }?.key
            ?? newest
    }

    func remove(_ channel: any Channel) { state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(channel)) } }

    /// Records whether a request came from a known sender.
    func setKnown(_ isKnown: Bool, _ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.status.isKnown = isKnown }
    }

    /// Records that a request is being answered, or that the connection is idle again.
    func setAnswering(_ isAnswering: Bool, _ channel: any Channel) {
        state.withLock { state in
            state.changes += 1
            state.entries[ObjectIdentifier(channel)]?.status.isAnswering = isAnswering
            state.entries[ObjectIdentifier(channel)]?.status.lastChange = state.changes
        }
    }
}

/// Closes a connection whose peer is too slow to begin a request, to finish one, or to read an answer; and one whose peer asked for
/// another protocol, after the answer.
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
    /// Whether the latest request asks for another protocol.
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
        // All requests that arrive together are decoded before the first is answered, and a head may take twenty times its bytes.
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
