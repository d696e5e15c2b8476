import BellhopCore
import NIOCore
import NIOPosix
import NIOSSL

/// Checks the path to an address, from its name to the certificate. Sends no request.
struct NetworkExamination: Sendable {
    var configuration: HTTPConnection.Configuration
    var address: HTTPAddress
    var clock: any AgentClock
    /// The time limit of each step.
    var timeout: Duration = .seconds(5)

    /// The findings about the way to the address, and those of a further examination if none of them is `missing`.
    func findings(then examine: () async -> [Finding]) async -> [Finding] {
        let way = await findings()
        return way.contains { $0.state == .missing } ? way : way + (await examine())
    }

    func findings() async -> [Finding] {
        let target = configuration.proxy ?? address
        var findings: [Finding] = []
        do {
            let resolved = try await resolve(target)
            if resolved != target.host { findings.append(Finding("name", .ok, "\(target.host) is \(resolved)")) }
        } catch {
            let remedy = "check the name, and that this machine's DNS works"
            let finding = Finding("name", .missing, "there is no host named \(target.host)", remedy: remedy, reason: .unreachable)
            return findings + [finding]
        }
        let way = configuration.proxy == nil ? "connection" : "proxy"
        do {
            let channel = try await connect(target)
            try await channel.close()
            findings.append(Finding(way, .ok, "\(target.place) accepts connections"))
        } catch {
            let remedy = configuration.proxy == nil ? "check the address; behind a firewall, set `proxy:`" : "check `proxy:`"
            return findings + [Finding(way, .missing, "\(target.place) does not answer", remedy: remedy, reason: .unreachable)]
        }
        if !address.isSecure {
            if address.isLoopback { return findings }
            return findings + [Finding("tls", .note, "plain http: others on the network can read it", remedy: "use https://")]
        }
        // A host behind a proxy is not examined here: the first request shows whether its certificate is valid.
        return configuration.proxy == nil ? findings + [await certificate()] : findings
    }

    // MARK: The certificate

    private func certificate() async -> Finding {
        do {
            let tls = try HTTPConnection.tls(configuration)
            let end = try await handshake(tls).end
            let days = (end - clock.now) / .days(1)
            let until = "the certificate is valid until \(end.rfc3339.prefix(10))"
            if days < 14 { return Finding("tls", .note, "trusted, but \(until)", remedy: "renew it") }
            return Finding("tls", .ok, "trusted; \(until)")
        } catch let error as ConnectorError {
            return Finding("tls", .missing, error.message, reason: .tls)
        } catch {
            return await trustFailure()
        }
    }

    /// Finds out why a certificate is not trusted, by handshakes that skip parts of its verification.
    private func trustFailure() async -> Finding {
        func finding(_ text: String, _ remedy: String) -> Finding { Finding("tls", .missing, text, remedy: remedy, reason: .tls) }
        do {
            var tls = try HTTPConnection.tls(configuration)
            tls.certificateVerification = .none
            let end = try await handshake(tls).end
            if end < clock.now {
                return finding(
                    "the certificate of \(address.place) expired on \(end.rfc3339.prefix(10))", "its owner must renew it")
            }
            tls = try HTTPConnection.tls(configuration)
            tls.certificateVerification = .noHostnameVerification
            do {
                let names = try await handshake(tls).names
                let shown = names.prefix(5).map(\.visible).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
                let owner = names.isEmpty ? "" : " but for \(shown)"
                return finding("the certificate is not for the name \(address.host)\(owner)", "check the address")
            } catch {
                return finding(
                    "the certificate of \(address.place) is from an authority that this machine does not trust",
                    "name the authority's PEM file with `ca:`")
            }
        } catch {
            return finding("no TLS connection to \(address.place): the handshake failed", "check the port")
        }
    }

    /// Performs a handshake, closes the connection, and returns the server's certificate.
    private func handshake(_ tls: TLSConfiguration) async throws -> HandshakeWatch.Certificate {
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await connect(address)
        let promise = channel.eventLoop.makePromise(of: HandshakeWatch.Certificate.self)
        let late = channel.eventLoop.scheduleTask(in: .nanoseconds(timeout.wholeNanoseconds)) { promise.fail(TimedOut()) }
        let host = address.host
        channel.eventLoop.execute {
            do {
                let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
                let client = try NIOSSLClientHandler(context: context, serverHostname: isName ? host : nil)
                try channel.pipeline.syncOperations.addHandler(client)
                try channel.pipeline.syncOperations.addHandler(HandshakeWatch(promise))
            } catch {
                promise.fail(error)
            }
        }
        defer {
            late.cancel()
            channel.close(promise: nil)
        }
        return try await promise.futureResult.get()
    }

    private struct TimedOut: Error {}

    // MARK: The connection

    private func resolve(_ address: HTTPAddress) async throws -> String {
        let (host, port) = (address.host, address.port)
        return try await NIOThreadPool.singleton.runIfActive {
            try SocketAddress.makeAddressResolvingHost(host, port: port).ipAddress ?? host
        }
    }

    private func connect(_ address: HTTPAddress) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.nanoseconds(timeout.wholeNanoseconds))
            .connect(host: address.host, port: address.port).get()
    }
}
