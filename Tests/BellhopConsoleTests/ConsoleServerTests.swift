import AsyncHTTPClient
import BellhopAgent
import BellhopCore
import BellhopInbound
import BellhopTesting
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Testing

@testable import BellhopConsole

@Suite struct `The console's server` {
    /// Runs the server during the body, passes it the address, and then asks the server to stop.
    private func serve(
        _ fixture: ConsoleFixture,
        _ body: @escaping @Sendable (_ address: String, _ stop: @escaping @Sendable () async -> Void) async throws -> Void
    ) async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "console") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        let server = ConsoleServer(fixture.view, logger: logger) { listening.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var port = ports.makeAsyncIterator()
            let address = "http://127.0.0.1:\(try #require(await port.next()))"
            do { try await body(address) { await group.triggerGracefulShutdown() } } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
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

    @Test(.timeLimit(.minutes(1))) func `pages, the API and files are served, and a large body is refused`() async throws {
        let fixture = try await ConsoleFixture()
        try await serve(fixture) { address, _ in
            let client = HTTPClient.shared
            let login = try await client.execute(HTTPClientRequest(url: address + "/login"), timeout: .seconds(20))
            #expect(login.status == .ok)
            #expect(login.headers.first(name: "Content-Security-Policy")?.contains("script-src 'self'") == true)
            let style = try await client.execute(HTTPClientRequest(url: address + "/assets/console.css"), timeout: .seconds(20))
            #expect(style.status == .ok && style.headers.first(name: "Content-Type") == "text/css; charset=utf-8")
            let paused = try await client.execute(
                self.request(address + "/api/v1/receivers/ops/pause", "POST", body: #"{"why":"x"}"#), timeout: .seconds(20))
            #expect(paused.status == .ok)
            let head = try await client.execute(self.request(address + "/api/v1/status", "HEAD"), timeout: .seconds(20))
            #expect(head.status == .ok)
            let large = try? await client.execute(
                self.request(
                    address + "/api/v1/silences", "POST", body: String(repeating: " ", count: WebServer.largestBody + 1)),
                timeout: .seconds(20))
            #expect(large == nil || large?.status == .payloadTooLarge)
            #expect(try await client.execute(self.request(address + "/api/v1/status"), timeout: .seconds(20)).status == .ok)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `events arrive as they happen, and a server that stops ends the stream`() async throws {
        let fixture = try await ConsoleFixture()
        try await serve(fixture) { address, stop in
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
    }

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBfzCCASWgAwIBAgIUEqvwQ3qIf3ChJEqZsixkSLLw8xcwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNjA2MDE1OVoYDzIxMjYxMTAy
        MDYwMTU5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAQcc5QLnsDXf3TMApmK0JSQBIEAhnQdpTw6CCb2blJ9nGtyF9RIIIc5
        hmp0+YCmKSnTsQffu507jypAmZ5rk/TOo1MwUTAdBgNVHQ4EFgQUNbZR/9KxmdGj
        5kfwIYKOSM5DdlAwHwYDVR0jBBgwFoAUNbZR/9KxmdGj5kfwIYKOSM5DdlAwDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAgKF/h7dlLZn9Dsa5qQe+
        olsm4sEE5B+fP4/BrbT/cEQCIA83hspFCici83n8nuXJ1iq/eDSQJzsQiUfbgXMH
        O+8P
        -----END CERTIFICATE-----
        """

    /// Not the certificate's.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg25dWq3dD0xVSSVHL
        lKGxw49YZq5qMs6Uonz7XkwSAqOhRANCAATbfCdl+HaILB4xsMgqINqsaCvlfzvB
        zjeVgkc9zK8dp1V1ykmgqwKQ7BWB4nv4PM8bl5GS+syc+rcYrIliZVoi
        -----END PRIVATE KEY-----
        """

    @Test(arguments: [(certificate, key), (certificate, ""), ("", key), ("garbage", "garbage")])
    func `a certificate and a key that do not fit are reported as such`(_ certificate: String, _ key: String) async throws {
        let fixture = try await ConsoleFixture()
        let folder = try TemporaryFolder()
        let files = (try folder.write("cert.pem", certificate), try folder.write("key.pem", key))
        var configuration = fixture.view.configuration
        configuration.tls = .init(certificate: files.0, key: files.1)
        let view = AgentView(inquirer: fixture.view.inquirer, clock: fixture.clock, configuration: configuration)
        var logger = Logger(label: "console") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        let problem = await #expect(throws: ServerProblem.self) { try await ConsoleServer(view, logger: logger).run() }
        #expect(problem?.passes == false)
        #expect(problem?.message.hasPrefix("The console cannot use the certificate \(files.0) with the key \(files.1): ") == true)
    }

    @Test func `an address in use is reported in one sentence`() async throws {
        let fixture = try await ConsoleFixture()
        try await serve(fixture) { address, _ in
            var configuration = fixture.view.configuration
            configuration.place?.port = Int(address.split(separator: ":").last ?? "") ?? 0
            let other = AgentView(inquirer: fixture.view.inquirer, clock: fixture.clock, configuration: configuration)
            var logger = Logger(label: "console") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .critical
            let problem = await #expect(throws: ServerProblem.self) {
                try await ConsoleServer(other, logger: logger).run()
            }
            let place = "127.0.0.1:\(configuration.place?.port ?? 0)"
            #expect(
                problem?.message == "Another program uses \(place), the address in `console`: stop it, or name another address.")
        }
    }
}
