import AsyncHTTPClient
import BellhopAgent
import BellhopConsole
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopRules
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// The agent's console over a store, at a port of this machine.
struct ConsoleUnderTest: Sendable {
    static let token = "token-of-the-benchmark"
    let port: Int

    init(port: Int) { self.port = port }

    /// The answer to a login is a redirection, with the cookie.
    private let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))

    /// Serves during the body.
    static func serving<Value: Sendable>(
        _ context: EngineContext, _ book: RuleBook, _ body: (ConsoleUnderTest) async throws -> Value
    ) async throws -> Value {
        var configuration = ConsoleConfiguration()
        configuration.place = InboundServer.Address(host: "127.0.0.1", port: 0)
        configuration.users = [.init(name: "bench", role: .viewer, token: token)]
        let eventBell = context.bells.router
        let agent = Inquirer.Agent(
            facts: { [:] }, wake: {}, book: { book }, events: eventBell, applyKeychainChange: { _, _ in [] })
        let inquirer = Inquirer(store: context.store, clock: context.clock, agent: agent)
        let view = AgentView(
            inquirer: inquirer, clock: context.clock, configuration: configuration, book: { book }, eventBell: eventBell)
        let (ports, port) = AsyncStream<Int>.makeStream()
        let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        let server = ConsoleServer(view, logger: logger) { port.yield($0) }
        let group = ServiceGroup(services: [server], logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var value: Value?
            for await number in ports {
                let console = ConsoleUnderTest(port: number)
                do { value = try await body(console) } catch {
                    await group.triggerGracefulShutdown()
                    try await console.close()
                    throw error
                }
                try await console.close()
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            guard let value else { throw BenchError("the console did not listen") }
            return value
        }
    }

    func close() async throws { try await client.shutdown() }

    /// Logs in, and returns the cookie of the session.
    func logIn() async throws -> String {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/login")
        request.method = .POST
        request.headers = ["Content-Type": "application/x-www-form-urlencoded"]
        request.body = .bytes(ByteBuffer(string: "token=\(Self.token)&next=%2F"))
        let answer = try await client.execute(request, timeout: .seconds(30))
        _ = try await answer.body.collect(upTo: 1 << 20)
        guard let cookie = answer.headers["set-cookie"].first?.prefix(while: { $0 != ";" }) else {
            throw BenchError("the login to the console failed: \(answer.status)")
        }
        return String(cookie)
    }

    /// The page, and the seconds until all of it has arrived.
    func open(_ path: String, cookie: String, status: UInt = 200) async throws -> (text: String, time: Double) {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.headers = ["Cookie": cookie]
        var text = ""
        let time = try await Stopwatch.seconds {
            let answer = try await client.execute(request, timeout: .seconds(120))
            text = String(buffer: try await answer.body.collect(upTo: 32 << 20))
            guard answer.status.code == status else { throw BenchError("\(path): \(answer.status)") }
        }
        return (text, time)
    }
}
