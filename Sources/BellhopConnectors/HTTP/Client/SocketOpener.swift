import BellhopCore
import Glibc
import NIOCore
import NIOExtras
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// What opens the sockets of a pool.
protocol SocketOpening: Sendable {
    /// - Parameter call: the request that needs the socket. Its stage changes with the steps.
    func open(
        for call: Call, in pool: SocketPool, on loop: any EventLoop, then: @escaping (Result<ClientSocket, any Error>) -> Void)
}

/// Opens sockets: connects, through the proxy if there is one, and makes TLS.
struct SocketOpener: SocketOpening {
    let proxy: HTTPAddress?
    /// Whether to refuse private addresses. A name may resolve differently now than when it was checked.
    let refusesPrivate: Bool
    /// For each of the steps.
    let timeout: TimeAmount
    /// The largest body after decompression, in bytes.
    let maxBody: Int
    let tls: TLSContext

    init(_ configuration: HTTPConnection.Configuration, _ tls: TLSContext) {
        proxy = configuration.proxy
        refusesPrivate = configuration.refusesPrivate
        timeout = .nanoseconds(min(configuration.timeout, .seconds(10)).wholeNanoseconds)
        maxBody = configuration.maxBody
        self.tls = tls
    }

    func open(
        for call: Call, in pool: SocketPool, on loop: any EventLoop, then: @escaping (Result<ClientSocket, any Error>) -> Void
    ) {
        call.stage = .connects
        guard call.request.origin.isSecure else { return open(nil, for: call, in: pool, on: loop, then: then) }
        // Before connecting, so that nothing the server sends is lost.
        tls.context(on: loop).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let context): open(context, for: call, in: pool, on: loop, then: then)
            case .failure(let error): then(.failure(error))
            }
        }
    }

    private func open(
        _ context: NIOSSLContext?, for call: Call, in pool: SocketPool, on loop: any EventLoop,
        then: @escaping (Result<ClientSocket, any Error>) -> Void
    ) {
        let origin = call.request.origin
        let isGuarded = refusesPrivate && proxy == nil  // A proxy's own address may be private.
        ClientBootstrap(group: loop)
            .connectTimeout(timeout)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isGuarded { try channel.pipeline.syncOperations.addHandler(ConnectGuard()) }
                }
            }
            .connect(host: proxy?.host ?? origin.host, port: proxy?.port ?? origin.port)
            .assumeIsolated()
            .flatMap { channel in
                tunnelled(channel, for: call).assumeIsolated()
                    .flatMap { secured(channel, context, for: call) }
                    .map { channel }
                    .nonisolated()
            }
            .whenComplete { result in
                then(Result { try socket(on: result.get(), to: origin, in: pool) })
            }
    }

    /// Whether this process or machine may open no more files.
    static func lacksDescriptors(_ error: any Error) -> Bool {
        let causes = (error as? NIOConnectionError)?.connectionErrors.map(\.error) ?? [error]
        return causes.contains { [EMFILE, ENFILE].contains(($0 as? IOError)?.errnoCode) }
    }

    private func socket(on channel: any Channel, to origin: CallRequest.Origin, in pool: SocketPool) throws -> ClientSocket {
        let socket = ClientSocket(channel, to: origin, in: pool)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)),
            NIOHTTPResponseDecompressor(limit: .size(maxBody)), socket,
        ])
        return socket
    }

    /// Has the proxy connect to the server.
    private func tunnelled(_ channel: any Channel, for call: Call) -> EventLoopFuture<Void> {
        guard let proxy else { return channel.eventLoop.makeSucceededVoidFuture() }
        if !call.hasEnded { call.stage = .tunnels }
        let origin = call.request.origin
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        var headers: HTTPHeaders = ["Host": "\(host):\(origin.port)"]
        if let userInfo = proxy.userInfo {
            headers.add(name: "Proxy-Authorization", value: "Basic " + Base64.encode(Array(userInfo.utf8)))
        }
        return step(on: channel, error: .proxyTimeout) { promise in
            let encoder = HTTPRequestEncoder()
            let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes))
            // It leaves by itself when it has succeeded.
            let connect = NIOHTTP1ProxyConnectHandler(
                targetHost: host, targetPort: origin.port, headers: headers, deadline: .distantFuture, promise: promise)
            return ([encoder, decoder, connect], [encoder, decoder])
        }
    }

    /// Makes TLS with the server.
    private func secured(_ channel: any Channel, _ context: NIOSSLContext?, for call: Call) -> EventLoopFuture<Void> {
        guard let context else { return channel.eventLoop.makeSucceededVoidFuture() }
        if !call.hasEnded { call.stage = .shakesHands }
        let host = call.request.origin.host
        return step(on: channel, error: .handshakeTimeout) { _ in
            let isAddress = PrivateAddress.isNumeric(host)
            if isAddress, proxy != nil { throw ClientError.unverifiable }
            // An address is compared with the certificate's addresses, and has no place in SNI (RFC 6066, section 3).
            return ([try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)], [])
        }
    }

    /// Adds the handlers of a step, and waits for its end.
    /// - Parameter handlers: all handlers, and those that leave at the end. They may fulfil the promise.
    private func step(
        on channel: any Channel, error: ClientError,
        _ handlers: (EventLoopPromise<Void>) throws -> ([any ChannelHandler], leaving: [any RemovableChannelHandler])
    ) -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let end = channel.eventLoop.scheduleTask(in: timeout) { promise.fail(error) }
        let pipeline = channel.pipeline.syncOperations
        let wait = StepWait(promise)
        var leaving: [any RemovableChannelHandler] = [wait]
        do {
            let all = try handlers(promise)
            leaving += all.leaving
            try pipeline.addHandler(wait)
            // One by one, because some begin as soon as they are added.
            for handler in all.0 { try pipeline.addHandler(handler, position: .before(wait)) }
            if !channel.isActive { promise.fail(ClientError.cut) }
        } catch {
            promise.fail(error)
        }
        return promise.futureResult.assumeIsolated()
            .flatMap {
                end.cancel()
                let removals = leaving.map { pipeline.removeHandler($0) }
                return EventLoopFuture.andAllSucceed(removals, on: channel.eventLoop)
            }
            .flatMapErrorThrowing { error in
                end.cancel()
                channel.close(promise: nil)
                throw error
            }
            .nonisolated()
    }
}

/// Waits for the end of a handshake, or for an error in it.
private final class StepWait: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let promise: EventLoopPromise<Void>

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { promise.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(ClientError.cut)
        context.fireChannelInactive()
    }
}

/// Refuses to connect to private addresses, before the first packet.
private final class ConnectGuard: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        do {
            try PrivateAddress.check(address)
            context.connect(to: address, promise: promise)
        } catch {
            promise?.fail(error)
            context.close(promise: nil)
        }
    }
}

/// The TLS settings of a connection in the form that BoringSSL needs. Made when first needed, on another thread, because reading the
/// system's authorities takes milliseconds.
///
/// A class with a mutex, because the threads of a connection share it.
final class TLSContext: Sendable {
    private let configuration: TLSConfiguration
    private let made = Mutex<NIOSSLContext?>(nil)

    init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    func context(on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        if let context = made.withLock(\.self) { return loop.makeSucceededFuture(context) }
        return NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            try made.withLock { made throws in
                if let context = made { return context }
                let context = try NIOSSLContext(configuration: configuration)
                made = context
                return context
            }
        }
    }
}
