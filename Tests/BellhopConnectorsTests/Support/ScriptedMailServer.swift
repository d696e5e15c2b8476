import BellhopTesting
import NIOCore
import NIOPosix

/// A mail server on this machine with given replies, which records the commands.
struct ScriptedMailServer: Sendable {
    let port: Int
    let commands: Recording<String>

    /// - Parameter replies: to the greeting (`""`), to commands by their first word, and to the mail (`"."`); by default positive ones
    ///   of a server with STARTTLS. Each is sent with a line end.
    static func serve(_ replies: [String: String]) async throws -> ScriptedMailServer {
        let usual = [
            "": "220 odd", "EHLO": "250-odd\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN", "AUTH": "235 in", "DATA": "354 go",
            ".": "250 kept", "QUIT": "221 bye",
        ]
        let all = usual.merging(replies) { $1 }
        let commands = Recording<String>()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(all, commands))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        whenTestEnds { channel.close(promise: nil) }
        return ScriptedMailServer(port: channel.localAddress?.port ?? 0, commands: commands)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let replies: [String: String]
        private let commands: Recording<String>
        private var rest = ""
        private var isInMail = false

        init(_ replies: [String: String], _ commands: Recording<String>) { (self.replies, self.commands) = (replies, commands) }

        func channelActive(context: ChannelHandlerContext) { say(replies[""] ?? "", context) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            rest += String(buffer: unwrapInboundIn(data))
            while let end = rest.firstRange(of: "\r\n") {
                let line = String(rest[..<end.lowerBound])
                rest = String(rest[end.upperBound...])
                if isInMail, line != "." { continue }
                commands.add(line)
                let word = line.prefix { $0 != " " }.uppercased()
                isInMail = word == "DATA" && replies[word]?.hasPrefix("354") == true
                say(replies[word] ?? "250 ok", context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func say(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text + "\r\n")), promise: nil)
        }
    }
}
