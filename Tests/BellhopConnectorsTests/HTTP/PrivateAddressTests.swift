import BellhopCore
import BellhopTesting
import NIOCore
import NIOSSL
import Simulator
import Testing

@testable import BellhopConnectors

/// Hosts computed from values must not lead to private addresses.
@Suite(.closing) struct PrivateAddressTests {
    @Test(arguments: [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.168.1.1", "192.0.0.8", "198.18.0.1", "168.63.129.16", "224.0.0.1", "255.255.255.255", "::",
        "::1",
        "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:a00:1::", "fe80::1",
        "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:0:10.0.0.1", "2001::a00:1", "100::1",
    ])
    func `an address of this machine or its networks is private`(_ text: String) throws {
        #expect(PrivateAddress.isPrivate(try SocketAddress(ipAddress: text, port: 443)))
    }

    @Test(arguments: [
        "1.1.1.1", "100.63.0.1", "100.128.0.1", "169.253.1.1", "172.15.0.1", "172.32.0.1", "192.0.2.1", "192.169.0.1",
        "198.17.0.1", "198.20.0.1", "168.63.129.17", "223.255.255.255", "2606:4700::1111", "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2002:101:101::", "2a00::1", "::ffff:0:1.1.1.1", "2001:4860:4860::8888",
    ])
    func `an address of the public internet is not private`(_ text: String) throws {
        #expect(!PrivateAddress.isPrivate(try SocketAddress(ipAddress: text, port: 443)))
    }

    @Test func `this machine's own addresses are private, also in IPv6, even if they are public on the internet`() throws {
        let own = Set(
            try ["8.8.4.4", "2a00::1"].compactMap { PrivateAddress.bytes(of: try SocketAddress(ipAddress: $0, port: 1)) })
        for (text, isPrivate) in [
            ("8.8.4.4", true), ("::ffff:8.8.4.4", true), ("64:ff9b::808:404", true), ("2002:808:404::", true), ("2a00::1", true),
            ("8.8.8.8", false), ("2a00::2", false), ("10.0.0.1", true),
        ] {
            #expect(
                PrivateAddress.isPrivate(try SocketAddress(ipAddress: text, port: 443), isOwn: own.contains) == isPrivate,
                "\(text)")
        }
        #expect(PrivateAddress.isOwn([127, 0, 0, 1]) && !PrivateAddress.isOwn([203, 0, 113, 77]))
    }

    private static func send(
        to address: String, _ connection: HTTPConnection
    ) async throws -> TransportError? {
        var problem: TransportError?
        do throws(TransportError) { _ = try await connection.send(HTTPRequest(try! HTTPAddress(address))) } catch {
            problem = error
        }
        try await connection.shutdown()
        return problem
    }

    private static var guarded: HTTPConnection.Configuration {
        var configuration = HTTPConnection.Configuration(name: "test", plainHTTP: true)
        configuration.refusesPrivate = true
        return configuration
    }

    @Test func `a guarded connection sends nothing to a private address or name`() async throws {
        let simulation = Simulation { 0 }
        let address = try await simulation.serve()
        let port = address.split(separator: ":").last ?? ""
        for host in ["127.0.0.1", "localhost", "0.0.0.0"] {
            let connection = try HTTPConnection(Self.guarded, clock: TestClock())
            let problem = try await Self.send(to: "http://\(host):\(port)/webhook/x", connection)
            #expect(problem?.kind == .badRequest, "\(host)")
            #expect(problem?.mayHaveArrived == false)
            #expect(problem?.message.contains("the private address") == true, "\(problem?.message ?? "")")
            #expect(problem?.failure(changesSomething: true).remedy == .giveUp)
        }
        #expect(simulation.requests.total == 0)
    }

    @Test func `a name that resolves to a private address only when connecting is refused before a connection is made`()
        async throws
    {
        let (server, address) = try await SocketServer.serve { _ in "ok" }
        // As if the name had led to a public address when it was checked.
        var configuration = Self.guarded
        configuration.morePorts = [try HTTPAddress(address).port]
        for scheme in ["http", "https"] {
            let connection = try HTTPConnection(configuration, clock: TestClock()) { _, _ in }
            let problem = try await Self.send(to: address.replacing("http", with: scheme, maxReplacements: 1), connection)
            #expect(problem?.kind == .badRequest, "\(problem?.message ?? "")")
            #expect(problem?.mayHaveArrived == false)
            #expect(problem?.message.contains("the private address 127.0.0.1") == true, "\(problem?.message ?? "")")
        }
        #expect(server.connections == 0)
    }

    @Test func `a computed host is reached at the ports of HTTP only`() async throws {
        for port in [22, 25, 6379, 9200] {
            let connection = try HTTPConnection(Self.guarded, clock: TestClock())
            let problem = try await Self.send(to: "https://1.1.1.1:\(port)/", connection)
            #expect(problem?.kind == .badRequest && problem?.mayHaveArrived == false)
            #expect(
                problem?.message.contains("1.1.1.1:\(port) has a port that is none of 80, 443, 8080, 8443, and") == true)
        }
    }

    @Test func `a connection's ports open these ports of public addresses, and nothing else`() async throws {
        let closed = try await FaultyServer.serve(.serverError) { address in Int(address.split(separator: ":").last ?? "") ?? 0 }
        func failure(_ url: String, _ settings: JSON.Object = [:], through proxy: Int? = nil) async throws -> Failure? {
            var all = JSON.Object(
                ["url": "https://hooks.example.com/x", "ports": [9200, 9300], "timeout": 2_000_000], with: settings)
            if let proxy { all["proxy"] = .string("http://127.0.0.1:\(proxy)") }
            let connectors = try await Connectors(
                connections: [("hook", "webhook", Settings(all))], sources: [], environment: .sample())
            let delivery = SampleDelivery.make(
                "webhook", .values(["url": .string(url), "json": 1, "computed_host": true]), to: "hook")
            let action = try #require(connectors.action(for: delivery))
            let failure = await BellhopConnectorsTests.failure {
                _ = try await action.perform(delivery, attempt: SampleDelivery.first)
            }
            await connectors.shutdown()
            return failure
        }
        let other = try #require(await failure("https://1.1.1.1:22/"))
        #expect(
            other.message
                == "1.1.1.1:22 has a port that is none of 80, 443, 8080, 8443, 9200, 9300, and the host comes from a value: write the host in the rule, or add the port to `ports` of the connection in `to`."
        )
        #expect(other.remedy == .giveUp)
        // A port among them does not open a private address.
        let own = try #require(await failure("http://127.0.0.1:\(closed)/", ["ports": [.int(Int64(closed))]]))
        #expect(own.message.contains("resolves to the private address 127.0.0.1"), "\(own.message)")
        let proxy = try await ConnectProxy.serve(answer: "502 Bad Gateway")
        // The request goes as far as the proxy.
        let open = try #require(await failure("https://1.1.1.1:9300/", through: proxy.port))
        #expect(open.message.contains("does not connect to 1.1.1.1:9300"), "\(open.message)")
        #expect(proxy.heads.all.count == 1)
        let hidden = try #require(await failure("https://10.0.0.1:9300/", through: proxy.port))
        #expect(hidden.message.contains("the private address 10.0.0.1"), "\(hidden.message)")
        #expect(proxy.heads.all.count == 1)
    }

    @Test func `a computed private host is refused unless the step allows it, and a written one is allowed`() async throws {
        let simulation = Simulation { 0 }
        let address = try await simulation.serve()
        let connectors = try await Connectors(connections: [], sources: [], environment: .sample())
        func perform(_ more: JSON.Object) async throws(Failure) -> Receipt {
            let arguments = JSON.Object(["url": .string(address + "/webhook/x"), "json": 1], with: more)
            let delivery = SampleDelivery.webhook(arguments, to: address + "/webhook/x")
            guard let action = connectors.action(for: delivery) else {
                throw Failure(.badArguments, .giveUp, "There is no action.")
            }
            return try await action.perform(delivery, attempt: SampleDelivery.first)
        }
        let failure = await #expect(throws: Failure.self) { try await perform(["computed_host": true]) }
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("allow_private: true") == true, "\(failure?.message ?? "")")
        #expect(simulation.requests.total == 0)
        _ = try await perform(["computed_host": true, "allow_private": true])
        _ = try await perform([:])
        #expect(simulation.requests.total == 2)
        await connectors.shutdown()
    }

    @Test func `a step's address is requested over its connection, whose credentials go only to its own host`() async throws {
        let simulation = Simulation { 0 }
        let address = try await simulation.serve()
        let port = address.split(separator: ":").last ?? ""
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
        var settings: JSON.Object = [
            "url": .string(address.replacing("://", with: "://ada:hunter2@") + "/webhook/own"),
            "headers": ["X-Key": "hunter2"], "secret": .string(secret),
        ]
        func perform(_ url: String, _ more: JSON.Object = [:]) async throws -> Failure? {
            let arguments = JSON.Object(["url": .string(url), "json": 1], with: more)
            return try await SampleDelivery.failure(of: SampleDelivery.webhook(arguments, to: "hook"), over: "webhook", settings)
        }
        func received(_ name: String) -> [ReceivedMessage] { simulation.receivers.received(by: name) }
        // The connection's own host gets the credentials, even if it is computed or private.
        #expect(try await perform(address + "/webhook/path", ["computed_host": true]) == nil)
        let own = try #require(received("path").first?.request)
        #expect(own.header("X-Key") == "hunter2" && own.header("webhook-signature") != nil)
        #expect(own.header("Authorization")?.hasPrefix("Basic ") == true)
        // Another host gets no credentials.
        let other = "http://localhost:\(port)/webhook/other"
        #expect(try await perform(other) == nil)
        let foreign = try #require(received("other").first?.request)
        #expect(foreign.header("X-Key") == nil && foreign.header("webhook-signature") == nil)
        #expect(foreign.header("Authorization") == nil)
        #expect(try await perform(other, ["sign": true])?.message.contains("its own host") == true)
        // A computed host must be public.
        let refused = try await perform(other, ["computed_host": true])
        #expect(refused?.remedy == .giveUp && refused?.message.contains("private address") == true)
        #expect(received("other").count == 1)
        settings["allow_private"] = true
        #expect(try await perform(other, ["computed_host": true]) == nil)
        #expect(received("other").last?.request.header("X-Key") == nil)
        #expect(received("other").count == 2)
    }

    @Test func `failures of another host neither rest nor break the connection over which a step sends`() async throws {
        let simulation = Simulation { 0 }
        let address = try await simulation.serve()
        for (answer, remedy) in [
            (FaultyServer.Answer.hugeError, Failure.Remedy.retry(after: .seconds(7))), (.serverError, .retry(after: nil)),
        ] {
            let other = try await FaultyServer.serve(answer)
            let arguments: JSON.Object = ["url": .string(other + "/x"), "json": 1]
            let failure = try await SampleDelivery.failure(
                of: SampleDelivery.webhook(arguments, to: "hook"), over: "webhook",
                ["url": .string(address + "/webhook/own")])
            #expect(failure?.remedy == remedy && failure?.requestedRest == nil, "\(failure?.message ?? "")")
            #expect(failure?.concernsReceiver == false)
        }
    }

    @Test func `only an answer of the connection's own host says something about it`() async throws {
        let simulation = Simulation { 0 }
        let address = try await simulation.serve()
        let settings = Settings(["url": .string(address + "/webhook/own")])
        let connectors = try await Connectors(connections: [("hook", "webhook", settings)], sources: [], environment: .sample())
            .untilTestEnds()
        let other = "http://localhost:\(address.split(separator: ":").last ?? "")/webhook/other"
        for (url, isConcerned) in [(address + "/webhook/path", true), (other, false)] {
            let delivery = SampleDelivery.webhook(["url": .string(url), "json": 1], to: "hook")
            let action = try #require(connectors.action(for: delivery))
            #expect(try await action.perform(delivery, attempt: SampleDelivery.first).concernsReceiver == isConcerned)
        }
    }

    @Test func `a host in percent encoding is refused, because the client would decode it after the check`() {
        for host in ["%31%32%37.0.0.1", "127%2e0%2e0%2e1", "loc%61lhost", "[%3a%3a1]", "169.254.169.25%34"] {
            #expect(throws: InvalidValue.self) { try HTTPAddress("https://\(host):8443/") }
        }
        #expect((try? HTTPAddress("http://[fe80::1%eth0]/"))?.host == "fe80::1%eth0")
    }

    @Test func `a proxy cannot lead a computed host to a private address, and its own address may be private`() async throws {
        func problem(_ host: String, through port: Int) async throws -> TransportError? {
            var configuration = Self.guarded
            configuration.proxy = try HTTPAddress("http://127.0.0.1:\(port)")
            // As if the name led to a public address on this machine.
            let connection = try HTTPConnection(configuration, clock: TestClock()) { host, port throws(PrivateAddress.Refused) in
                if PrivateAddress.isNumeric(host) { try await PrivateAddress.check(host, port: port) }
            }
            return try await Self.send(to: "https://\(host)/x", connection)
        }
        let proxy = try await ConnectProxy.serve(answer: "502 Bad Gateway")
        // Where a name leads is up to the proxy, and it can change.
        let named = try await problem("hooks.example.com", through: proxy.port)
        #expect(named?.kind == .badRequest && named?.mayHaveArrived == false)
        #expect(named?.message.contains("The proxy 127.0.0.1:\(proxy.port) would look up hooks.example.com:443") == true)
        #expect(named?.message.contains("`allow_private: true`") == true)
        let own = try await problem("10.0.0.1", through: proxy.port)
        #expect(own?.message.contains("the private address 10.0.0.1") == true, "\(own?.message ?? "")")
        #expect(proxy.heads.all.isEmpty)
        // An address cannot change.
        let open = try await problem("1.1.1.1", through: proxy.port)
        #expect(open?.message == "The proxy 127.0.0.1:\(proxy.port) does not connect to 1.1.1.1:443.")
        #expect(proxy.heads.all.count == 1)
    }

    @Test func `a server without TLS is reported as such`() async throws {
        let address = try await FaultyServer.serve(.serverError)
        let connection = try HTTPConnection(.init(name: "test"), clock: TestClock())
        let problem = try await Self.send(to: address.replacing("http:", with: "https:"), connection)
        #expect(problem?.message.hasSuffix(" does not speak TLS: check the address and its port.") == true)
    }

    @Test func `connections use TLS 1.2 or newer`() async throws {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        func problem(with newest: TLSVersion) async throws -> TransportError? {
            let server = try await TLSServer.serve(newest: newest)
            let connection = try HTTPConnection(.init(name: "test", ca: ca), clock: TestClock())
            return try await Self.send(to: "https://localhost:\(server.port)/", connection)
        }
        #expect(try await problem(with: .tlsv12) == nil)
        for old in [TLSVersion.tlsv11, .tlsv1] {
            let refusal = try await problem(with: old)
            #expect(refusal?.kind == .tls)
            #expect(refusal?.message.contains("offers only TLS older than 1.2") == true, "\(refusal?.message ?? "")")
        }
    }
}
