import BellhopCore
import Synchronization

/// Requests to one origin: adds credentials and cookies, follows redirects within the origin, and respects its pauses.
///
/// A class with a lock, because the sources and actions of a connection share its cookies.
final class WebSession: HTTPExchange {
    let base: HTTPAddress
    /// For messages: `tracker (api.example.com:443)`.
    let label: String
    private let exchange: any HTTPExchange
    private let auth: WebAuth
    private let clock: any AgentClock
    private let pause: HostPause
    private let jar = Mutex(CookieJar())
    private let secrets: [String]
    /// The latest tokens, which an answer may echo.
    private let sentTokens = Mutex<[String]>([])

    init(
        name: String, base: HTTPAddress, exchange: any HTTPExchange, auth: WebAuth, secrets: [String], notebook: any Notebook,
        clock: any AgentClock
    ) {
        self.base = base
        self.exchange = exchange
        self.auth = auth
        self.clock = clock
        label = "\(name) (\(base.place))"
        self.secrets = secrets
        // Services count requests without credentials separately.
        let isAnonymous = if case .none = auth { true } else { false }
        pause = HostPause(
            connection: isAnonymous ? name + "/anonymous" : name, place: base.place, notebook: notebook, clock: clock)
    }

    /// Sends one request with credentials. Redirects are returned like any other answer.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        guard request.address.hasOrigin(of: base) else {
            throw TransportError(
                .badRequest, mayHaveArrived: false,
                "\(request.address.place) is not \(base.place), and this connection sends nothing to other hosts.")
        }
        var request = request
        if case .field(let field) = auth { request.headers[field.name] = field.value }
        let now = clock.now
        if let cookies = jar.withLock({ $0.header(for: request.address, at: now) }) { request.headers["Cookie"] = cookies }
        let response = try await exchange.send(request)
        let later = clock.now
        jar.withLock { $0.store(response.headers, from: request.address, at: later) }
        await pause.note(response)
        return response
    }

    var now: Timestamp { clock.now }

    /// Secrets that an answer may echo: those of the settings, tokens, and cookies long enough to identify a session.
    var hidden: [String] {
        secrets + sentTokens.withLock { $0 } + jar.withLock { $0.cookies.map(\.value).filter { $0.utf8.count >= 12 } }
    }

    private func token(renewing stale: OAuthToken? = nil) async throws(Failure) -> OAuthToken? {
        let token = try await auth.token(renewing: stale)
        if let text = token?.text {
            sentTokens.withLock { tokens in
                if !tokens.contains(text) { tokens = tokens.suffix(3) + [text] }
            }
        }
        return token
    }

    /// Fails during the host's pause.
    func checkPause() async throws(Failure) { try await pause.check() }

    /// Sends a request that changes nothing. Follows redirects of a `GET` within the origin, and returns the answer with its
    /// address.
    /// - Parameter expected: the accepted statuses, besides 304.
    func read(
        _ request: HTTPRequest, expecting expected: StatusSet = .whole
    ) async throws(Failure) -> (response: HTTPResponse, address: HTTPAddress) {
        try await checkPause()
        var request = request
        var seen: Set<HTTPAddress> = [request.address]
        var token = try await token()
        var mayRenew = token != nil
        while true {
            let response: HTTPResponse
            do throws(TransportError) {
                response = try await send(request.authorized(by: token))
            } catch {
                var failure = error.failure(changesSomething: false)
                failure.message = "\(label): \(failure.message)"
                throw failure
            }
            if expected.contains(response.status) || response.status == 304 { return (response, request.address) }
            if response.status == 401, mayRenew {
                mayRenew = false
                token = try await self.token(renewing: token)
                continue
            }
            guard [301, 302, 303, 307, 308].contains(response.status), request.method == "GET" else {
                throw failure(of: response, expecting: expected)
            }
            request.address = try next(response, from: request.address)
            guard seen.insert(request.address).inserted, seen.count <= HTTPRequest.maxRedirects + 1 else {
                throw Failure.badAnswer("\(label) redirects in a loop.")
            }
        }
    }

    /// Runs work with a token, and again with a new one if the first is refused, because then nothing was done.
    func withToken<Value: Sendable>(_ work: (OAuthToken?) async throws(Failure) -> Value) async throws(Failure) -> Value {
        let token = try await token()
        do throws(Failure) {
            return try await work(token)
        } catch {
            guard token != nil, error.reason == .unauthenticated else { throw error }
        }
        return try await work(try await self.token(renewing: token))
    }

    private func next(_ response: HTTPResponse, from address: HTTPAddress) throws(Failure) -> HTTPAddress {
        guard let target = response.headers["Location"].flatMap({ address.resolving($0) }) else {
            throw Failure.badAnswer("\(label) answered \(response.status), a redirect without an address.")
        }
        guard target.hasOrigin(of: base), target.userInfo == nil else {
            throw Failure(
                .refused, .giveUp,
                "\(label) answered \(response.status), a redirect to \(target.place). Credentials are not sent to other hosts: if this one is right, configure a connection to it."
            )
        }
        return target
    }

    private func failure(of response: HTTPResponse, expecting expected: StatusSet) -> Failure {
        let answer = ReceiverAnswer(receiver: label, secrets: hidden)
        guard var failure = answer.failure(of: response, expecting: expected, at: clock.now) else {
            preconditionFailure("a good answer is not a failure")
        }
        // The connection cannot be used until its credentials are accepted.
        if failure.reason == .unauthenticated { failure.remedy = .pauseConnection }
        // 202, 206 and similar: a later answer may be complete.
        if response.isSuccess { failure.remedy = .retry(after: nil) }
        return failure
    }
}

extension HTTPRequest {
    func authorized(by token: OAuthToken?) -> HTTPRequest {
        guard let token else { return self }
        var request = self
        request.headers["Authorization"] = "Bearer " + token.text
        return request
    }
}
