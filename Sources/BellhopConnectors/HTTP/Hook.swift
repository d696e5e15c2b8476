import BellhopCore

/// An address that requests are posted to, with its HTTP client.
struct Hook: Sendable {
    let address: HTTPAddress
    let exchange: any HTTPExchange
    /// For messages: `ops (hooks.example.com:443)`.
    let label: String
    /// The clients for other hosts; nil if steps must not send there.
    let others: OtherAddresses?
    private let secrets: [String]
    private let name: String?

    /// - Parameters:
    ///   - name: the connection's; nil for an address written in a rule.
    ///   - secrets: texts to hide in messages, besides parts of the address.
    init(name: String?, address: HTTPAddress, exchange: any HTTPExchange, secrets: [String] = [], others: OtherAddresses? = nil) {
        self.others = others
        self.secrets = secrets
        self.address = address
        self.exchange = exchange
        self.name = name
        label = name.map { "\($0) (\(address.place))" } ?? address.place
    }

    private var answer: ReceiverAnswer {
        ReceiverAnswer(receiver: label, secrets: Self.secrets(of: address) + secrets, isConnection: name != nil)
    }

    /// A hook for another address of the same origin, with the same credentials. Its failures do not count as the connection's.
    func with(_ address: HTTPAddress) -> Hook {
        var address = address
        address.userInfo = address.userInfo ?? self.address.userInfo
        return Hook(name: nil, address: address, exchange: exchange, secrets: Self.secrets(of: self.address) + secrets)
    }

    /// Sends a request, and returns the answer if its status is expected.
    ///
    /// A request without an answer is retried: receivers recognize a duplicate by its `webhook-id`, or show it twice. If it must
    /// not be repeated, it is held for a person.
    func send(
        _ request: HTTPRequest, expecting expected: StatusSet, at now: Timestamp,
        _ repetition: Repetition = Repetition(isAllowed: true)
    ) async throws(Failure) -> HTTPResponse {
        let response = try await answer(to: request, repetition)
        if let failure = failure(of: response, expecting: expected, at: now) {
            throw repetition.holdingIfUncertain(failure, status: response.status)
        }
        return response
    }

    /// Sends a request, and returns the answer whatever its status.
    func answer(
        to request: HTTPRequest, _ repetition: Repetition = Repetition(isAllowed: true)
    ) async throws(Failure) -> HTTPResponse {
        var request = request
        request.isRepeatable = repetition.isAllowed
        do throws(TransportError) {
            return try await exchange.send(request)
        } catch {
            var failure = repetition.failure(of: error)
            // The message already names the host.
            if let name { failure.message = "\(name): \(failure.message)" }
            throw failure
        }
    }

    /// The failure that a status means; nil if the status is expected.
    /// - Parameter wait: how long the service asks to wait, if it states that outside the standard header fields.
    func failure(of response: HTTPResponse, expecting expected: StatusSet, wait: Duration? = nil, at now: Timestamp) -> Failure? {
        expected.contains(response.status) ? nil : answer.failure(of: response, expecting: expected, wait: wait, at: now)
    }

    func words(of response: HTTPResponse) -> String { answer.words(of: response) }

    /// The failure of an answer with a successful status, but without the service's usual content.
    /// - Parameter what: the usual content.
    func unexpected(_ response: HTTPResponse, instead what: String) -> Failure {
        if ReceiverAnswer.isPage(response) {
            return Failure(
                .unexpectedPage, .retry(after: nil),
                "\(label) answered with a web page instead of \(what): an intermediary answered.")
        }
        return Failure(.badAnswer, .giveUp, "\(label) answered \(response.status) without \(what)\(words(of: response))")
    }

    /// The parts of an address that may be secrets, by their length.
    private static func secrets(of address: HTTPAddress) -> [String] {
        let parts = address.target.split { "/?&=".contains($0) }.map(String.init).filter { $0.count >= 12 }
        return [address.target].filter { $0.count >= 4 } + parts + (address.userInfo.map { [$0] } ?? [])
    }
}

/// A connection's clients for other hosts: with its rate, proxy, certificates and timeout, without its header fields.
struct OtherAddresses: Sendable {
    let open: HTTPConnection
    /// For hosts computed from values: refuses private addresses and unusual ports, unless the connection allows them.
    let guarded: HTTPConnection

    init(
        _ configuration: HTTPConnection.Configuration, allowsPrivate: Bool, morePorts: [Int], in environment: ConnectorEnvironment
    ) throws(ConnectorError) {
        var configuration = configuration
        configuration.headers = [:]
        open = try HTTPConnection(configuration, in: environment)
        configuration.refusesPrivate = !allowsPrivate
        configuration.morePorts = morePorts
        guarded = try HTTPConnection(configuration, in: environment)
    }

    func shutdown() async throws {
        try await open.shutdown()
        try await guarded.shutdown()
    }
}

/// A harmless request that shows whether a service accepts a connection's settings, without a message.
struct HookProbe: Sendable {
    /// The checked thing, in a word or two: `token`, `channel`.
    var subject: String
    var request: HTTPRequest
    var remedy: String?
    /// What an answer that accepts the settings has, for messages.
    var content: String
    /// Sums up an answer with a successful status in a few words, such as `bot @bellhop`; nil if it lacks the content. Throws if the
    /// answer reports an error.
    var read: @Sendable (JSON) throws(Failure) -> String?

    /// - Parameter hook: sends the request, and keeps secrets out of messages.
    func finding(over hook: Hook, at now: Timestamp) async -> Finding {
        do throws(Failure) {
            let response = try await hook.send(request, expecting: .success, at: now)
            guard let json = response.json, let words = try read(json) else {
                throw hook.unexpected(response, instead: content)
            }
            return Finding(subject, .ok, DisplayText.line(words))
        } catch {
            return Finding(subject, error, remedy: remedy)
        }
    }
}
