import BellhopCore
import Glibc
import HTTPTypes
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

    /// - Parameter setting: the setting of bellhop.yaml with the address.
    public init(listeningAt place: InboundServer.Address, of setting: String, _ error: any Error) {
        let address = "\(place.host):\(place.port), the address in `\(setting)`"
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
        /// To begin a request, counted from the connection or the previous answer; and to read an answer.
        public var head: Duration
        /// To send the rest of a request.
        public var body: Duration

        public init(head: Duration = .seconds(30), body: Duration = .seconds(10)) {
            self.head = head
            self.body = body
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
    ///   - maxConnections: the limit of open connections.
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
        let connections = InboundConnections(most: maxConnections)
        let channel = HTTP1Channel(
            responder: { [handler] request, writer, channel in
                try await Self.respond(request, writer, handler) { connections.setKnown($0, channel) }
            },
            configuration: .init(
                additionalChannelHandlers: [SlowSenderHandler(timeouts, connections)],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: Self.largestHead, maxHeaderListSize: Self.largestHead, maxHeaderFieldCount: 100)))
        // One thread for everything: switching threads would slow down each request.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = Server(
            childChannelSetup: GuardedChannel(channel),
            configuration: ServerConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { [isListening, address] channel in isListening(channel.localAddress?.port ?? address.port) },
            eventLoopGroup: loop, logger: logger)
        do {
            try await withGracefulShutdownHandler {
                try await withTaskExecutorPreference(BorrowedThread { loop.execute($0) }) { try await server.run() }
            } onGracefulShutdown: {
                connections.stop()
            }
        } catch {
            throw ServerProblem(listeningAt: address, of: "inbound", error)
        }
    }

    /// Thrown to close a connection whose request was not read to its end.
    private struct UnreadBody: Error {}

    @concurrent
    private static func respond(
        _ request: Request, _ writer: consuming ResponseWriter, _ handler: InboundHandler, isKnown: (Bool) -> Void
    ) async throws {
        let path = String((request.head.path ?? "/").prefix { $0 != "?" })
        // A body has only one iterator: making a second one crashes the process.
        var pieces = request.body.makeAsyncIterator()
        var answer: InboundAnswer
        var isRead = false
        // Until the request is answered.
        var room = handler.bodies.share()
        do throws(InboundAnswer) {
            var whole = InboundRequest(headers: request.headers.map { (name: $0.name.rawName, value: $0.value) }, body: [])
            let admission = try handler.admit(
                method: request.method.rawValue, path: path, head: whole,
                announced: request.headers[.contentLength].flatMap { Int($0) })
            // Without this answer, the sender would wait before it sends the body (RFC 9110, 10.1.1).
            if request.headers[.expect]?.lowercased() == "100-continue" {
                try? await writer.writeInformationalHead(HTTPResponse(status: .continue))
            }
            whole.body = try await Self.body(of: &pieces, admission, &room, handler)
            isRead = true
            answer = await handler.answer(whole, to: path)
        } catch {
            answer = error
        }
        isKnown(answer.isToKnownSender)
        let text = ByteBuffer(string: answer.text + "\n")
        var fields: HTTPFields = [.contentType: "text/plain; charset=utf-8", .contentLength: String(text.readableBytes)]
        if let seconds = answer.retryAfter { fields[.retryAfter] = String(seconds) }
        if answer.status == 405 { fields[.allow] = "POST" }
        if !isRead { fields[.connection] = "close" }
        let status = HTTPResponse.Status(code: answer.status)
        try await writer.write(
            response: HTTPResponse(status: status, headerFields: fields),
            body: request.method == .head ? ResponseBody() : ResponseBody(byteBuffer: text))
        if isRead { return }
        var drained = 0
        while drained <= maxDrained, let piece = try await pieces.next() { drained += piece.readableBytes }
        throw UnreadBody()
    }

    @concurrent
    private static func body(
        of pieces: inout RequestBody.AsyncIterator, _ admission: InboundHandler.Admission, _ room: inout BodyRoom.Share,
        _ handler: InboundHandler
    ) async throws(InboundAnswer) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            while let piece = try await pieces.next() {
                let size = bytes.count + piece.readableBytes
                guard size <= admission.largestBody else { throw handler.tooLarge(admission) }
                guard admission.isKnown || room.grow(to: size) else {
                    throw InboundAnswer(503, "Too many large bodies arrive at the same time.", retryAfter: 10)
                }
                bytes += piece.readableBytesView
            }
        } catch let error as InboundAnswer {
            throw error
        } catch is SlowSenderHandler.TooSlow {
            throw handler.refusal(InboundAnswer(408, "The request took too long to arrive."), admission)
        } catch {
            throw InboundAnswer(400, "The request was cut off.")
        }
        return bytes
    }
}
