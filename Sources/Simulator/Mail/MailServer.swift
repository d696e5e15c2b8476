import NIOCore
import NIOPosix
import NIOSSL

/// A ``SimulatedMail`` over SMTP on the loopback interface.
public struct MailServer: Sendable {
    /// The certificate and its key for STARTTLS, in PEM; the certificate should be for `localhost`.
    public struct Identity: Sendable {
        public var certificate: String
        public var key: String

        public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }

    /// Another program uses the port, or it is not permitted.
    public struct CannotListen: Error, Sendable, Hashable { public var port: Int }

    private let mail: SimulatedMail
    private let identity: Identity?
    private let port: Int
    private let isTLSFromStart: Bool

    /// - Parameters:
    ///   - port: on 127.0.0.1; 0 takes any free port.
    ///   - identity: nil for a server without TLS.
    ///   - isTLSFromStart: whether connections begin with TLS, without STARTTLS.
    public init(_ mail: SimulatedMail, port: Int = 0, identity: Identity? = nil, isTLSFromStart: Bool = false) {
        (self.mail, self.port, self.identity, self.isTLSFromStart) = (mail, port, identity, isTLSFromStart)
    }

    /// Runs the server during the body, which gets the port.
    public func serve<Result: Sendable>(_ body: (Int) async throws -> Result) async throws -> Result {
        let context = try identity.map { identity in
            let certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
            return try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key)))
        }
        let (mail, isTLSFromStart) = (mail, isTLSFromStart)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if isTLSFromStart, let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                    try pipeline.addHandler(SMTPHandler(mail, tls: context, isEncrypted: isTLSFromStart))
                }
            }
        let channel: any Channel
        do { channel = try await bootstrap.bind(host: "127.0.0.1", port: port).get() } catch {
            throw CannotListen(port: port)
        }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(channel.localAddress?.port ?? port)) } catch { result = .failure(error) }
        try await channel.close()
        return try result.get()
    }
}

/// Carries an ``SMTPDialogue`` over a connection. A class because a channel's handlers are; confined to the channel's event loop.
private final class SMTPHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let mail: SimulatedMail
    private let tls: NIOSSLContext?
    private var dialogue: SMTPDialogue
    private var rest: [UInt8] = []
    private var ignoresInput = false

    init(_ mail: SimulatedMail, tls: NIOSSLContext?, isEncrypted: Bool) {
        self.mail = mail
        self.tls = tls
        dialogue = SMTPDialogue(mail, offersTLS: tls != nil && !isEncrypted)
        if isEncrypted { dialogue.startEncryption() }
    }

    func channelActive(context: ChannelHandlerContext) {
        perform(dialogue.greet(), context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        rest += unwrapInboundIn(data).readableBytesView
        while !ignoresInput, let end = rest.firstIndex(of: 0x0a) {
            let line = Array(rest[..<end])
            rest.removeSubrange(...end)
            perform(dialogue.take(line), context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)  // a client that does not trust the certificate disconnects
    }

    private func perform(_ steps: [SMTPDialogue.Step], _ context: ChannelHandlerContext) {
        let delay = mail.settings.delay
        guard delay > 0 else { return act(steps, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(Int64(delay))) {
            let (handler, context) = bound.value
            handler.act(steps, context)
        }
    }

    private func act(_ steps: [SMTPDialogue.Step], _ context: ChannelHandlerContext) {
        for step in steps {
            switch step {
            case .say(let lines):
                let text = lines.map { $0 + "\r\n" }.joined()
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .startTLS: startTLS(context)
            case .close:
                ignoresInput = true
                context.close(promise: nil)
            case .hang: ignoresInput = true
            }
        }
    }

    private func startTLS(_ context: ChannelHandlerContext) {
        guard let tls else { return }
        // Data from before the handshake is not authenticated, so it is discarded.
        rest = []
        do {
            try context.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
            dialogue.startEncryption()
        } catch {
            context.close(promise: nil)
        }
    }
}
