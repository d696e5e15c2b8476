public import BellhopAgent
import BellhopCore
import BellhopInbound
public import Logging
public import ServiceLifecycle

/// The console's HTTP server: pages, the API and the live stream.
public struct ConsoleServer: Service {
    private let server: WebServer
    private let feed: LiveFeed
    private let jobs: BackTestJobs
    /// The most open connections: the viewers of live events, and others.
    private static let maxConnections = LiveFeed.maxViewers + 1000

    /// - Parameter isListening: called with the port.
    public init(_ view: AgentView, logger: Logger, isListening: @escaping @Sendable (Int) -> Void = { _ in }) {
        let feed = LiveFeed(view)
        let jobs = BackTestJobs(view)
        let handler = ConsoleHandler(view, feed, jobs)
        self.feed = feed
        self.jobs = jobs
        server = WebServer(
            .console, at: view.configuration.place, tls: view.configuration.tls, maxConnections: Self.maxConnections,
            logger: logger, isListening: isListening, refusal: { await handler.refusal(ofLargeBody: $0) },
            refused: { handler.answer($0, $1) }
        ) { await handler.answer($0) }
    }

    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { [feed, jobs, server] group in
                group.addTask { await feed.follow() }
                group.addTask { await jobs.run() }
                group.addTask { try await server.run() }
                // Wait for all three; an error of one cancels the others.
                for _ in 0..<3 { try await group.next() }
            }
        } onGracefulShutdown: { [feed, jobs] in
            feed.stop()
            jobs.stop()
        }
    }
}

/// Serves metrics and health without a login, at the address in `telemetry`.
public struct TelemetryServer: Service {
    private let server: WebServer

    /// - Parameter isListening: called with the port.
    public init(_ view: AgentView, logger: Logger, isListening: @escaping @Sendable (Int) -> Void = { _ in }) {
        server = WebServer(
            .telemetry, at: view.telemetry?.place, maxConnections: 100, logger: logger, isListening: isListening,
            refusal: { _ in Problem(413, "No request here needs a body.") }, refused: { ConsoleAnswer($1) }
        ) { request in
            do throws(Problem) {
                if let telemetry = view.telemetry, TelemetryHandler.serves(request) {
                    return try await TelemetryHandler(telemetry: telemetry).answer(request)
                }
                throw Problem(404, "Here are /metrics, /health/live and /health/ready.")
            } catch {
                return ConsoleAnswer(error)
            }
        }
    }

    public func run() async throws { try await server.run() }
}

extension AgentView {
    /// The servers that bellhop.yaml asks for.
    public func servers(logger: Logger) -> [any Service] {
        var servers: [any Service] = []
        if configuration.place != nil { servers.append(ConsoleServer(self, logger: logger)) }
        if telemetry?.place != nil { servers.append(TelemetryServer(self, logger: logger)) }
        return servers
    }
}
