import BellhopAgent
import BellhopCore
import BellhopInbound
import HTTPTypes
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// An HTTP server, with limits for the size of requests and the number of connections.
struct WebServer: Sendable {
    private let kind: InboundConnections.Server
    private let place: InboundServer.Address?
    private let tls: ConsoleConfiguration.Certificate?
    private let maxConnections: Int
    private let logger: Logger
    private let isListening: @Sendable (Int) -> Void
    private let refusal: @Sendable (ConsoleRequest) async -> Problem?
    private let refused: @Sendable (ConsoleRequest, Problem) -> ConsoleAnswer
    private let answer: @Sendable (ConsoleRequest) async -> ConsoleAnswer

    /// The largest body of a request, in bytes.
    static let largestBody = 1 << 20
    /// The largest body of a request whose sender need not be known, such as a login, in bytes: strangers can send bodies on all
    /// connections at once.
    static let largestUnknownBody = 64 << 10
    /// The largest size of a request's address and header fields, in bytes. The longest condition fits, even percent-encoded.
    private static let largestHead = 32 << 10
    /// A person may send a long rule file over a slow connection. Strangers cannot use this up: if there are too many connections, the
    /// oldest incomplete one is closed.
    private static let timeouts = InboundServer.Timeouts(body: .seconds(60))

    /// - Parameters:
    ///   - maxConnections: the limit of open connections, if the process may have enough files open.
    ///   - isListening: called with the port.
    ///   - refusal: why a large body is not read, from the request without it; nil to read it.
    ///   - refused: the answer to a request whose body was not read.
    init(
        _ kind: InboundConnections.Server, at place: InboundServer.Address?, tls: ConsoleConfiguration.Certificate? = nil,
        maxConnections: Int, logger: Logger, isListening: @escaping @Sendable (Int) -> Void,
        refusal: @escaping @Sendable (ConsoleRequest) async -> Problem?,
        refused: @escaping @Sendable (ConsoleRequest, Problem) -> ConsoleAnswer,
        answer: @escaping @Sendable (ConsoleRequest) async -> ConsoleAnswer
    ) {
        self.kind = kind
        self.place = place
        self.tls = tls
        self.maxConnections = maxConnections
        self.logger = ServerLog.logger(logger)
        self.isListening = isListening
        self.refusal = refusal
        self.refused = refused
        self.answer = answer
    }

    /// Serves on threads with a low priority, so that the agent's work comes first.
    func run() async throws {
        guard let place else { return }
        let (loop, threads) = (LowPriorityThreads.loop(), LowPriorityThreads(count: 2))
        let result: Result<Void, any Error>
        do {
            try await withTaskExecutorPreference(threads) { try await run(at: place, on: loop) }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try? await loop.shutdownGracefully()  // its connections are closed
        await threads.stop()
        try result.get()
    }

    private func run(at place: InboundServer.Address, on loop: MultiThreadedEventLoopGroup) async throws {
        let connections = InboundConnections(most: maxConnections, of: kind)
        let http = HTTP1Channel(
            responder: { [refusal, refused, answer] request, writer, channel in
                try await Self.respond(request, writer, channel.remoteAddress?.ipAddress ?? "", refusal, refused, answer)
            },
            configuration: .init(
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: Self.largestHead, maxHeaderListSize: Self.largestHead, maxHeaderFieldCount: 100)))
        let guarded = GuardedChannel(http, Self.timeouts, connections)
        let address = ServerConfiguration(address: .hostname(place.host, port: place.port))
        let isListening = isListening
        let report: @Sendable (any Channel) async -> Void = { channel in
            try? await channel.pipeline.addHandler(AcceptPause(), position: .first).get()
            isListening(channel.localAddress?.port ?? place.port)
        }
        do {
            if let files = tls {
                let server = Server(
                    childChannelSetup: try TLSChannel(guarded, tlsConfiguration: ServerCertificate.serving(files, logger)),
                    configuration: address, onServerRunning: report, eventLoopGroup: loop, logger: logger)
                try await serve(connections) { try await server.run() }
            } else {
                let server = Server(
                    childChannelSetup: guarded, configuration: address, onServerRunning: report,
                    eventLoopGroup: loop, logger: logger)
                try await serve(connections) { try await server.run() }
            }
        } catch let problem as ServerProblem {
            throw problem
        } catch {
            throw ServerProblem(listeningAt: place, of: kind, error)
        }
    }

    private func serve(_ connections: InboundConnections, _ server: @escaping @Sendable () async throws -> Void) async throws {
        try await withGracefulShutdownHandler {
            try await server()
        } onGracefulShutdown: {
            connections.stop()
        }
    }

    @concurrent
    private static func respond(
        _ request: Request, _ writer: consuming ResponseWriter, _ peer: String,
        _ refusal: @Sendable (ConsoleRequest) async -> Problem?,
        _ refused: @Sendable (ConsoleRequest, Problem) -> ConsoleAnswer,
        _ reply: @Sendable (ConsoleRequest) async -> ConsoleAnswer
    ) async throws {
        var answer: ConsoleAnswer
        // The library takes `Host` out of the fields (RFC 9110, 7.2).
        let host = request.head.authority.map { [(name: "Host", value: $0)] } ?? []
        var whole = ConsoleRequest(
            request.method.rawValue, request.head.path ?? "/",
            headers: host + request.headers.map { ($0.name.rawName, $0.value) }, peer: peer)
        // A body has only one iterator: making a second one crashes the process.
        var pieces = request.body.makeAsyncIterator()
        var isRead = false
        do throws(Problem) {
            whole.body = try await body(of: &pieces, whole, refusal)
            isRead = true
            answer = await reply(whole)
        } catch {
            answer = refused(whole, error)
        }
        var fields = HTTPFields()
        for (name, value) in answer.fields {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        if !isRead { fields[.connection] = "close" }
        let status = HTTPResponse.Status(code: answer.status)
        switch answer.body {
        case .bytes(let bytes):
            let isBodiless = answer.status == 304 || answer.status == 204
            if !isBodiless { fields[.contentLength] = String(bytes.count) }
            let isEmpty = isBodiless || request.method == .head
            try await writer.write(
                response: HTTPResponse(status: status, headerFields: fields),
                body: isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
            if isRead { return }
            // The rest is read and dropped, so that the sender gets the answer before the connection closes.
            var drained = 0
            while drained <= InboundServer.maxDrained, let piece = try await pieces.next() { drained += piece.readableBytes }
            // Closes the connection.
            throw CancellationError()
        case .stream(let stream):
            let head = HTTPResponse(status: status, headerFields: fields)
            if request.method == .head { return try await writer.writeResponse(head) }
            try await writer.write(
                response: head,
                body: ResponseBody { body in
                    var stream = stream
                    while let text = try await stream.next() { try await body.write(ByteBuffer(string: text)) }
                    try await body.finish(nil)
                })
        }
    }

    @concurrent
    private static func body(
        of pieces: inout RequestBody.AsyncIterator, _ head: ConsoleRequest,
        _ refusal: @Sendable (ConsoleRequest) async -> Problem?
    ) async throws(Problem) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            while let piece = try await pieces.next() {
                let size = bytes.count + piece.readableBytes
                if size > largestBody { throw Problem(413, "The body has more than \(largestBody >> 20) MB.") }
                if bytes.count <= largestUnknownBody, size > largestUnknownBody, let problem = await refusal(head) {
                    throw problem
                }
                bytes += piece.readableBytesView
            }
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(400, "The body did not arrive completely: send it again.")
        }
        return bytes
    }
}
