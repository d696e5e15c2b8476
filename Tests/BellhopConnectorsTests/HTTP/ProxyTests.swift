import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

@testable import BellhopConnectors

/// Requests through the proxy set with `proxy:`.
@Suite(.closing) struct ProxyTests {
    let simulation: Simulation
    let clock = TestClock()

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
    }

    private static let credentials = Base64.encode(Array("jane:hunter2".utf8))

    /// Sends a request over a connection with these settings. Returns the outcome in words.
    private func send(_ settings: JSON.Object, to address: String) async throws -> String {
        let connection = try HTTPConnection(try .init(name: "test", Settings(settings)), clock: clock)
        let result: String
        do {
            let answer = try await connection.send(HTTPRequest(try HTTPAddress(address)))
            result = "\(answer.status) \(String(decoding: answer.body.prefix(40), as: UTF8.self))"
        } catch let error as TransportError {
            // Without a body, a failure in the tunnel leaves open whether the request was sent.
            #expect(error.kind != .unreachable && error.kind != .badRequest || !error.mayHaveArrived)
            result = "\(error.kind): \(error.message)"
        }
        try await connection.shutdown()
        return result
    }

    @Test func `a plain http target behind a proxy is refused unless plain http is allowed`() async throws {
        let proxy = try await ConnectProxy.serve()
        let address = try await simulation.serve()
        let outcome = try await send(["proxy": .string("http://127.0.0.1:\(proxy.port)")], to: address + "/webhook/x")
        #expect(outcome.hasPrefix("badRequest: Plain http:// to "), "\(outcome)")
        #expect(outcome.contains("could be read by others on the way to the proxy 127.0.0.1:\(proxy.port) and beyond"))
        #expect(proxy.heads.all.isEmpty)
        #expect(simulation.requests.total == 0)
    }

    @Test func `a plain http target is reached through a tunnel if that is allowed`() async throws {
        let proxy = try await ConnectProxy.serve()
        let address = try await simulation.serve()
        let answer = try await send(
            ["proxy": .string("http://127.0.0.1:\(proxy.port)"), "plain_http": true], to: address + "/webhook/x")
        #expect(answer.hasPrefix("405"))
        #expect(simulation.requests.total == 1)
        #expect(proxy.heads.all.count == 1)
        #expect(
            proxy.heads.all.first?.hasPrefix("CONNECT \(address.replacing("http://", with: "")) HTTP/1.1\r\n") == true)
    }

    @Test func `a target with TLS is reached through a tunnel, and its certificate is verified for its own name`() async throws {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        let proxy = try await ConnectProxy.serve()
        let way = JSON.string("http://127.0.0.1:\(proxy.port)")
        let server = try await TLSServer.serve()
        let address = "https://localhost:\(server.port)/"
        let trusted = try await send(["proxy": way, "ca": .string(ca)], to: address)
        #expect(trusted == "200 ok")
        #expect(proxy.heads.all.first?.hasPrefix("CONNECT localhost:\(server.port) HTTP/1.1\r\n") == true)
        // The tunnel does not weaken TLS: without the authority the connection fails.
        let untrusted = try await send(["proxy": way], to: address)
        #expect(untrusted.contains("which `ca` can name"), "\(untrusted)")
    }

    @Test func `an address with TLS is refused behind a proxy, whose address its certificate would be compared with`()
        async throws
    {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        let proxy = try await ConnectProxy.serve()
        let server = try await TLSServer.serve()
        let outcome = try await send(
            ["proxy": .string("http://127.0.0.1:\(proxy.port)"), "ca": .string(ca)], to: "https://127.0.0.1:\(server.port)/")
        #expect(
            outcome
                == "tls: The certificate of 127.0.0.1:\(server.port) cannot be verified through a proxy: write the server's name instead of its address."
        )
    }

    @Test func `user name and password in the proxy's address are sent to the proxy only`() async throws {
        let proxy = try await ConnectProxy.serve(credentials: Self.credentials)
        let address = try await simulation.serve()
        let right = try await send(
            ["proxy": .string("http://jane:hunter2@127.0.0.1:\(proxy.port)"), "plain_http": true],
            to: address + "/webhook/x")
        #expect(right.hasPrefix("405"))
        #expect(simulation.requests.all.first?.header("Proxy-Authorization") == nil)
        for way in ["http://127.0.0.1:\(proxy.port)", "http://jane:hunter3@127.0.0.1:\(proxy.port)"] {
            let wrong = try await send(["proxy": .string(way), "plain_http": true], to: address + "/webhook/x")
            #expect(
                wrong.hasPrefix("unreachable: The proxy 127.0.0.1:\(proxy.port) needs a (different) name and password"),
                "\(wrong)")
            #expect(!wrong.contains("hunter"))
        }
        #expect(simulation.requests.total == 1)
    }

    @Test func `an unreachable proxy is reported as the proxy's failure, not the target's`() async throws {
        let outcome = try await send(["proxy": "http://jane:hunter2@127.0.0.1:9"], to: "https://acme.example/")
        #expect(outcome == "unreachable: No connection to the proxy 127.0.0.1:9: connection refused.")
        let nowhere = try await send(["proxy": "http://jane:hunter2@nowhere.invalid:8080"], to: "https://acme.example/")
        #expect(nowhere.contains("no host named nowhere.invalid (requested for the proxy nowhere.invalid:8080)"), "\(nowhere)")
        #expect(!nowhere.contains("hunter2"))
    }

    @Test(arguments: [FaultyServer.Answer.nothing, .noStatus, .endlessFields, .noHTTP, .twoLengths])
    func `a proxy with a wrong answer is named in the failure`(_ answer: FaultyServer.Answer) async throws {
        let address = try await FaultyServer.serve(answer)
        let outcome = try await send(["proxy": .string(address), "timeout": 500_000], to: "https://acme.example/")
        #expect(outcome.lowercased().contains("the proxy \(address.dropFirst(7))"), "\(outcome)")
        // Even with a body, the request cannot have arrived.
        var configuration = HTTPConnection.Configuration(name: "test", timeout: .milliseconds(500))
        configuration.proxy = try HTTPAddress(address)
        let connection = try HTTPConnection(configuration, clock: clock)
        let error = await #expect(throws: TransportError.self) {
            try await connection.send(HTTPRequest("POST", HTTPAddress("https://acme.example/"), body: [1]))
        }
        #expect(error?.mayHaveArrived == false, "\(error?.message ?? "")")
        try await connection.shutdown()
    }

    @Test(.timeLimit(.minutes(1))) func `a proxy that opens a tunnel and closes it is named at once`() async throws {
        let (_, address) = try await SocketServer.serve { _, send in
            send("HTTP/1.1 200 OK\r\n\r\n")
            send("")
        }
        let outcome = try await send(["proxy": .string(address), "timeout": 100_000_000], to: "https://acme.example/")
        #expect(outcome.contains("through the proxy \(address.dropFirst(7))"), "\(outcome)")
        #expect(!outcome.contains("in time") && !outcome.contains("did not finish"), "\(outcome)")
    }

    @Test func `a proxy that refuses the tunnel is reported`() async throws {
        let proxy = try await ConnectProxy.serve(answer: "403 Forbidden")
        let outcome = try await send(["proxy": .string("http://127.0.0.1:\(proxy.port)")], to: "https://acme.example/")
        #expect(outcome == "unreachable: The proxy 127.0.0.1:\(proxy.port) does not connect to acme.example:443.")
    }
}
