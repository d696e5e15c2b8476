import BellhopCore
import Synchronization

@testable import BellhopConnectors
@testable import Simulator

/// A simulated instance without the network, for tests that send thousands of requests.
final class InProcessExchange: HTTPExchange {
    private let router: SimulatorRouter
    private let simulation: Simulation
    private let before = Mutex<@Sendable (HTTPRequest) -> Void>({ _ in })

    init(_ simulation: Simulation) {
        self.simulation = simulation
        router = SimulatorRouter(simulation)
    }

    /// Runs a closure before each request is answered.
    func interrupt(_ work: @escaping @Sendable (HTTPRequest) -> Void) { before.withLock { $0 = work } }

    /// Runs a closure once, before the first request is answered whose target contains a text.
    func interruptOnce(at text: String, _ work: @escaping @Sendable () -> Void) {
        let hasRun = Mutex(false)
        interrupt { request in
            guard request.address.target.contains(text) else { return }
            let isFirst = hasRun.withLock { hasRun in
                defer { hasRun = true }
                return !hasRun
            }
            if isFirst { work() }
        }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        before.withLock { $0 }(request)
        let target = request.address.target
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let received = ReceivedRequest(
            method: request.method, path: PercentEncoding.decode(halves[0]), query: halves.count == 2 ? String(halves[1]) : "",
            headers: request.headers.fields.map { .init(name: $0.name, value: $0.value) }, body: request.body ?? [],
            time: simulation.now())
        let outcome: SimulatorRouter.Outcome
        do {
            outcome = try await router.answer(received)
        } catch {
            throw TransportError(.cancelled, mayHaveArrived: false, "called off")
        }
        switch outcome {
        case .reply(let reply):
            return HTTPResponse(
                status: reply.status, headers: HeaderFields(reply.headers.map { .init($0.name, $0.value) }), body: reply.body)
        case .cut: throw TransportError(.cut, mayHaveArrived: true, "The answer was cut.")
        case .reset: throw TransportError(.cut, mayHaveArrived: true, "The connection was reset.")
        case .silence: throw TransportError(.timeout, mayHaveArrived: true, "No answer came in time.")
        }
    }
}

extension Practice {
    /// A connection to the instance without the network.
    func connection(over exchange: any HTTPExchange) throws(ConnectorError) -> ServiceNowConnection {
        try ServiceNowConnection(name: "snow", settings: settings("http://127.0.0.1:9"), in: environment(), over: exchange)
    }

    /// A session over an exchange, without a connection.
    func session(over exchange: any HTTPExchange, username: String = "john.doe") throws -> ServiceNowSession {
        let account = Account(connection: "snow", username: username) { Credentials(username: username, password: "secret") }
        return ServiceNowSession(
            "reading", base: try HTTPAddress("https://acme.service-now.com"), exchange: exchange,
            login: ServiceNowLogin(connection: "snow", way: .password(account), identity: .user(username)),
            memory: RefusalMemory(connection: "snow", instance: "x", notebook: notebook, salt: { 1 }),
            users: UserMemory(connection: "snow", instance: "x", notebook: notebook),
            events: LoginEvents(connection: "snow", instance: "x", user: username, usesKeychain: false, sink: events),
            clock: clock)
    }
}
