public import BellhopCore
import Crypto
import NIOCore
import NIOHTTP1
import NIOSSL

/// The HTTP client for one remote system: always verifies TLS, never follows redirects, sends nothing twice that must be sent once.
///
/// A class, because it owns open sockets: `shutdown()` closes them and waits; otherwise they close when it is released.
public final class HTTPConnection: HTTPExchange {
    public let configuration: Configuration
    let clients: HTTPClients
    /// Identifies the client certificate; nil without one.
    let certificateFingerprint: String?
    let clock: any AgentClock
    private let limiter: RateLimiter?
    /// Resolves a host; throws if it has a private address. Called only if the configuration refuses those.
    private let lookUp: @Sendable (_ host: String, _ port: Int) async throws(PrivateAddress.Refused) -> Void

    /// - Throws: if the `ca` file cannot be used.
    public convenience init(_ configuration: Configuration, clock: any AgentClock) throws(ConnectorError) {
        try self.init(configuration, clock: clock, limiter: nil)
    }

    /// For a connection in bellhop.yaml: uses the rate limiter that is kept for its name.
    convenience init(_ configuration: Configuration, in environment: ConnectorEnvironment) throws(ConnectorError) {
        let limiter = environment.rates.limiter(configuration.name, configuration.rate)
        try self.init(configuration, clock: environment.clock, limiter: limiter)
    }

    /// - Parameters:
    ///   - limiter: the rate limiter kept for the connection's name; nil to make a new one if the configuration has a rate.
    ///   - lookUp: throws if a host has a private address.
    init(
        _ configuration: Configuration, clock: any AgentClock, limiter: RateLimiter? = nil,
        lookUp: @escaping @Sendable (_ host: String, _ port: Int) async throws(PrivateAddress.Refused) -> Void = {
            (host, port) async throws(PrivateAddress.Refused) in try await PrivateAddress.check(host, port: port)
        }
    ) throws(ConnectorError) {
        self.lookUp = lookUp
        self.configuration = configuration
        let tls = try Self.tls(configuration)
        certificateFingerprint = try? tls.certificateChain.first.flatMap { source in
            guard case .certificate(let certificate) = source else { return nil }
            return Base64URL.encode(Array(SHA256.hash(data: try certificate.toDERBytes())))
        }
        self.clock = clock
        self.limiter = limiter ?? configuration.rate.map { RateLimiter($0, clock: clock) }
        clients = HTTPClients(SocketOpener(configuration, TLSContext(tls)))
    }

    public var executor: (any TaskExecutor)? { clients.executor }

    /// The limits on its deliveries, from its settings and those that its kind declares.
    /// - Parameter lanes: how many attempts the connection can make at once.
    func limits(_ declared: DeliveryLimits, lanes: Int? = nil) -> ReceiverLimits {
        configuration.delivery.limits(declared, lanes: lanes, rate: limiter)
    }

    /// Closes all sockets. Requests in progress fail.
    public func shutdown() async throws { try await clients.shutdown() }

    /// Why an address must not be used; nil if it may. See ``Configuration/refusal(of:)``.
    public func refusal(of address: HTTPAddress) -> String? { configuration.refusal(of: address) }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        try await check(request)
        try await waitForTurn(request)
        let progress = Progress()
        let timeout = request.timeout ?? configuration.timeout
        do {
            let prepared = prepared(request, progress, deadline: .now() + .nanoseconds(timeout.wholeNanoseconds))
            return try await clients.answer(to: prepared) { [maxBody = configuration.maxBody] in
                AnswerCollector(limit: maxBody, bodyNotNeededFor: request.bodyNotNeededFor, progress)
            }
        } catch {
            throw TransportError(
                error, at: request.address, through: configuration.proxy, timeout: timeout, limit: configuration.maxBody, progress
            )
        }
    }

    /// - Throws: if the request must not be sent.
    func check(_ request: HTTPRequest) async throws(TransportError) {
        if let refusal = refusal(of: request.address) { throw TransportError(.badRequest, mayHaveArrived: false, refusal) }
        if let part = Self.forbiddenPart(of: request) {
            throw TransportError(
                .badRequest, mayHaveArrived: false,
                "The request to \(request.address.place) was not sent: its \(part) has a character that HTTP does not allow there."
            )
        }
        let head = headSize(of: request)
        guard head <= Self.largestHead else {
            throw TransportError(
                .badRequest, mayHaveArrived: false,
                "The request to \(request.address.place) would have an address and header fields of \(head) bytes, more than \(Self.largestHead): no server takes that, so it was not sent."
            )
        }
        if configuration.refusesPrivate { try await checkHost(of: request.address) }
    }

    /// The part that could add header fields or another request; nil if there is none. The client sends all of them as they are.
    private static func forbiddenPart(of request: HTTPRequest) -> String? {
        if !HeaderFields.isName(request.method) { return "method" }
        let field = request.headers.fields.first { !HeaderFields.isName($0.name) || !HeaderFields.isValue($0.value) }
        return field.map { "header field `\(DisplayText.line($0.name))`" }
    }

    /// - Throws: if the host, which comes from a value, has a private address, if only the proxy can resolve it, or if the port is not
    ///   allowed.
    private func checkHost(of address: HTTPAddress) async throws(TransportError) {
        if let proxy = configuration.proxy, !PrivateAddress.isNumeric(address.host) {
            throw TransportError(
                .badRequest, mayHaveArrived: false,
                "The proxy \(proxy.place) would look up \(address.place), whose host comes from a value, so Bellhop cannot check whether its address is private: write the host in the rule, or set `allow_private: true`."
            )
        }
        do throws(PrivateAddress.Refused) {
            try await lookUp(address.host, address.port)
            let ports = PrivateAddress.ports + configuration.morePorts
            if !ports.contains(address.port) { throw .port(ports) }
        } catch {
            throw TransportError(error, at: address)
        }
    }

    /// Returns when the connection's rate allows the request.
    func waitForTurn(_ request: HTTPRequest) async throws(TransportError) {
        do {
            try await limiter?.wait()
        } catch {
            throw TransportError(.cancelled, mayHaveArrived: false, "The request was cancelled before it was sent.")
        }
        if let notAfter = request.notAfter, clock.now > notAfter {
            throw TransportError(
                .timeout, mayHaveArrived: false, "The request to \(request.address.place) had to wait too long and was not sent.")
        }
    }

    /// In bytes. Servers refuse larger request heads.
    static let largestHead = 32 << 10

    private func headSize(of request: HTTPRequest) -> Int {
        let fields = request.headers.fields + configuration.headers.fields
        return request.method.utf8.count + request.address.text.utf8.count
            + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } + (request.address.userInfo?.utf8.count ?? 0)
    }

    /// All header fields of a request, including those of the connection.
    func headers(of request: HTTPRequest) -> HTTPHeaders {
        var headers = HTTPHeaders(request.headers.fields.map { ($0.name, $0.value) })
        for field in configuration.headers.fields where request.headers[field.name] == nil {
            headers.add(name: field.name, value: field.value)
        }
        if let userInfo = request.address.userInfo, !headers.contains(name: "Authorization") {
            headers.add(name: "Authorization", value: "Basic " + Base64.encode(Array(userInfo.utf8)))
        }
        if !headers.contains(name: "Accept-Encoding") { headers.add(name: "Accept-Encoding", value: "gzip") }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "Bellhop") }
        return headers
    }

    func prepared(_ request: HTTPRequest, _ progress: Progress, deadline: NIODeadline) -> CallRequest {
        let address = request.address
        var headers = headers(of: request)
        if !headers.contains(name: "Host") { headers.add(name: "Host", value: address.authority) }
        let body = request.body.flatMap { $0.isEmpty ? nil : ByteBuffer(bytes: $0) }
        // DELETE has no body by itself (RFC 9110, section 8.6).
        if body != nil || ["POST", "PUT", "PATCH"].contains(request.method) {
            headers.add(name: "Content-Length", value: "\(body?.readableBytes ?? 0)")
        }
        return CallRequest(
            origin: .init(host: address.host, port: address.port, isSecure: address.isSecure),
            head: HTTPRequestHead(
                version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: address.target, headers: headers),
            body: body, progress: progress, deadline: deadline, isRepeatable: request.isRepeatable ?? !request.changesSomething)
    }

    private static func add(
        _ files: ClientCertificate, to tls: inout TLSConfiguration, of connection: String
    ) throws(ConnectorError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
            guard !chain.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            tls.certificateChain = chain.map { .certificate($0) }
        } catch {
            throw ConnectorError(
                connection: connection, setting: "auth.certificate.cert",
                "No certificate can be read from \(files.chain): it must be a PEM file that this user may read.")
        }
        do {
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
        } catch {
            throw ConnectorError(
                connection: connection, setting: "auth.certificate.key",
                "No private key can be read from \(files.key): it must be a PEM file without a password that this user may read.")
        }
    }

    /// The TLS settings; certificates are always verified.
    static func tls(_ configuration: Configuration) throws(ConnectorError) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        if let files = configuration.certificate { try add(files, to: &tls, of: configuration.name) }
        guard let ca = configuration.ca else { return tls }
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(ca)
            guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            tls.additionalTrustRoots = [.certificates(certificates)]
        } catch {
            throw ConnectorError(
                connection: configuration.name, setting: "ca",
                "No certificates can be read from \(ca): it must be a PEM file that this user may read.")
        }
        return tls
    }
}

/// The answer exceeded `max_body`.
struct BodyTooLarge: Error {}
