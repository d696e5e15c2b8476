import BellhopCore
import Glibc
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Answers the other commands while the agent runs.
public struct ControlServer: Service {
    private let path: String
    private let inquirer: Inquirer

    /// The longest line that is read.
    private static let longestLine = 1 << 20

    public init(path: String, inquirer: Inquirer) {
        self.path = path
        self.inquirer = inquirer
    }

    public func run() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        chmod(path, 0o600)
        defer { unlink(path) }
        do {
            try await cancelWhenGracefulShutdown {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await client in clients {
                            group.addTask { await converse(client) }
                        }
                    }
                }
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// One question, one answer. A client that goes away spoils only its own conversation.
    private func converse(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        do {
            try await client.executeThenClose { incoming, outgoing in
                var line: [UInt8] = []
                for try await buffer in incoming {
                    line += buffer.readableBytesView
                    if line.count > Self.longestLine { return }
                    if line.last == UInt8(ascii: "\n") { break }
                }
                let reply = ControlSocket.reply(await answer(line))
                try await outgoing.write(ByteBuffer(bytes: reply.encoded() + [UInt8(ascii: "\n")]))
            }
        } catch {
            // The client went away before it had its answer: there is nobody left to tell.
        }
    }

    private func answer(_ line: [UInt8]) async -> Result<JSON, InquiryError> {
        guard let json = try? JSON.parse(line), let inquiry = Inquiry(json: json) else {
            return .failure(InquiryError(.badRequest, "The running agent does not know this question; is it of another version?"))
        }
        do throws(InquiryError) { return .success(try await inquirer.answer(inquiry)) } catch { return .failure(error) }
    }
}
