import BellhopCore
import NIOCore
import NIOSSL
import NIOTLS

/// Reports how a TLS handshake ended, and when the server's certificate expires.
///
/// A class because a channel's handlers are; confined to the channel's event loop.
final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    struct Broken: Error {}

    private let promise: EventLoopPromise<Timestamp>

    init(_ promise: EventLoopPromise<Timestamp>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            do {
                guard let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate() else { throw Broken() }
                promise.succeed(Timestamp(seconds: Int64(certificate.notValidAfter)))
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
        promise.fail(Broken())
        context.fireChannelInactive()
    }
}
