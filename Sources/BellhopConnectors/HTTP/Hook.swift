import BellhopCore

/// An address that requests are posted to, with the way there.
struct Hook: Sendable {
    let address: HTTPAddress
    let exchange: any HTTPExchange
    /// For messages: `ops (hooks.example.com:443)`.
    let label: String
    private let name: String?
    private let answer: ReceiverAnswer

    /// - Parameters:
    ///   - name: the connection's; nil for an address that a rule names itself.
    ///   - secrets: what else must not be read in messages.
    init(name: String?, address: HTTPAddress, exchange: any HTTPExchange, secrets: [String] = []) {
        self.address = address
        self.exchange = exchange
        self.name = name
        label = name.map { "\($0) (\(address.place))" } ?? address.place
        answer = ReceiverAnswer(receiver: label, secrets: Self.secrets(of: address) + secrets)
    }

    /// Sends, and gives the answer back when its status is one of the expected.
    ///
    /// A request whose answer never came is tried again: receivers know a repetition by its `webhook-id`, or show it twice. One that must
    /// not be repeated is held for a person.
    func send(
        _ request: HTTPRequest, expecting expected: StatusSet, at now: Timestamp,
        _ repetition: Repetition = Repetition(isAllowed: true)
    ) async throws(Failure) -> HTTPResponse {
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await exchange.send(request)
        } catch {
            var failure = repetition.failure(of: error)
            // The message names the host already.
            if let name { failure.message = "\(name): \(failure.message)" }
            throw failure
        }
        if let failure = answer.failure(of: response, expecting: expected, at: now) {
            throw repetition.weighed(failure, status: response.status)
        }
        return response
    }

    func words(of response: HTTPResponse) -> String { answer.words(of: response) }

    /// The address of a hook as its configuration names it.
    static func address(_ settings: Settings, _ configuration: HTTPConnection.Configuration) throws(ConnectorError) -> HTTPAddress
    {
        let address: HTTPAddress
        do throws(HTTPAddress.Problem) {
            address = try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
        } catch {
            throw ConnectorError(connection: configuration.name, setting: "url", error.message)
        }
        if let refusal = configuration.refusal(of: address) {
            throw ConnectorError(connection: configuration.name, setting: "url", refusal)
        }
        return address
    }

    /// The parts of an address that may be secret, long enough to be.
    private static func secrets(of address: HTTPAddress) -> [String] {
        let parts = address.target.split { "/?&=".contains($0) }.map(String.init).filter { $0.count >= 12 }
        return [address.target].filter { $0.count >= 4 } + parts + (address.userInfo.map { [$0] } ?? [])
    }
}
