import AsyncHTTPClient
import BellhopAgent
import BellhopCore
import BellhopInbound
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
