import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOSSL

/// An open connection to a server, which sends one request after the other. Used only on its client's thread.
final class ClientSocket: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    let origin: CallRequest.Origin
    let channel: any Channel
    /// When its latest request ended.
    private(set) var idleSince = NIODeadline.now()
    private weak var pool: SocketPool?
    private var context: ChannelHandlerContext?
    private var call: Call?
    /// Whether the request is completely sent.
    private var isSent = true
    /// Whether the server keeps the connection open after the answer.
    private var keepsOpen = true
    private var hasHead = false
    private var hasBody = false
    /// Whether it was idle before the present request, so that the server may have closed it just then.
    private var wasIdle = false
    /// Over TLS, the channel stays active until the server agrees.
    private var isClosing = false

    init(_ channel: any Channel, to origin: CallRequest.Origin, in pool: SocketPool) {
        (self.channel, self.origin, self.pool) = (channel, origin, pool)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    var isUsable: Bool { !isClosing && channel.isActive && context != nil }

    func close() {
        isClosing = true
        channel.close(promise: nil)
    }

    /// - Parameter wasIdle: whether another request needed the socket first, even if it ended before the socket was open.
    func send(_ call: Call, wasIdle: Bool = true) {
        guard let context else { return call.end(ClientError.cut) }
        self.call = call
        call.socket = self
        call.stage = .sent
        (isSent, keepsOpen, hasHead, hasBody) = (false, true, false, false)
        self.wasIdle = wasIdle
        let request = call.request
        request.progress.handOver()
        context.write(wrapOutboundOut(.head(request.head)), promise: nil)
        if let body = request.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { [weak self] in self?.isSent = true }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    func readOn() { context?.read() }

    /// Closes it: its request was given up, and the answer would be taken for that of the next one.
    func abandon(_ call: Call) {
        guard self.call === call else { return }
        self.call = nil
        close()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // No request asked for this.
        guard let call else { return close() }
        do {
            switch unwrapInboundIn(data) {
            case .head(let head):
                hasHead = true
                guard head.status.code >= 100 else { return call.end(ClientError.noStatus) }
                keepsOpen = head.isKeepAlive && head.status != .switchingProtocols
                try call.reader.read(head, of: call)
                if call.reader.backlog != nil { try channel.syncOptions?.setOption(.autoRead, value: false) }
            case .body(let part):
                hasBody = true
                try call.reader.read(part)
            case .end:
                self.call = nil
                if keepsOpen && isSent && call.reader.backlog == nil {
                    idleSince = .now()
                    pool?.takeBack(self)
                } else {
                    close()
                }
                call.end()
            }
        } catch {
            call.end(error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if let call {
            call.limitRest(on: context.eventLoop)
            // What was read may hold no whole part.
            if call.reader.backlog == 0 { context.read() }
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let call = call
        self.call = nil
        pool?.remove(self)
        fail(call, ClientError.cut)
        context.fireChannelInactive()
    }

    private func fail(_ call: Call?, _ error: any Error) {
        guard let call else { return }
        // Over TLS, the end of a connection is an error if the server did not announce it.
        let isEnd = error is ClientError || error is IOError || error as? NIOSSLError == .uncleanShutdown
        if wasIdle, !hasHead, call.request.isRepeatable, isEnd, let pool { pool.openAgain(for: call) } else { call.end(error) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Not an error: the decompressor also looks for the body of an answer that has none, such as one to HEAD.
        if !hasBody, error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData { return }
        let call = call
        self.call = nil
        close()
        fail(call, error)
    }
}
