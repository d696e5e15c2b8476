import BellhopTesting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A server on this machine with a self-signed certificate for `localhost`; answers 200 to everything. It can require a
/// certificate from its clients, accepts its own, and then answers like an instance.
struct TLSServer {
    let port: Int

    /// The server's side of TLS.
    static func context(wantsCertificate: Bool = false, newest: TLSVersion? = nil) throws -> NIOSSLContext {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        if wantsCertificate {
            tls.certificateVerification = .noHostnameVerification
            tls.trustRoots = .certificates(certificates)
        }
        if let newest {
            tls.minimumTLSVersion = .tlsv1
            tls.maximumTLSVersion = newest
        }
        return try NIOSSLContext(configuration: tls)
    }

    static func serve(wantsCertificate: Bool = false, newest: TLSVersion? = nil) async throws -> TLSServer {
        let context = try context(wantsCertificate: wantsCertificate, newest: newest)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answer(isInstance: wantsCertificate))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        whenTestEnds { channel.close(promise: nil) }
        return TLSServer(port: channel.localAddress?.port ?? 0)
    }

    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let isInstance: Bool

        init(isInstance: Bool) { self.isInstance = isInstance }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            let text = isInstance ? #"{"result":[{"user_name":"john.doe","name":"John Doe"}]}"# : "ok"
            let head = HTTPResponseHead(
                version: .http1_1, status: .ok,
                headers: ["Content-Length": String(text.utf8.count), "Content-Type": "application/json"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)  // a client that does not trust the certificate disconnects
        }
    }

    /// Valid from 2020 to 2126, so that no machine's date matters.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBrzCCAVWgAwIBAgIURYXw7xc9Cm1kgq+Mdbzv6/Xz0tIwCgYIKoZIzj0EAwIw
        ITEfMB0GA1UEAwwWQmVsbGhvcCB0ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAw
        MDBaGA8yMTI2MTAyODExMzcyOFowITEfMB0GA1UEAwwWQmVsbGhvcCB0ZXN0IGF1
        dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKGPiY9ZRJ4OEnjfsCAS
        LWQu3EzUAnEJOZqyYfgnqOoTq4C5KVjiIKLIyl4km2V3iG4NfNji/vRh+wX7zocs
        CjijaTBnMB0GA1UdDgQWBBRllzjrUqigZk0M2kdGtAgnonixKjAfBgNVHSMEGDAW
        gBRllzjrUqigZk0M2kdGtAgnonixKjAPBgNVHRMBAf8EBTADAQH/MBQGA1UdEQQN
        MAuCCWxvY2FsaG9zdDAKBggqhkjOPQQDAgNIADBFAiEA0/wTqYwWWzy72aKFFw5G
        Atgj1R04fmvJxoq6pPXXNBYCIBdAxC6FrifoCpUW8pR97J39A1uFkek+rdM9fXMB
        dmcb
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp4RX82ZPRZAVpo0A
        bwDxsiwJMBzNvOGUjqa/8SHNzXKhRANCAAShj4mPWUSeDhJ437AgEi1kLtxM1AJx
        CTmasmH4J6jqE6uAuSlY4iCiyMpeJJtld4huDXzY4v70YfsF+86HLAo4
        -----END PRIVATE KEY-----
        """
}
