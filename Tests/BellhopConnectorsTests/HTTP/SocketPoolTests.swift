import BellhopCore
import BellhopTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import BellhopConnectors

/// How the client uses its connections to a server.
@Suite(.closing) struct SocketPoolTests {
    private func connect(_ configuration: HTTPConnection.Configuration = .init(name: "test")) throws -> HTTPConnection {
        let connection = try HTTPConnection(configuration, clock: TestClock())
        whenTestEnds { try await connection.shutdown() }
        return connection
    }

    private func body(_ answer: HTTPResponse) -> String { String(decoding: answer.body, as: UTF8.self) }

    /// Waits until a condition holds; real time, because sockets have no other.
    private func wait(until condition: () -> Bool) async throws {
        for _ in 0..<2_000 where !condition() { try await Task.sleep(for: .milliseconds(5)) }
        #expect(condition())
    }

    @Test func `requests one after the other use one socket, whatever their answers are`() async throws {
        let answers: [String: String] = [
            "HEAD": "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", "GET": "HTTP/1.1 304 Not Modified\r\n\r\n",
            "POST": "HTTP/1.1 100 Continue\r\n\r\n" + SocketServer.ok("posted"),
            "PUT": "HTTP/1.1 500 Broken\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nput\r\n0\r\n\r\n",
            "DELETE": "HTTP/1.1 204 No Content\r\n\r\n",
        ]
        let (server, address) = try await SocketServer.serve { request, send in
            send(answers[String(request.text.prefix { $0 != " " })] ?? "")
        }
        let connection = try connect()
        var seen: [String: String] = [:]
        for method in answers.keys {
            let answer = try await connection.send(HTTPRequest(method, HTTPAddress(address), body: method == "POST" ? [1] : nil))
            seen[method] = "\(answer.status) \(body(answer))"
        }
        #expect(seen == ["HEAD": "200 ", "GET": "304 ", "POST": "200 posted", "PUT": "500 put", "DELETE": "204 "])
        #expect(server.connections == 1)
    }

    @Test func `a request names its host, and a write without a body its length`() async throws {
        let (server, address) = try await SocketServer.serve { _ in "ok" }
        let connection = try connect()
        let place = try HTTPAddress(address).place
        _ = try await connection.send(HTTPRequest("POST", HTTPAddress(address + "/a?b=c")))
        _ = try await connection.send(HTTPRequest(HTTPAddress(address)))
        let texts = server.requests.map { $0.text.lowercased() }
        #expect(texts.first?.hasPrefix("post /a?b=c http/1.1\r\n") == true)
        #expect(texts.allSatisfy { $0.contains("\r\nhost: \(place)\r\n") })
        #expect(texts.map { $0.contains("content-length: 0\r\n") } == [true, false])
    }

    @Test(arguments: [
        SocketServer.ok("ok", fields: "Connection: close\r\n"), "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ])
    func `a socket that the server wants to close is not used again`(_ text: String) async throws {
        let (server, address) = try await SocketServer.serve { _, send in send(text) }
        let connection = try connect()
        for _ in 0..<3 { #expect(body(try await connection.send(HTTPRequest(HTTPAddress(address)))) == "ok") }
        #expect(server.connections == 3)
    }

    @Test func `a body without a length ends with its connection`() async throws {
        let (_, address) = try await SocketServer.serve { _, send in
            send("HTTP/1.1 200 OK\r\n\r\nall of it")
            send("")
        }
        #expect(body(try await connect().send(HTTPRequest(HTTPAddress(address)))) == "all of it")
    }

    @Test func `bytes that no request asked for are not the answer to the next one`() async throws {
        let (server, address) = try await SocketServer.serve { request, send in
            send(SocketServer.ok("\(request.connection)") + SocketServer.ok("another's"))
        }
        let connection = try connect()
        for number in 1...3 {
            #expect(body(try await connection.send(HTTPRequest(HTTPAddress(address)))) == "\(number)")
        }
        #expect(server.connections == 3)
    }

    @Test func `bytes that no request asked for fail no request that waits for the socket`() async throws {
        let (_, address) = try await SocketServer.serve { _, send in
            send(SocketServer.ok("its own") + SocketServer.ok("another's"))
        }
        let connection = try connect()
        let target = try HTTPAddress(address)
        try await withThrowingTaskGroup { group in
            for _ in 0..<150 { group.addTask { try await connection.send(HTTPRequest(target)) } }
            for try await answer in group { #expect(body(answer) == "its own") }
        }
    }

    @Test(arguments: [
        ("HEAD", "200 OK", "Content-Length: 999999999\r\n"), ("GET", "304 Not Modified", "Content-Length: 999999999\r\n"),
        ("POST", "200 OK", "Content-Length: 0\r\n"), ("DELETE", "204 No Content", ""),
    ])
    func `an answer without a body may announce a large one, or its compression`(
        _ method: String, _ status: String, _ fields: String
    ) async throws {
        let (server, address) = try await SocketServer.serve { _, send in
            send("HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\n\(fields)\r\n")
        }
        let connection = try connect()
        for _ in 0..<2 {
            let answer = try await connection.send(HTTPRequest(method, HTTPAddress(address)))
            #expect(status.hasPrefix("\(answer.status) "))
            #expect(answer.body.isEmpty)
        }
        #expect(server.connections == 1)
    }

    @Test func `a request ends at its deadline, even if the server sends no more of a body that is not needed`() async throws {
        let (_, address) = try await SocketServer.serve { _, send in send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") }
        var request = HTTPRequest(try HTTPAddress(address), timeout: .milliseconds(500))
        request.bodyNotNeededFor = .any
        let start = ContinuousClock.now
        #expect(try await connect().send(request).status == 200)
        #expect(start.duration(to: .now) < .milliseconds(1_900))
    }

    /// Like TLS, which waits for the server before it closes.
    private final class Hold: ChannelOutboundHandler {
        typealias OutboundIn = NIOAny

        var agree: () -> Void = {}

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            agree = { context.close(mode: mode, promise: promise) }
        }
    }

    /// Opens one socket. Then there are no more descriptors until it has closed, and no server.
    private final class FullMachine: SocketOpening {
        let channel = EmbeddedChannel()
        let attempts = Atomic(0)

        func open(
            for call: Call, in pool: SocketPool, on loop: any EventLoop, then: @escaping (Result<ClientSocket, any Error>) -> Void
        ) {
            if attempts.add(1, ordering: .relaxed).newValue == 1 {
                // Nothing else makes a socket idle here.
                call.end(CancellationError())
                let socket = ClientSocket(channel, to: call.request.origin, in: pool)
                return then(
                    Result {
                        try channel.pipeline.syncOperations.addHandler(socket)
                        return socket
                    })
            }
            guard channel.isActive else { return then(.failure(ClientError.connectTimeout)) }
            then(.failure(IOError(errnoCode: 24, reason: "socket")))  // EMFILE
        }
    }

    @Test func `if descriptors run out, a request waits once until the idle sockets to other servers have closed`() throws {
        let machine = FullMachine()
        let hold = Hold()
        try machine.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        try machine.channel.pipeline.syncOperations.addHandler(hold)
        let pool = SocketPool(on: machine.channel.embeddedEventLoop, machine, idle: .seconds(60))
        var errors: [any Error] = []
        for host in ["first", "second"] {
            let request = CallRequest(
                origin: .init(host: host, port: 443, isSecure: true), head: .init(version: .http1_1, method: .GET, uri: "/"),
                body: nil, progress: Progress(), deadline: .distantFuture, isRepeatable: true)
            let reader = AnswerCollector(limit: 10, bodyNotNeededFor: nil, request.progress)
            let call = Call(request, reader) { result in if case .failure(let error) = result { errors.append(error) } }
            pool.begin(call)
        }
        #expect(machine.attempts.load(ordering: .relaxed) == 2)
        #expect(errors.count == 1)
        hold.agree()
        machine.channel.embeddedEventLoop.run()
        #expect(machine.attempts.load(ordering: .relaxed) == 3)
        #expect(errors.last as? ClientError == .connectTimeout)
        _ = pool.shutDown()
    }

    @Test func `a socket that is being closed is not used again, even if the server has yet to agree`() throws {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        let configuration = HTTPConnection.Configuration(name: "test")
        let opener = SocketOpener(configuration, TLSContext(try HTTPConnection.tls(configuration)))
        let pool = SocketPool(on: channel.embeddedEventLoop, opener, idle: .seconds(1))
        let socket = ClientSocket(channel, to: .init(host: "127.0.0.1", port: 80, isSecure: true), in: pool)
        try channel.pipeline.syncOperations.addHandlers([Hold(), socket])
        #expect(socket.isUsable)
        socket.close()
        #expect(channel.isActive)
        #expect(!socket.isUsable)
    }

    @Test func `a request that was given up leaves no answer for the next one`() async throws {
        let late = Mutex<(@Sendable () -> Void)?>(nil)
        let (server, address) = try await SocketServer.serve { request, send in
            if request.connection == 1 {
                late.withLock { $0 = { send(SocketServer.ok("late")) } }
            } else {
                late.withLock { $0?() }
                send(SocketServer.ok("its own"))
            }
        }
        let connection = try connect()
        let target = try HTTPAddress(address)
        let given = Task { try await connection.send(HTTPRequest(target)) }
        try await wait { server.requests.count == 1 }
        given.cancel()
        let error = await #expect(throws: TransportError.self) { try await given.value }
        #expect(error?.kind == .cancelled && error?.mayHaveArrived == true)
        #expect(body(try await connection.send(HTTPRequest(target))) == "its own")
    }

    @Test func `at most 64 sockets lead to a server, and requests that wait for one are sent later`() async throws {
        let held = Mutex<[@Sendable () -> Void]>([])
        let (server, address) = try await SocketServer.serve { _, send in
            let waiting = held.withLock { held in
                held.append { send(SocketServer.ok("ok")) }
                return held.count
            }
            if waiting > 64 { send(SocketServer.ok("ok")) }
        }
        let connection = try connect()
        let target = try HTTPAddress(address)
        try await withThrowingTaskGroup { group in
            for _ in 0..<150 { group.addTask { try await connection.send(HTTPRequest(target)).status } }
            try await wait { server.requests.count == 64 }
            // One that is given up while it waits is never sent.
            let given = Task { try await connection.send(HTTPRequest(target.with(target: "/given-up"))) }
            try await Task.sleep(for: .milliseconds(20))
            given.cancel()
            let error = await #expect(throws: TransportError.self) { try await given.value }
            #expect(error?.mayHaveArrived == false)
            for answer in held.withLock(\.self) { answer() }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.connections == 64)
        #expect(server.requests.count == 150)
        #expect(!server.requests.contains { $0.text.contains("given-up") })
    }

    @Test func `a request that waits for a socket until its time is over was not sent`() async throws {
        let (server, address) = try await SocketServer.serve { _, _ in }
        let connection = try connect()
        let target = try HTTPAddress(address)
        try await withThrowingTaskGroup { group in
            for _ in 0..<64 { group.addTask { _ = try await connection.send(HTTPRequest(target)) } }
            try await wait { server.requests.count == 64 }
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(HTTPRequest("POST", target, body: [1], timeout: .milliseconds(50)))
            }
            #expect(error?.mayHaveArrived == false)
            #expect(error?.message.contains("all 64 connections to it were in use for 0.05 s") == true, "\(error?.message ?? "")")
            group.cancelAll()
            while let result = await group.nextResult() { #expect(throws: TransportError.self) { try result.get() } }
        }
        #expect(server.requests.count == 64)
    }

    @Test func `if a socket closes while requests wait for one, another is opened for them`() async throws {
        let (server, address) = try await SocketServer.serve { request, send in
            // The server ends each connection with its first answer.
            send(SocketServer.ok("ok", fields: "Connection: close\r\n"))
            send("")
        }
        let connection = try connect()
        let target = try HTTPAddress(address)
        try await withThrowingTaskGroup { group in
            for _ in 0..<200 { group.addTask { try await connection.send(HTTPRequest(target)).status } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.connections == 200)
    }

    /// Its first connection answers one request, `/first`, and ends with the next one. Later connections answer all.
    private static let closing: @Sendable (SocketServer.Request, @escaping @Sendable (String) -> Void) -> Void = {
        request, send in
        send(request.connection == 1 && !request.text.contains("/first") ? "" : SocketServer.ok("\(request.connection)"))
    }

    @Test(
        arguments: [("GET", nil, true), ("GET", false, false), ("POST", nil, false), ("POST", true, true)]
            as [(String, Bool?, Bool)])
    func `a request over a used socket that the server closes just then is sent again, if it may be`(
        _ method: String, _ isRepeatable: Bool?, _ isSentAgain: Bool
    ) async throws {
        let (server, address) = try await SocketServer.serve(Self.closing)
        let connection = try connect()
        let target = try HTTPAddress(address)
        #expect(body(try await connection.send(HTTPRequest(target.with(target: "/first")))) == "1")
        var request = HTTPRequest(method, target)
        request.isRepeatable = isRepeatable
        if isSentAgain {
            #expect(body(try await connection.send(request)) == "2")
        } else {
            let error = await #expect(throws: TransportError.self) { try await connection.send(request) }
            #expect(error?.kind == .cut && error?.mayHaveArrived == true)
        }
        #expect(server.requests.count == (isSentAgain ? 3 : 2))
    }

    @Test func `a request over a used socket is also sent again if the server closes it without announcing that over TLS`()
        async throws
    {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        let (server, address) = try await SocketServer.serve(over: TLSServer.context(), Self.closing)
        let connection = try connect(.init(name: "test", ca: ca))
        let target = try HTTPAddress(address)
        #expect(body(try await connection.send(HTTPRequest(target.with(target: "/first")))) == "1")
        #expect(body(try await connection.send(HTTPRequest(target))) == "2")
        #expect(server.requests.count == 3)
    }

    @Test func `a socket that was opened for a request that had ended meanwhile may be closed just then as well`() async throws {
        let (server, address) = try await SocketServer.serve { request, send in
            send(request.connection == 1 ? "" : SocketServer.ok("again"))
        }
        let connection = try connect()
        let target = try HTTPAddress(address)
        let error = await #expect(throws: TransportError.self) {
            try await connection.send(HTTPRequest(target, timeout: .nanoseconds(1)))
        }
        #expect(error?.mayHaveArrived == false)
        try await wait { server.connections == 1 }
        try await Task.sleep(for: .milliseconds(50))
        #expect(body(try await connection.send(HTTPRequest(target))) == "again")
    }

    @Test func `a request over a new socket that ends without an answer is not sent again`() async throws {
        let (server, address) = try await SocketServer.serve { _, send in send("") }
        await #expect(throws: TransportError.self) { try await connect().send(HTTPRequest(HTTPAddress(address))) }
        #expect(server.requests.count == 1)
    }

    @Test func `a socket that nobody uses is closed`() async throws {
        let (server, address) = try await SocketServer.serve { _ in "ok" }
        let configuration = HTTPConnection.Configuration(name: "test")
        let opener = SocketOpener(configuration, TLSContext(try HTTPConnection.tls(configuration)))
        let clients = HTTPClients(opener, idle: .milliseconds(100))
        whenTestEnds { try await clients.shutdown() }
        let connection = try connect()
        func send() async throws {
            let request = connection.prepared(HTTPRequest(try HTTPAddress(address)), Progress(), deadline: .distantFuture)
            _ = try await clients.answer(to: request) { AnswerCollector(limit: 10, bodyNotNeededFor: nil, Progress()) }
        }
        try await send()
        try await send()
        #expect(server.connections == 1)
        for _ in 0..<100 where server.connections == 1 {
            try await Task.sleep(for: .milliseconds(200))
            try await send()
        }
        #expect(server.connections > 1)
    }

    @Test func `a shutdown ends the requests in progress, and later ones are refused`() async throws {
        let (server, address) = try await SocketServer.serve { _, _ in }
        let connection = try HTTPConnection(.init(name: "test"), clock: TestClock())
        let target = try HTTPAddress(address)
        let open = Task { try await connection.send(HTTPRequest(target)) }
        try await wait { server.requests.count == 1 }
        try await connection.shutdown()
        await #expect(throws: TransportError.self) { try await open.value }
        let error = await #expect(throws: TransportError.self) { try await connection.send(HTTPRequest(target)) }
        #expect(error?.message.hasSuffix("is already shut down.") == true)
        #expect(error?.mayHaveArrived == false)
        #expect(server.requests.count == 1)
    }

    @Test func `a server that accepts no connection in time was sent nothing`() async throws {
        // An address for documentation, which no machine has (RFC 5737): packets to it are lost or refused.
        var configuration = HTTPConnection.Configuration(name: "test", timeout: .milliseconds(200))
        configuration.plainHTTP = true
        let connection = try connect(configuration)
        let error = await #expect(throws: TransportError.self) {
            try await connection.send(HTTPRequest("POST", HTTPAddress("http://192.0.2.1/"), body: [1]))
        }
        #expect(error?.kind == .unreachable)
        #expect(error?.mayHaveArrived == false)
    }

    @Test func `a server that stops in the TLS handshake was sent nothing`() async throws {
        let (_, address) = try await SocketServer.serve { _, _ in }
        let connection = try connect(.init(name: "test", timeout: .milliseconds(300)))
        let error = await #expect(throws: TransportError.self) {
            try await connection.send(
                HTTPRequest("POST", HTTPAddress(address.replacing("http://127.0.0.1", with: "https://localhost")), body: [1]))
        }
        #expect(error?.kind == .tls)
        #expect(error?.mayHaveArrived == false)
        #expect(error?.message.contains("did not finish the TLS handshake") == true, "\(error?.message ?? "")")
    }
}
