import BellhopCore
import NIOCore
import NIOSSL
import NIOTLS

/// Reports the result of a TLS handshake and the server's certificate.
///
/// A class, as channel handlers must be; confined to the channel's event loop.
final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    struct HandshakeFailed: Error {}

    struct Certificate: Sendable {
        var end: Timestamp
        /// The names and addresses that it is for.
        var names: [String]

        init(_ certificate: NIOSSLCertificate) {
            end = Timestamp(seconds: Int64(certificate.notValidAfter))
            names = certificate._subjectAlternativeNames().compactMap { name -> String? in
                switch name.nameType {
                case .dnsName: return String(decoding: name.contents, as: UTF8.self)
                case .ipAddress: return try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0).ipAddress
                default: return nil
                }
            }
        }
    }

    private let promise: EventLoopPromise<Certificate>

    init(_ promise: EventLoopPromise<Certificate>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            do {
                guard let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate() else {
                    throw HandshakeFailed()
                }
                promise.succeed(Certificate(certificate))
            } catch {
                promise.fail(error)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HandshakeFailed())
        context.fireChannelInactive()
    }
}
