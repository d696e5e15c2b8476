import AsyncHTTPClient
import BellhopCore
import BellhopTesting
import Crypto
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization
import Testing

@testable import BellhopInbound

extension DeskRecorder {
    /// Runs a server, and `body` with its port.
    func serve(
        _ endpoint: InboundEndpoint, timeouts: InboundServer.Timeouts = .init(head: .seconds(600), body: .seconds(600)),
        maxConnections: Int = 256, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        try await serve(handler(endpoint), timeouts: timeouts, maxConnections: maxConnections, body)
    }

    func serve(
        _ handler: InboundHandler, timeouts: InboundServer.Timeouts = .init(head: .seconds(600), body: .seconds(600)),
        maxConnections: Int = 256, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream<Int>.makeStream()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = InboundServer(
            at: .init(host: "127.0.0.1", port: 0), handler: handler, timeouts: timeouts, maxConnections: maxConnections,
            logger: logger, isListening: { port.yield($0) })
        let group = ServiceGroup(services: [server], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for await number in ports {
                try await body(number)
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

/// Log lines in memory. A class over a mutex, because a server writes them from several tasks.
private final class LogLines: Sendable {
    struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.kept.withLock { $0.append("\(event.message)") } }
    }

    private let kept = Mutex<[String]>([])

    var all: [String] { kept.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
}

/// The server over real HTTP.
@Suite(.timeLimit(.minutes(5))) struct `The inbound server` {
    private let recorder = DeskRecorder()

    private func serve(_ endpoints: InboundEndpoint, _ body: @escaping @Sendable (String) async throws -> Void) async throws {
        try await recorder.serve(endpoints) { try await body("http://127.0.0.1:\($0)") }
    }

    private func send(
        _ address: String, method: String = "POST", _ body: [UInt8] = Array(#"{"service": "a"}"#.utf8),
        headers: [(String, String)] = [("Authorization", "Bearer token")]
    ) async throws -> (status: Int, headers: [String: String]) {
        var request = HTTPClientRequest(url: address)
        request.method = .RAW(value: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if method == "POST" { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        _ = try await response.body.collect(upTo: 1 << 20)
        return (
            Int(response.status.code),
            Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        )
    }

    @Test func `each request on a connection is answered 202 once its event is stored`() async throws {
        try await serve(.events()) { address in
            for query in 0..<21 {
                let answer = try await send(address + "/in/deploys?x=\(query)")
                #expect(answer.status == 202)
            }
        }
        #expect(recorder.events.count == 21)
    }

    @Test func `refused requests get a reason, and the server keeps running`() async throws {
        try await serve(.events()) { address in
            #expect(try await send(address + "/other").status == 404)
            let wrong = try await send(address + "/in/deploys", method: "GET")
            #expect(wrong.status == 405 && wrong.headers["allow"] == "POST")
            let unknown = try await send(address + "/in/deploys", headers: [])
            #expect(unknown.status == 401 && unknown.headers["www-authenticate"] == #"Bearer realm="Bellhop""#)
            #expect(try await send(address + "/in/deploys", Array("{".utf8)).status == 400)
            #expect(try await send(address + "/in/deploys", [UInt8](repeating: 32, count: 1001)).status == 413)
            // The answer comes before such a body is sent; this client may give up sending it instead of reading the answer.
            let large = try? await send(address + "/in/deploys", [UInt8](repeating: 32, count: 10_000_000))
            #expect(large == nil || large?.status == 413)
            #expect(try await send(address + "/in/deploys").status == 202)
        }
        #expect(recorder.events.count == 1)
    }

    @Test func `requests above the rate are answered 429 with Retry-After`() async throws {
        try await serve(.events(rate: 3)) { address in
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await send(address + "/in/deploys").status) }
            #expect(statuses == [202, 202, 202, 429])
            #expect(try await send(address + "/in/deploys").headers["retry-after"] != nil)
        }
    }

    @Test func `a body of unknown length is limited too`() async throws {
        try await serve(.events()) { address in
            var request = HTTPClientRequest(url: address + "/in/deploys")
            request.method = .POST
            request.headers.add(name: "Authorization", value: "Bearer token")
            let pieces = AsyncStream<ByteBuffer> { stream in
                for _ in 0..<50 { stream.yield(ByteBuffer(repeating: 32, count: 100)) }
                stream.finish()
            }
            request.body = .stream(pieces, length: .unknown)
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
            #expect(response.status.code == 413)
        }
    }

    @Test func `bodies up to max_body are read, but large ones of unknown senders only as long as there is room`() async throws {
        let largest = 20_000_000
        let key = Array("secret".utf8)
        let endpoint = InboundEndpoint(
            path: "/in/snow", key: .signature(SignatureCheck(keys: [key], header: "X-Signature")),
            purpose: .push(source: "my-work"), largestBody: largest, rate: Rate(count: 1000, per: .seconds(60)))
        let handler = recorder.handler(endpoint)
        try await recorder.serve(handler) { port in
            let address = "http://127.0.0.1:\(port)"
            @Sendable func post(_ count: Int) async throws -> (status: Int, headers: [String: String]) {
                let body = [UInt8](repeating: 32, count: count)
                let code = Hexadecimal.text(Array(HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: key))))
                return try await send(address + "/in/snow", body, headers: [("X-Signature", code)])
            }
            let whole = try await post(largest)
            #expect(whole.status == 202)
            // Two bodies of unknown senders stay unfinished.
            try await withThrowingTaskGroup(of: Int.self) { unknownSenders in
                var ends: [AsyncStream<ByteBuffer>.Continuation] = []
                for _ in 0..<2 {
                    let (pieces, source) = AsyncStream<ByteBuffer>.makeStream()
                    ends.append(source)
                    source.yield(ByteBuffer(repeating: 32, count: largest))
                    unknownSenders.addTask {
                        var request = HTTPClientRequest(url: address + "/in/snow")
                        request.method = .POST
                        request.headers.add(name: "X-Signature", value: "00")
                        request.body = .stream(pieces, length: .unknown)
                        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code)
                    }
                }
                while handler.bodies.left > 200_000 { try await Task.sleep(for: .milliseconds(5)) }
                let large = try await post(1_000_000)
                #expect(large.status == 503 && large.headers["retry-after"] != nil)
                let small = try await post(60_000)
                #expect(small.status == 202)
                for end in ends { end.finish() }
                for try await status in unknownSenders { #expect(status == 401) }
            }
            let late = try await post(1_000_000)
            #expect(late.status == 202)
        }
    }

    @Test func `a server that is cancelled logs nothing`() async throws {
        let lines = LogLines()
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = InboundServer(
            at: .init(host: "127.0.0.1", port: 0), handler: recorder.handler(.events()), logger: lines.logger,
            isListening: { port.yield($0) })
        await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            _ = await ports.first { _ in true }
            tasks.cancelAll()
            while await tasks.nextResult() != nil {}
        }
        #expect(lines.all == [])
    }

    @Test func `the log of a server has its errors, and not that its end was already under way`() {
        let lines = LogLines()
        let logger = ServerLog.logger(lines.logger)
        logger.info("Server started")
        logger.error("Waiting on child channel: \(CancellationError())")
        logger.error("Server shutdown error: \(ChannelError.alreadyClosed)")
        logger.error("Waiting on child channel: \(ChannelError.eof)")
        #expect(lines.all == ["Waiting on child channel: \(ChannelError.eof)"])
    }

    @Test func `an address to listen at must have a host and a valid port`() {
        #expect(InboundServer.Address("127.0.0.1:8091") == .init(host: "127.0.0.1", port: 8091))
        #expect(InboundServer.Address("[::1]:80") == .init(host: "::1", port: 80))
        #expect(InboundServer.Address("localhost:0") == .init(host: "localhost", port: 0))
        for wrong in ["8091", ":8091", "127.0.0.1", "127.0.0.1:", "::1:80", "h:70000", "h:x", ""] {
            #expect(InboundServer.Address(wrong) == nil)
        }
    }
}
