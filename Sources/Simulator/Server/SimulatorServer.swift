import BellhopCore
import Glibc
import HTTPTypes
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix

/// A ``Simulation`` over HTTP/1.1 on the loopback interface.
///
/// A class, because the port is known only once it listens, and others wait for it.
public final class SimulatorServer: Sendable {
    /// Why no port is open.
    public enum Problem: Error, Sendable, Hashable {
        /// Another program uses the port, or it is not permitted.
        case cannotListen(port: Int, reason: String)
        case stopped
    }

    public let simulation: Simulation
    private let wantedPort: Int
    private let logger: Logger
    private let listening = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Int.self)
    private let connections = UnhandledConnections()

    /// - Parameter port: on 127.0.0.1; 0 takes any free port.
    public init(_ simulation: Simulation, port: Int = 0, logger: Logger? = nil) {
        self.simulation = simulation
        wantedPort = port
        self.logger = logger ?? Logger(label: "simulator") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Listens and answers until the task is cancelled; can be called once.
    public func run() async throws {
        let router = SimulatorRouter(simulation)
        let channel = TrackedChannel(
            HTTP1Channel { request, writer, channel in
                try await SimulatorServer.respond(request, writer, channel, router)
            }, in: connections)
        let server = Server(
            childChannelSetup: channel, configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: wantedPort)),
            onServerRunning: { [self] channel in listening.succeed(channel.localAddress?.port ?? wantedPort) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        do {
            try await server.run()
            await connections.finish()
            listening.fail(Problem.stopped)
        } catch {
            await connections.finish()
            let problem = Problem.cannotListen(port: wantedPort, reason: "\(error)")
            listening.fail(problem)
            throw problem
        }
    }

    deinit { listening.fail(Problem.stopped) }

    /// The port, once the server listens.
    public var port: Int { get async throws { try await listening.futureResult.get() } }

    /// Runs the server during the body and passes it the address, such as `http://127.0.0.1:8080`.
    public func serve<Result: Sendable>(_ body: (String) async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            defer { group.cancelAll() }
            let port = try await self.port
            return try await body("http://127.0.0.1:\(port)")
        }
    }

    @concurrent
    private static func respond(
        _ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel, _ router: SimulatorRouter
    ) async throws {
        let body = try await request.body.collect(upTo: 32 * 1024 * 1024)
        let target = request.head.path ?? "/"
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var headers = request.headers.map { ReceivedRequest.Header(name: $0.name.rawName, value: $0.value) }
        if let host = request.head.authority { headers.insert(.init(name: "Host", value: host), at: 0) }
        let received = ReceivedRequest(
            method: request.method.rawValue, path: PercentEncoding.decode(halves[0]),
            query: halves.count == 2 ? String(halves[1]) : "",
            headers: headers, body: Array(body.readableBytesView), time: router.simulation.now())
        switch try await router.answer(received) {
        case .reply(let reply):
            let isHead = request.method == .head
            let body = isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body))
            try await writer.write(response: head(of: reply), body: body)
        case .cut(let reply, let count):
            var body = try await writer.writeHead(head(of: reply))
            try await body.write(ByteBuffer(bytes: reply.body.prefix(count)))
            try await channel.close()
            throw CancellationError()
        case .reset:
            try await reset(channel)
            throw CancellationError()
        case .silence:
            while channel.isActive { try await Task.sleep(for: .milliseconds(50)) }
            throw CancellationError()
        }
    }

    private static func head(of reply: Reply) -> HTTPResponse {
        var fields = HTTPFields()
        for header in reply.headers {
            if let name = HTTPField.Name(header.name) { fields.append(HTTPField(name: name, value: header.value)) }
        }
        if reply.status != 204 { fields[.contentLength] = String(reply.body.count) }
        return HTTPResponse(status: .init(code: reply.status), headerFields: fields)
    }

    /// Closes without the usual shutdown: the kernel drops unsent data and sends RST.
    private static func reset(_ channel: any Channel) async throws {
        if let socket = channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close()
    }
}
