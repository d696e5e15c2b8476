import Glibc
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import BellhopInbound

/// Lets a channel without a socket close in one direction.
private final class HalfClosing: ChannelOutboundHandler {
    typealias OutboundIn = HTTPServerResponsePart

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .output { context.close(mode: mode, promise: promise) }
    }
}

@Suite struct `Connections in virtual time` {
    /// Runs `body` with a connection in virtual time, after the answers to requests with these header fields.
    private static func withConnection(after requests: HTTPHeaders..., body: (EmbeddedChannel) throws -> Void) throws {
        let channel = EmbeddedChannel(handlers: [HalfClosing(), SlowSenderHandler(.init(), InboundConnections(most: 1))])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        for headers in requests {
            let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/in/deploys", headers: headers)
            try channel.writeInbound(HTTPServerRequestPart.head(head))
            try channel.writeInbound(HTTPServerRequestPart.end(nil))
            try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .accepted)))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }
        try body(channel)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func `a connection stays open for ten minutes after an answer, and half a minute before its first request`() throws {
        func expectClosed(_ channel: EmbeddedChannel, after seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds - 1))
            #expect(channel.isActive)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(!channel.isActive)
        }
        try Self.withConnection { expectClosed($0, after: 30) }
        try Self.withConnection(after: [:], [:]) { expectClosed($0, after: 620) }
        // The server has announced the end, and the peer does not close the connection.
        try Self.withConnection(after: [:]) { channel in
            channel.close(mode: .output, promise: nil)
            expectClosed(channel, after: 30)
        }
    }

    @Test func `a connection is closed after the answer to a request for another protocol, whatever its peer sends`() throws {
        try Self.withConnection(after: [:]) { channel in #expect(channel.isActive) }
        try Self.withConnection(after: [:], ["Upgrade": "h2c"]) { channel in #expect(!channel.isActive) }
    }

    @Test func `a connection reads few bytes at a time, so that requests that arrive together do not fill the memory`() throws {
        try Self.withConnection { channel in
            #expect(channel.options.compactMap { ($0.value as? AdaptiveRecvByteBufferAllocator)?.maximum } == [16 << 10])
            #expect(channel.options.compactMap { $0.value as? UInt } == [1])
        }
    }

    @Test func `a server that could not accept a connection reads nothing for a second`() {
        let server = EmbeddedChannel(handler: AcceptPause())
        var readings: [Bool] { server.options.compactMap { $0.value as? Bool } }
        server.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept4"))
        server.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(readings == [false])
        server.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(readings == [true])
        _ = try? server.finish(acceptAlreadyClosed: true)
    }
}
