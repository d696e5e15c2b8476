package import NIOCore

/// Lets a server wait for a second after it could not accept a connection, such as for lack of file descriptors.
///
/// NIO's own handler for this only delays the next read. If the first connection of a read fails, that read is not over: the server stays
/// registered for it and would try again at once.
package final class AcceptPause: ChannelInboundHandler, Sendable {
    package typealias InboundIn = any Channel

    package init() {}

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        // Without automatic reading, the server is not registered for reads.
        _ = channel.setOption(.autoRead, value: false)
        channel.eventLoop.scheduleTask(in: .seconds(1)) { _ = channel.setOption(.autoRead, value: true) }
        context.fireErrorCaught(error)
    }
}
