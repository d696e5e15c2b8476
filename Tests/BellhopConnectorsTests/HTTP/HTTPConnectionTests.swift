import BellhopCore
import BellhopTesting
import Foundation
import NIOCore
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct HTTPConnectionTests {
    let simulation: Simulation
    let clock = TestClock()
    let list = "/api/x_snc_my_work/v1/tracker/task"

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
    }

    private func open(
        _ configuration: HTTPConnection.Configuration = .init(name: "test")
    ) async throws -> (HTTPConnection, HTTPAddress) {
        let connection = try HTTPConnection(configuration, clock: clock)
        whenTestEnds { try await connection.shutdown() }
        return (connection, try HTTPAddress(await simulation.serve()))
    }

    private func error(
        _ configuration: HTTPConnection.Configuration = .init(name: "test"), _ request: (HTTPAddress) -> HTTPRequest
    ) async throws -> TransportError? {
        let (connection, address) = try await open(configuration)
        return await error(of: request(address), over: connection)
    }

    private func error(of request: HTTPRequest, over connection: HTTPConnection) async -> TransportError? {
        do throws(TransportError) {
            _ = try await connection.send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a connection returns status, fields and body, and sends its own header fields`() async throws {
        var configuration = HTTPConnection.Configuration(name: "test")
        configuration.headers = ["X-Team": "blue", "Accept": "text/plain"]
        let (connection, address) = try await open(configuration)
        let answer = try await connection.send(
            HTTPRequest(address.with(target: list + "?a=%20b"), headers: ["Accept": "application/json"]))
        #expect(answer.status == 401)
        #expect(answer.headers["www-authenticate"] == "BASIC realm=\"Service-now\"")
        #expect(try JSON.parse(answer.body).at("status") == "failure")
        let request = try #require(simulation.requests.all.first)
        #expect(request.header("X-Team") == "blue")
        #expect(request.header("Accept") == "application/json")
        #expect(request.query == "a=%20b")
    }

    @Test func `user information becomes Basic authentication and is not part of the address`() async throws {
        let (connection, address) = try await open()
        _ = try await connection.send(HTTPRequest(HTTPAddress("http://john:p%40ss@127.0.0.1:\(address.port)/x")))
        let request = try #require(simulation.requests.all.first)
        #expect(request.header("Authorization") == Base64.basic(username: "john", password: "p@ss"))
        #expect(request.path == "/x")
    }

    @Test func `a redirect is returned like any other answer`() async throws {
        simulation.faults.add(.redirect(to: "https://idp.example.com/"))
        let (connection, address) = try await open()
        let answer = try await connection.send(HTTPRequest(address))
        #expect(answer.status == 302)
        #expect(simulation.requests.total == 1)
    }

    @Test func `a refused connection is reported with host and port, and nothing was sent`() async throws {
        let error = try await error { _ in HTTPRequest("POST", .unused, body: [1]) }
        #expect(error == TransportError(.unreachable, mayHaveArrived: false, "No connection to 127.0.0.1:9: connection refused."))
        #expect(error?.failure(changesSomething: true).remedy == .retry(after: nil))
    }

    @Test(arguments: [ENOMEM, ENFILE, EMFILE, ENOBUFS])
    func `no room for a connection on this machine says nothing about the other side`(_ code: CInt) {
        let error = TransportError(
            IOError(errnoCode: code, reason: "socket"), at: .unused, timeout: .seconds(1), limit: 1, Progress())
        #expect(error.kind == .exhausted)
        #expect(error.message.hasPrefix("No connection to 127.0.0.1:9: "))
        #expect(error.failure(changesSomething: true) == Failure(.fileSystem, .retry(after: nil), error.message))
    }

    @Test(arguments: [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ECONNRESET])
    func `a connection that breaks in use may have delivered the request, whatever the error`(_ code: CInt) {
        let progress = Progress()
        progress.handOver()
        let error = TransportError(
            IOError(errnoCode: code, reason: "read"), at: .unused, timeout: .seconds(1), limit: 1, progress)
        #expect(error.kind == .cut)
        #expect(error.mayHaveArrived)
    }

    @Test(arguments: [ClientError.noFreeSocket, .connectTimeout, .handshakeTimeout, .proxyTimeout, .shutDown])
    func `a request that was sent again may have arrived the first time, whatever prevents the second`(_ error: ClientError) {
        let progress = Progress()
        func translated() -> TransportError { TransportError(error, at: .unused, timeout: .seconds(1), limit: 1, progress) }
        #expect(!translated().mayHaveArrived)
        progress.handOver()
        #expect(translated().mayHaveArrived)
        #expect(!translated().message.contains("was not sent"))
    }

    @Test(arguments: [
        ("POST", "X-A", "1\r\nX-B: 2", "header field `X-A`"), ("POST", "X-A: 1\r\nX-B", "2", "header field"),
        ("POST", "X-A", "1\0", "header field `X-A`"), ("GET / HTTP/1.1\r\n\r\nPOST", "X-A", "1", "method"),
    ])
    func `a request that would become more than one field or request is not sent`(
        _ method: String, _ name: String, _ value: String, _ part: String
    ) async throws {
        let error = try await error { HTTPRequest(method, $0, headers: HeaderFields([.init(name, value)])) }
        #expect(error?.kind == .badRequest && error?.mayHaveArrived == false)
        #expect(error?.message.contains("was not sent: its \(part)") == true, "\(error?.message ?? "")")
        #expect(simulation.requests.total == 0)
    }

    @Test func `an unknown host is reported by name`() async throws {
        let error = try await error { _ in HTTPRequest("POST", .nowhere, body: [1]) }
        #expect(error?.kind == .unreachable)
        #expect(error?.mayHaveArrived == false)
        #expect(error?.message.contains("no host named nowhere.invalid") == true)
    }

    @Test(arguments: [Fault.resetBefore, .resetAfter, .cutBody])
    func `a connection that breaks after sending leaves a write's outcome unknown`(_ fault: Fault) async throws {
        simulation.faults.add(fault)
        let error = try await error { HTTPRequest("POST", $0.with(target: "/receivers/hook/a"), body: Array("{}".utf8)) }
        #expect(error?.kind == .cut)
        #expect(error?.mayHaveArrived == true)
        #expect(error?.failure(changesSomething: true).remedy == .unknownOutcome)
        #expect(error?.failure(changesSomething: false).remedy == .retry(after: nil))
        #expect(simulation.requests.total == 1)
    }

    @Test func `an answer that comes too late is a timeout with an unknown outcome`() async throws {
        let (connection, address) = try await open()
        // Over an existing connection, so that only the answer takes time; on a busy machine, sending may take a second, too.
        _ = try await connection.send(HTTPRequest(address))
        simulation.faults.add(.slow(milliseconds: 20_000))
        let late = HTTPRequest("POST", address.with(target: list), body: Array("{}".utf8), timeout: .seconds(2))
        let error = await error(of: late, over: connection)
        #expect(error?.kind == .timeout)
        #expect(error?.mayHaveArrived == true)
        #expect(error?.message.hasSuffix("did not answer within 2 s.") == true)
    }

    @Test func `an answer larger than max_body is not read completely`() async throws {
        var configuration = HTTPConnection.Configuration(name: "test")
        configuration.maxBody = 20
        let error = try await error(configuration) { HTTPRequest($0.with(target: list)) }
        #expect(error?.kind == .tooLarge)
        #expect(error?.message.contains("20 bytes that max_body allows") == true)
    }

    @Test func `a request past its deadline is not sent`() async throws {
        let error = try await error { HTTPRequest("POST", $0, body: [1], notAfter: clock.now - .seconds(1)) }
        #expect(error?.mayHaveArrived == false)
        #expect(simulation.requests.total == 0)
    }

    @Test func `plain http goes to this machine only, unless the configuration allows more`() async throws {
        let connection = try HTTPConnection(.init(name: "test"), clock: clock)
        let elsewhere = try HTTPAddress("http://intranet.example/x?token=secret")
        #expect(
            connection.refusal(of: elsewhere)
                == "Plain http:// to intranet.example:80 could be read by others: use https://, or set plain_http: true.")
        await #expect(throws: TransportError.self) { try await connection.send(HTTPRequest(elsewhere)) }
        try await connection.shutdown()
        let open = try HTTPConnection(.init(name: "test", plainHTTP: true), clock: clock)
        #expect(open.refusal(of: elsewhere) == nil)
        try await open.shutdown()
    }

    @Test func `an untrusted certificate is refused before anything is sent`() async throws {
        let server = try await TLSServer.serve()
        let connection = try HTTPConnection(.init(name: "test"), clock: clock)
        do {
            _ = try await connection.send(HTTPRequest("POST", HTTPAddress("https://localhost:\(server.port)/"), body: [1]))
            Issue.record("the certificate was trusted")
        } catch let error as TransportError {
            #expect(error.kind == .tls)
            #expect(!error.mayHaveArrived)
            #expect(error.message.contains("which `ca` can name"))
        }
        try await connection.shutdown()
    }

    @Test func `a private authority set with ca is trusted, for the host in its certificate`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bellhop-ca-\(UInt64.random(in: 0 ... .max)).pem")
        try TLSServer.certificate.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try await TLSServer.serve()
        let connection = try HTTPConnection(.init(name: "test", ca: file.path), clock: clock)
        let answer = try await connection.send(HTTPRequest(HTTPAddress("https://localhost:\(server.port)/")))
        #expect(answer.status == 200)
        let other = try HTTPAddress("https://127.0.0.1:\(server.port)/")
        await #expect { try await connection.send(HTTPRequest(other)) } throws: { error in
            let error = error as? TransportError
            return error?.kind == .tls && error?.isOfTrust == false
                && error?.message
                    == "The certificate of 127.0.0.1:\(server.port) is not for the name 127.0.0.1: check the address."
        }
        try await connection.shutdown()
    }

    @Test func `an unreadable ca file is reported as a configuration error`() {
        #expect(throws: ConnectorError.self) { try HTTPConnection(.init(name: "test", ca: "/nonexistent.pem"), clock: clock) }
    }

    @Test func `a server may answer and disconnect before the request is sent completely`() async throws {
        let address = try await FaultyServer.serve(.early)
        let connection = try HTTPConnection(.init(name: "test"), clock: clock)
        let target = try HTTPAddress(address)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for size in 0..<250 {
                        let request = HTTPRequest("POST", target, body: Array(repeating: 0x20, count: 100 * size))
                        // The server may cut the request off meanwhile.
                        do { #expect(try await connection.send(request).status == 500) } catch { continue }
                    }
                }
            }
        }
        try await connection.shutdown()
    }
}

extension HTTPAddress {
    /// The discard port, on which no program listens.
    static var unused: HTTPAddress { make("http://127.0.0.1:9/") }
    static var nowhere: HTTPAddress { make("https://nowhere.invalid/") }

    private static func make(_ text: String) -> HTTPAddress {
        guard let address = try? HTTPAddress(text) else { preconditionFailure("\(text) is an address") }
        return address
    }
}
