import BellhopCore
import AsyncHTTPClient
import BellhopTesting
import NIOCore
import NIOHTTP1

@testable import Simulator

/// A complete response.
struct Answer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]

    func header(_ name: String) -> String? { headers.first(name: name) }
    func headers(_ name: String) -> [String] { headers[name] }

    var text: String { String(decoding: body, as: UTF8.self) }
    func json() throws -> JSON { try JSON.parse(body) }
    var result: JSON? { get throws { try json()["result"] } }
}

enum Method: String { case GET, HEAD, POST, PUT, PATCH, DELETE }

/// A client with a cookie jar, which can send credentials.
struct Client {
    let base: String
    var authorization: String?
    /// The headers sent with every request.
    var headers: [String: String] = [:]
    var cookies: [String: String] = [:]
    var setCookies: [String] = []
    var timeout = Duration.seconds(20)

    init(_ base: String, user: String? = "john.doe", password: String = "secret") {
        self.base = base
        if let user { authorization = Base64.basic(username: user, password: password) }
    }

    mutating func send(
        _ method: Method, _ path: String, body: String? = nil, headers: [(String, String)] = []
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.method = HTTPMethod(rawValue: method.rawValue)
        if let authorization { request.headers.add(name: "Authorization", value: authorization) }
        if !cookies.isEmpty {
            request.headers.add(name: "Cookie", value: cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        if let body {
            request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        for (name, value) in self.headers { request.headers.replaceOrAdd(name: name, value: value) }
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        let response = try await Client.http.execute(request, timeout: TimeAmount(timeout))
        let buffer = try await response.body.collect(upTo: 64 * 1024 * 1024)
        setCookies = response.headers["Set-Cookie"]
        for cookie in setCookies {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { cookies[String(pair[0])] = cookie.contains("1970") ? nil : String(pair[1]) }
        }
        return Answer(status: Int(response.status.code), headers: response.headers, body: Array(buffer.readableBytesView))
    }

    mutating func get(_ path: String, headers: [(String, String)] = []) async throws -> Answer {
        try await send(.GET, path, headers: headers)
    }

    mutating func list() async throws -> Answer { try await get("/api/x_snc_my_work/v1/tracker/task") }

    mutating func comment(_ text: String, on task: String) async throws -> Answer {
        let body: JSON = ["comment": .string(text)]
        return try await send(.POST, "/api/x_snc_my_work/v1/tracker/task/\(task)/comment", body: body.text)
    }

    /// Never retries, so that the counts are those of the requests made.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()
}

/// A simulation with one user on a virtual clock.
struct Office {
    let clock = VirtualClock()
    let simulation: Simulation
    var instance: SimulatedInstance { simulation.instance }

    init(settings: InstanceSettings = InstanceSettings()) {
        let clock = clock
        simulation = Simulation(settings: settings, now: { clock.now })
        simulation.instance.addUser("john.doe", password: "secret", name: "John Doe")
    }

    /// Runs the server until the test ends, for a client that logs in.
    func open() async throws -> Client { Client(try await untilTestEnds { try await SimulatorServer(simulation).serve($0) }) }

    func open<Result>(_ body: (inout Client) async throws -> Result) async throws -> Result {
        var client = try await open()
        return try await body(&client)
    }
}
