import AsyncHTTPClient
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound
import BellhopTesting
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Testing

@testable import BellhopConsole

@Suite(.timeLimit(.minutes(5)), .closing) struct `The console's server` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    private static let logger: Logger = {
        var logger = Logger(label: "console") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        return logger
    }()

    /// Runs the server until the test asks it to stop, or ends.
    private func serve() async throws -> (address: String, stop: @Sendable () async -> Void) {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let server = ConsoleServer(fixture.view, logger: Self.logger) { listening.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: Self.logger))
        let running = Task { try await group.run() }
        whenTestEnds {
            await group.triggerGracefulShutdown()
            try await running.joined()
        }
        var port = ports.makeAsyncIterator()
        return ("http://127.0.0.1:\(try #require(await port.next()))", { await group.triggerGracefulShutdown() })
    }

    private func request(_ address: String, _ method: String = "GET", body: String? = nil) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address)
        request.method = .RAW(value: method)
        request.headers.add(name: "Authorization", value: "Bearer \(ConsoleFixture.tokens[.operator] ?? "")")
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        return request
    }

    @Test func `pages, the API and files are served, and a large body is refused`() async throws {
        let (address, _) = try await serve()
        let client = HTTPClient.shared
        let login = try await client.execute(HTTPClientRequest(url: address + "/login"), timeout: .seconds(20))
        #expect(login.status == .ok)
        #expect(login.headers.first(name: "Content-Security-Policy")?.contains("script-src 'self'") == true)
        let style = try await client.execute(HTTPClientRequest(url: address + "/assets/console.css"), timeout: .seconds(20))
        #expect(style.status == .ok && style.headers.first(name: "Content-Type") == "text/css; charset=utf-8")
        let paused = try await client.execute(
            self.request(address + "/api/v1/receivers/ops/pause", "POST", body: #"{"reason":"x"}"#), timeout: .seconds(20))
        #expect(paused.status == .ok)
        let head = try await client.execute(self.request(address + "/api/v1/status", "HEAD"), timeout: .seconds(20))
        #expect(head.status == .ok)
        let large = try? await client.execute(
            self.request(address + "/api/v1/silences", "POST", body: String(repeating: " ", count: WebServer.largestBody + 1)),
            timeout: .seconds(20))
        #expect(large == nil || large?.status == .payloadTooLarge)
        #expect(try await client.execute(self.request(address + "/api/v1/status"), timeout: .seconds(20)).status == .ok)
    }

    @Test func `a large body is read only from senders with a valid token`() async throws {
        let (address, _) = try await serve()
        let token = ConsoleFixture.tokens[.operator] ?? ""
        func status(_ size: Int, _ headers: [(String, String)] = []) async throws -> UInt {
            var request = HTTPClientRequest(url: address + "/login")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            for (name, value) in headers { request.headers.add(name: name, value: value) }
            let form = "token=\(token)&next="
            request.body = .bytes(ByteBuffer(string: form + String(repeating: "x", count: size - form.utf8.count)))
            return try await HTTPClient.shared.execute(request, timeout: .seconds(20)).status.code
        }
        let (most, bearer) = (WebServer.largestUnknownBody, "Bearer ")
        let refusals = [
            try await status(most), try await status(most + 1),
            try await status(most + 1, [("Authorization", bearer + "not-the-token-of-anyone")]),
            try await status(WebServer.largestBody, [("Authorization", bearer + token)]),
        ].map { $0 == 401 }
        #expect(refusals == [false, true, true, false])
    }

    @Test func `a browser whose large form is refused gets a page`() async throws {
        let (address, _) = try await serve()
        var form = HTTPClientRequest(url: address + "/workbench")
        form.method = .POST
        form.body = .bytes(ByteBuffer(string: String(repeating: "x", count: WebServer.largestUnknownBody + 1)))
        let answer = try await HTTPClient.shared.execute(form, timeout: .seconds(20))
        #expect(answer.status == .unauthorized && answer.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
        #expect(answer.headers.first(name: "Content-Security-Policy") != nil)
    }

    @Test func `a large body is read in a session, and a wrong token before one counts as wrong`() async throws {
        let cookie = try await fixture.logIn(as: .viewer).cookie
        #expect(await fixture.desk.refusal(ofLargeBody: ConsoleRequest("POST", "/login", headers: [("Cookie", cookie)])) == nil)
        #expect(await fixture.desk.refusal(ofLargeBody: ConsoleRequest("POST", "/login")) == .needsToken)
        let request = ConsoleRequest(
            "POST", "/login", headers: [("Authorization", "Bearer not-the-token-of-anyone")], peer: "192.0.2.7")
        for _ in 0..<Authenticator.maxFailures { #expect(await fixture.desk.refusal(ofLargeBody: request)?.status == 401) }
        #expect(await fixture.desk.refusal(ofLargeBody: request)?.status == 429)
    }

    @Test func `events arrive as they happen, and a server that stops ends the stream`() async throws {
        let (address, stop) = try await serve()
        let answer = try await HTTPClient.shared.execute(
            self.request(address + "/api/v1/events/stream?after=0"), timeout: .seconds(20))
        #expect(answer.headers.first(name: "Content-Type") == "text/event-stream")
        _ = try await fixture.happen(["A printer burns"])
        var text = ""
        for try await piece in answer.body {
            text += String(buffer: piece)
            if text.contains("A printer burns"), text.hasSuffix("\n\n") { await stop() }
        }
        #expect(text.contains("id: 1\nevent: task_created\ndata: {"))
    }

    @Test func `a login sent by a page of another site is refused`() async throws {
        let (address, _) = try await serve()
        func status(of origin: String) async throws -> UInt {
            var request = HTTPClientRequest(url: address + "/login")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.headers.add(name: "Origin", value: origin)
            request.body = .bytes(ByteBuffer(string: "token=\(ConsoleFixture.tokens[.admin] ?? "")"))
            return try await HTTPClient.shared.execute(request, timeout: .seconds(20)).status.code
        }
        let (foreign, own) = (try await status(of: "http://evil.example"), try await status(of: address))
        #expect(foreign == 403 && own != 403)
    }

    @Test func `a request of HTTP 1.0 that expects 100 Continue gets only its answer`() async throws {
        let (address, _) = try await serve()
        let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        let client = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        let answer = try await client.executeThenClose { incoming, outgoing in
            let request =
                "POST /api/v1/inquiries HTTP/1.0\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
            try await outgoing.write(ByteBuffer(string: request))
            var text = ""
            for try await piece in incoming { text += String(buffer: piece) }
            return text
        }
        #expect(answer.hasPrefix("HTTP/1.") && !answer.contains("100 Continue"), "\(answer)")
    }

    private static let certificate = TestCertificate.first.certificate
    private static let otherKey = TestCertificate.second.key

    @Test(arguments: [(certificate, otherKey), (certificate, ""), ("", otherKey), ("garbage", "garbage")])
    func `a certificate and a key that do not match are reported`(_ certificate: String, _ key: String) async throws {
        let folder = try TemporaryFolder()
        let files = (try folder.write("cert.pem", certificate), try folder.write("key.pem", key))
        var configuration = fixture.view.configuration
        configuration.tls = .init(certificate: files.0, key: files.1)
        let view = AgentView(inquirer: fixture.view.inquirer, clock: fixture.clock, configuration: configuration)
        let problem = await #expect(throws: ServerProblem.self) { try await ConsoleServer(view, logger: Self.logger).run() }
        #expect(problem?.isTemporary == false)
        #expect(problem?.message.hasPrefix("The console cannot use the certificate \(files.0) with the key \(files.1): ") == true)
    }

    @Test func `the doctor names the last day of a certificate, and notes it if it is near`() throws {
        let folder = try TemporaryFolder()
        var console = ConsoleConfiguration()
        #expect(ServerCertificate.finding(console, at: Timestamp(seconds: 0)) == nil)
        console.tls = .init(
            certificate: try folder.write("cert.pem", Self.certificate),
            key: try folder.write("key.pem", TestCertificate.first.key))
        let end = try ServerCertificate(#require(console.tls)).end
        func finding(_ left: Duration) -> Finding? { ServerCertificate.finding(console, at: end - left) }
        #expect(finding(.days(15))?.state == .ok && finding(.days(13))?.state == .note && finding(.zero)?.state == .missing)
        for left in [Duration.days(15), .days(13), .zero] {
            #expect(finding(left)?.text.contains(end.rfc3339.prefix(10)) == true)
        }
        console.tls?.key = try folder.write("other.pem", Self.otherKey)
        #expect(finding(.days(15))?.state == .missing && finding(.days(15))?.text.contains("the key is not") == true)
    }

    @Test func `each renewed certificate that cannot be used is reported once`() throws {
        let folder = try TemporaryFolder()
        let certificate = try folder.write("cert.pem", Self.certificate)
        let key = try folder.write("key.pem", TestCertificate.first.key)
        let problems = Recording<String>()
        let renewal = CertificateRenewal(of: .init(certificate: certificate, key: key)) { problems.add($0.message) }
        for text in [TestCertificate.first.key, "garbage", TestCertificate.first.key, Self.otherKey] {
            try folder.write("key.pem", text)
            for _ in 1...2 { _ = renewal.change }
        }
        try #require(problems.all.count == 2)
        #expect(problems.all[0].contains("no key can be read from \(key)"))
        #expect(problems.all[1].contains("the key is not the certificate's"))
    }

    @Test func `an address in use is reported in one sentence`() async throws {
        let (address, _) = try await serve()
        var configuration = fixture.view.configuration
        configuration.place?.port = Int(address.split(separator: ":").last ?? "") ?? 0
        let other = AgentView(inquirer: fixture.view.inquirer, clock: fixture.clock, configuration: configuration)
        let problem = await #expect(throws: ServerProblem.self) {
            try await ConsoleServer(other, logger: Self.logger).run()
        }
        let place = "127.0.0.1:\(configuration.place?.port ?? 0)"
        #expect(problem?.message == "Another program uses \(place), the address in `console`: stop it, or name another address.")
    }
}
