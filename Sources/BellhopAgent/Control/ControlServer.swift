import BellhopCore
import BellhopFiles
import BellhopInbound
import Glibc
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Answers the inquiries of other commands while the agent runs.
public struct ControlServer: Service {
    private let place: ControlSocket.Place
    private var path: String { place.path }
    private let inquirer: Inquirer

    private static let longestLine = 1 << 25
    /// The size of the pieces in which rows are written, in bytes.
    private static let pieceBytes = 1 << 16

    public init(at place: ControlSocket.Place, inquirer: Inquirer) { (self.place, self.inquirer) = (place, inquirer) }

    public func run() async throws {
        if let folder = place.privateFolder {
            do throws(PrivateFolder.FileError) { try PrivateFolder.make(folder) } catch {
                throw ControlSocketError(message: error.message)
            }
        }
        // The socket gets its name last, when it listens and only its user may connect, so that a client that finds it is answered.
        let newPath = path + ".new"
        let server = try await listen(at: newPath)
        // Another agent may take the name, when this one ends because its store was replaced.
        let own = FileIdentity(of: newPath)
        do throws(ControlSocketError) { try replaceSocket(by: newPath) } catch {
            try await server.channel.close()
            unlink(newPath)
            throw error
        }
        defer { if FileIdentity(of: path) == own { unlink(path) } }
        do {
            try await withGracefulShutdownHandler {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await client in clients { group.addTask { await serve(client) } }
                        group.cancelAll()
                    }
                }
            } onGracefulShutdown: { [inquirer, listener = server.channel] in
                // This server is asked to stop before the loops and the console, none of which should wait for a person's question.
                inquirer.store.endReadsForPeople()
                // Cancelling this task would drop the clients that have connected, but are not served yet, without closing them.
                listener.close(promise: nil)
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    private func listen(
        at path: String
    ) async throws(ControlSocketError) -> NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never> {
        let socket = try Self.bind(to: path)
        do {
            return try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelInitializer { $0.pipeline.addHandler(AcceptPause()) }
                .bind(socket) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let client = try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                        // NIO ends the process if an open client is released before it was served, as at a stop.
                        channel.closeFuture.whenComplete { _ in withExtendedLifetime(client) {} }
                        return client
                    }
                }
        } catch {
            throw ControlSocketError(message: "Cannot listen at \(path): \(error).")
        }
    }

    /// A socket with this name, in place of a socket that an ended agent left.
    ///
    /// NIO does not bind it, because NIO would remove this name when it closes the socket: another agent may have a socket there by then.
    private static func bind(to path: String) throws(ControlSocketError) -> CInt {
        try requireSocket(path)
        unlink(path)
        guard let address = UnixAddress(path) else { throw cannotListen(path, SystemError(ENAMETOOLONG)) }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw cannotListen(path, SystemError()) }
        guard address.withPointer({ Glibc.bind(socket, $0, $1) }) == 0, chmod(path, 0o600) == 0 else {
            let error = SystemError()
            close(socket)
            throw cannotListen(path, error)
        }
        return socket
    }

    /// Throws if there is a file that is no socket.
    private static func requireSocket(_ path: String) throws(ControlSocketError) {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFSOCK else { return }
        throw ControlSocketError(message: "Cannot listen at \(path): this file is not a socket. Move it away.")
    }

    static func cannotListen(_ path: String, _ error: SystemError) -> ControlSocketError {
        let remedy =
            switch error.code {
            case EACCES, EPERM, EROFS: ": let this user write its folder \(PathText.folder(of: path)), or choose another `store`"
            case ENOENT, ENOTDIR: ": make its folder, or choose another `store`"
            case ENOSPC, EDQUOT: ": free space on the disk"
            default: ""
            }
        return ControlSocketError(message: "Cannot listen at \(path) (\(error.text))\(remedy).")
    }

    /// Gives the new socket its name, in place of a socket that an ended agent left. A file that is no socket stays.
    private func replaceSocket(by newPath: String) throws(ControlSocketError) {
        try Self.requireSocket(path)
        guard rename(newPath, path) == 0 else { throw Self.cannotListen(path, SystemError()) }
    }

    /// Answers one inquiry of a client. A client that disconnects does not affect the others.
    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        do {
            try await client.executeThenClose { incoming, outgoing in
                guard let peer = await Self.user(of: client.channel), peer.mayAsk() else { return }
                var input = incoming.makeAsyncIterator()
                var line: [UInt8] = []
                while line.last != UInt8(ascii: "\n"), let buffer = try await input.next() {
                    line += buffer.readableBytesView
                    if line.count > Self.longestLine { return }
                }
                try await answer(line, from: peer, to: outgoing)
                // Closing here would discard unsent bytes, so wait until the client hangs up.
                while try await input.next() != nil {}
            }
        } catch {
            // The client disconnected early, or the agent stops: the client sees an answer without an end.
        }
    }

    private static func user(of client: any Channel) async -> PeerUser? {
        guard let socket = client as? any SocketOptionProvider else { return nil }
        let credentials: EventLoopFuture<PeerUser.Credentials> = socket.unsafeGetSocketOption(
            level: SocketOptionLevel(SOL_SOCKET), name: SocketOptionName(SO_PEERCRED))
        return try? await PeerUser(credentials.get())
    }

    /// Writes the answer no faster than the client reads it: a write returns when there is room for the next.
    private func answer(
        _ line: [UInt8], from peer: PeerUser, to outgoing: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        guard let json = try? JSON.parse(line), let inquiry = Inquiry(json: json) else {
            let error = InquiryError(.badRequest, "The running agent does not know this question; is its version different?")
            return try await outgoing.write(ByteBuffer(bytes: ControlFrame.failure(error).line))
        }
        try await Person.$current.withValue(Person(peer, claims: json["by"])) { try await answer(inquiry, to: outgoing) }
    }

    private func answer(_ inquiry: Inquiry, to outgoing: NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws {
        var answer = inquirer.answer(inquiry)
        do {
            while true {
                switch try await answer.next() {
                case .rows(let rows):
                    var buffer = ByteBuffer()
                    for row in rows {
                        buffer.writeBytes(ControlFrame.row(row).line)
                        guard buffer.readableBytes >= Self.pieceBytes else { continue }
                        try await outgoing.write(buffer)
                        buffer = ByteBuffer()
                    }
                    if buffer.readableBytes > 0 { try await outgoing.write(buffer) }
                case .end(let value): return try await outgoing.write(ByteBuffer(bytes: ControlFrame.end(value).line))
                }
            }
        } catch let error as InquiryError {
            try await outgoing.write(ByteBuffer(bytes: ControlFrame.failure(error).line))
        }
    }
}
