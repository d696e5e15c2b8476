import BellhopCore

/// Converts a receiver's answer to a delivery's failure.
///
/// According to Standard Webhooks 1.0 and the receivers themselves: 429 and 5xx are temporary, other refusals are permanent. A
/// redirect is a refusal, because following it would send content and headers to another address; one that says that the address has moved
/// is like an address that is gone.
struct ReceiverAnswer: Sendable {
    /// The receiver in messages: its name and host, never its path, which is often a secret.
    var receiver: String
    /// Secrets that the answer might echo.
    var secrets: [String] = []
    /// Whether the address and the credentials are a connection's. If they are refused, no delivery succeeds until a person
    /// repairs the connection.
    var isConnection = false

    /// Error codes for a token that is no longer valid, sent with 403.
    private static let revoked = ["invalid_token", "token_revoked", "token_expired", "account_inactive", "revoked"]

    /// The failure that a status means; nil if the status is expected.
    /// - Parameter wait: how long the service asks to wait, if it states that outside the standard header fields.
    func failure(of response: HTTPResponse, expecting expected: StatusSet, wait: Duration? = nil, at now: Timestamp) -> Failure? {
        let status = response.status
        if expected.contains(status) { return nil }
        let answered = "\(receiver) answered \(status)"
        let words = words(of: response)
        let after = wait ?? RetryAfter.read(response.headers, at: now, readsReset: response.isThrottled)
        switch status {
        case _ where response.isThrottled:
            return Failure(.throttled, .rest(after), "\(answered): too many requests for now\(words)")
        // With Retry-After, it has not processed the request.
        case 503 where after != nil: return Failure(.throttled, .rest(after), "\(answered)\(words)")
        case 502, 503, 504: return Failure(.gateway, .retry(after: after), "\(answered)\(words)")
        case 408, 425: return Failure(.dropped, .retry(after: after), "\(answered)\(words)")
        case 500...: return Failure(.serverError, .retry(after: after), "\(answered)\(words)")
        case 404, 410: return Failure(.goneOrHidden, lost, "\(answered): there is nothing at this address (any more)\(words)")
        case 401: return Failure(.unauthenticated, lost, "\(answered): it does not accept the credentials\(words)")
        case 403 where Self.revoked.contains(where: { words.contains($0) }):
            return Failure(.unauthenticated, lost, "\(answered): it does not accept the token any more\(words)")
        case 403: return Failure(.forbidden, .giveUp, "\(answered)\(words)")
        case 300..<400:
            let target = response.headers["Location"].flatMap { try? HTTPAddress($0) }
            let place = target.map { " to \($0.place)" } ?? ""
            // Other redirects may be temporary, or follow a request that was carried out.
            return Failure(
                .refused, [301, 308].contains(status) ? lost : .giveUp,
                "\(answered), a redirect\(place); redirects are not followed: configure the new address.")
        case 400..<500: return Failure(.refused, .giveUp, "\(answered)\(words)")
        default: return Failure(.badAnswer, .giveUp, "\(answered), not an expected status\(words)")
        }
    }

    /// The remedy when the address or the credentials are not accepted.
    private var lost: Failure.Remedy { isConnection ? .pauseReceiver : .giveUp }

    /// The answer's text as the end of a sentence, with its full stop. The text of a web page is left out.
    func words(of response: HTTPResponse) -> String {
        guard !Self.isPage(response) else { return "." }
        let excerpt = Redaction.excerpt(DisplayText.line(Self.text(response, hiding: secrets)), length: 160)
        return excerpt.isEmpty ? "." : ": \(excerpt)" + (".!?".contains(excerpt.last ?? ".") ? "" : ".")
    }

    /// The beginning of an answer's text without these secrets, which are removed before the text is cut.
    static func text(_ response: HTTPResponse, hiding secrets: [String]) -> String {
        String(Redaction.scrub(String(decoding: response.body.prefix(16_384), as: UTF8.self), of: secrets).prefix(4096))
    }

    /// Whether the answer is a web page, probably from an intermediary. JSON is none, although PHP by default declares it as HTML.
    static func isPage(_ response: HTTPResponse) -> Bool {
        let first = response.body.first { !" \t\r\n\u{FEFF}".utf8.contains($0) }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return false }
        return response.headers["Content-Type"].map { ASCII.lowercased($0).hasPrefix("text/html") } ?? false
            || first == UInt8(ascii: "<")
    }

    /// The failure of a successful status without the plain `ok` of some chats' incoming webhooks: something else answered.
    static func unlessOK(_ response: HTTPResponse, _ service: String, from hook: Hook) -> Failure? {
        guard response.isSuccess, response.body.filter({ $0 > 0x20 }) != Array("ok".utf8) else {
            return nil
        }
        if isPage(response) { return hook.unexpected(response, instead: "`ok`") }
        return Failure(
            .badAnswer, .giveUp,
            "\(hook.label) answered \(response.status), but not with `ok` as \(service) does\(hook.words(of: response))")
    }
}

extension HTTPResponse {
    /// The body as JSON; nil if it is something else.
    var json: JSON? { try? JSON.parse(body) }
}

extension Failure {
    /// The failure of an answer that is not as expected. The delivery is tried again, because a later answer may be as expected.
    static func badAnswer(_ message: String) -> Failure { Failure(.badAnswer, .retry(after: nil), message) }

    /// The failure of a delivery that can never succeed as it is.
    static func badArguments(_ message: String) -> Failure { Failure(.badArguments, .giveUp, message) }
}
