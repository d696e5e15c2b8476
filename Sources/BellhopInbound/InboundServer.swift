import BellhopCore
import HTTPTypes
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// The HTTP server for requests from outside. Accepts none after it was asked to stop, and answers those it has.
public struct InboundServer: Service {
    /// Where it listens.
    public struct Place: Sendable, Hashable {
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

    /// Why it cannot listen.
    public struct Problem: Error, Sendable, Hashable {
        /// One sentence.
        public var message: String
    }

    private let place: Place
    private let desk: InboundDesk
    private let logger: Logger
    private let isListening: @Sendable (Int) -> Void

    /// In bytes, of all header fields of a request.
    private static let largestHead = 16 << 10
    /// How long a request may take to arrive.
    private static let patience = Duration.seconds(10)
    private static let idle = TimeAmount.seconds(30)
    /// How much of a refused body is read, in bytes, so that the sender gets the answer before the connection ends.
    private static let mostDrained = 16 << 20

    /// - Parameter isListening: called with the port.
    public init(
        at place: Place, desk: InboundDesk, logger: Logger, isListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.place = place
        self.desk = desk
        self.logger = logger
        self.isListening = isListening
    }

    public func run() async throws {
        let channel = HTTP1Channel(
            responder: { [desk] request, writer, _ in try await Self.respond(request, writer, desk) },
            configuration: .init(
                idleTimeout: Self.idle,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: Self.largestHead, maxHeaderListSize: Self.largestHead, maxHeaderFieldCount: 100)))
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(address: .hostname(place.host, port: place.port)),
            onServerRunning: { [isListening, place] channel in isListening(channel.localAddress?.port ?? place.port) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        do {
            try await server.run()
        } catch {
            throw Problem(message: "Bellhop cannot listen at \(place.host):\(place.port), which `inbound` names: \(error).")
        }
    }

    /// Ends a connection whose request was not read to its end.
    private struct Unread: Error {}

    @concurrent
    private static func respond(
        _ request: Request, _ writer: consuming ResponseWriter, _ desk: InboundDesk
    ) async throws {
        let path = String((request.head.path ?? "/").prefix { $0 != "?" })
        // A body has one iterator only: asking for a second one ends the process.
        var pieces = request.body.makeAsyncIterator()
        var answer: InboundAnswer
        var isRead = false
        do throws(InboundAnswer) {
            let limit = try desk.admit(
                method: request.method.rawValue, path: path, announced: request.headers[.contentLength].flatMap { Int($0) })
            let body = try await Self.body(of: &pieces, limit: limit)
            isRead = true
            let headers = request.headers.map { (name: $0.name.rawName, value: $0.value) }
            answer = await desk.answer(InboundRequest(headers: headers, body: body), to: path)
        } catch {
            answer = error
        }
        let text = ByteBuffer(string: answer.text + "\n")
        var fields: HTTPFields = [.contentType: "text/plain; charset=utf-8", .contentLength: String(text.readableBytes)]
        if let seconds = answer.retryAfter { fields[.retryAfter] = String(seconds) }
        if answer.status == 405 { fields[.allow] = "POST" }
        if !isRead { fields[.connection] = "close" }
        let status = HTTPResponse.Status(code: answer.status)
        try await writer.write(
            response: HTTPResponse(status: status, headerFields: fields), body: ResponseBody(byteBuffer: text))
        if isRead { return }
        var drained = 0
        while drained <= mostDrained, let piece = try await pieces.next() { drained += piece.readableBytes }
        throw Unread()
    }

    @concurrent
    private static func body(
        of pieces: inout RequestBody.AsyncIterator, limit: Int
    ) async throws(InboundAnswer) -> [UInt8] {
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        do {
            while let piece = try await pieces.next() {
                guard bytes.count + piece.readableBytes <= limit else { throw InboundDesk.tooLarge(limit) }
                guard start.duration(to: .now) < patience else {
                    throw InboundAnswer(408, "The request took too long to arrive.")
                }
                bytes += piece.readableBytesView
            }
        } catch let error as InboundAnswer {
            throw error
        } catch {
            throw InboundAnswer(400, "The request was cut off.")
        }
        return bytes
    }
}
