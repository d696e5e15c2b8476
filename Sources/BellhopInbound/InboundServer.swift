import BellhopCore
import Glibc
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// The reason why a server of the agent cannot run.
public struct ServerProblem: Error, Sendable, Hashable {
    /// One sentence.
    public var message: String
    /// Whether it may resolve itself without a change of the configuration.
    public var isTemporary: Bool

    public init(message: String, isTemporary: Bool) { (self.message, self.isTemporary) = (message, isTemporary) }

    package init(listeningAt place: InboundServer.Address, of server: InboundConnections.Server, _ error: any Error) {
        let address = "\(place.host):\(place.port), the address in `\(server.rawValue)`"
        let isTaken = (error as? IOError)?.errnoCode == EADDRINUSE
        self.init(
            message: isTaken
                ? "Another program uses \(address): stop it, or name another address."
                : "Bellhop cannot listen at \(address): \(error).",
            isTemporary: true)
    }
}

/// The HTTP server for requests from other systems. On shutdown, it answers the requests that have arrived completely, and
/// closes all other connections.
public struct InboundServer: Service {
    /// The address to listen at.
    public struct Address: Sendable, Hashable {
        public var host: String
        /// 0 for any free port.
        public var port: Int

        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// Reads `127.0.0.1:8091` or `[::1]:8091`; nil for anything else.
        public init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (0...65_535).contains(port)
            else { return nil }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self.init(host: String(host), port: port)
        }
    }

    /// The time limits for a peer.
    public struct Timeouts: Sendable {
        /// To begin the first request, counted from the connection; and to read an answer.
        public var head: Duration
        /// To send the rest of a request.
        public var body: Duration
        /// To begin a further request, counted from the previous answer. Longer than proxies keep their connections, some for ten
        /// minutes: what a proxy sends while the server closes the connection is lost.
        public var idle: Duration

        public init(head: Duration = .seconds(30), body: Duration = .seconds(10), idle: Duration = .seconds(620)) {
            self.head = head
            self.body = body
            self.idle = idle
        }
    }

    private let address: Address
    private let handler: InboundHandler
    private let timeouts: Timeouts
    private let maxConnections: Int
    private let logger: Logger
    private let isListening: @Sendable (Int) -> Void

    /// In bytes, of all header fields of a request.
    static let largestHead = 16 << 10
    /// How many bytes of a refused body are read, so that the sender gets the answer before the connection closes.
    package static let maxDrained = 16 << 20

    /// - Parameters:
    ///   - maxConnections: the limit of open connections, if the process may have enough files open.
    ///   - isListening: called with the port.
    public init(
        at address: Address, handler: InboundHandler, timeouts: Timeouts = Timeouts(), maxConnections: Int = 256, logger: Logger,
        isListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.address = address
        self.handler = handler
        self.timeouts = timeouts
        self.maxConnections = maxConnections
        self.logger = ServerLog.logger(logger)
        self.isListening = isListening
    }

    public func run() async throws {
        let connections = InboundConnections(most: maxConnections, of: .inbound)
        // One thread for everything: switching threads would slow down each request.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = BorrowedThread { loop.execute($0) }
        let server = Server(
            childChannelSetup: InboundChannel(
                handler: handler, timeouts: timeouts, connections: connections, executor: executor),
            configuration: ServerConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { [isListening, address] channel in
                try? await channel.pipeline.addHandler(AcceptPause(), position: .first).get()
                isListening(channel.localAddress?.port ?? address.port)
            },
            eventLoopGroup: loop, logger: logger)
        do {
            try await withGracefulShutdownHandler {
                try await withTaskExecutorPreference(executor) { try await server.run() }
            } onGracefulShutdown: {
                connections.stop()
            }
        } catch {
            throw ServerProblem(listeningAt: address, of: .inbound, error)
        }
    }
}
