import BellhopCore

/// What the answer of somebody's receiver means for a delivery.
///
/// As Standard Webhooks 1.0 and the receivers themselves have it: 429 and all of 5xx come and go, every other refusal stays, a redirect is a
/// refusal because following one would take our words and headers to somebody else.
struct ReceiverAnswer: Sendable {
    /// The receiver for messages: its name and host, never its path, which is often a secret.
    var receiver: String
    /// What the other side might repeat and nobody should read.
    var secrets: [String] = []

    /// Nil when the status is one that was expected.
    func failure(of response: HTTPResponse, expecting expected: StatusSet, at now: Timestamp) -> Failure? {
        let status = response.status
        if expected.contains(status) { return nil }
        let answered = "\(receiver) answered \(status)"
        let words = words(of: response)
        let after = RetryAfter.read(response.headers, at: now)
        switch status {
        case 429: return Failure(.throttled, .rest(after), "\(answered): too many requests for now\(words)")
        // It says when to come back, so it has done nothing.
        case 503 where after != nil: return Failure(.throttled, .rest(after), "\(answered)\(words)")
        case 502, 503, 504: return Failure(.gateway, .retry(after: after), "\(answered)\(words)")
        case 408, 425: return Failure(.dropped, .retry(after: after), "\(answered)\(words)")
        case 500...: return Failure(.serverError, .retry(after: after), "\(answered)\(words)")
        case 404, 410:
            return Failure(.goneOrHidden, .giveUp, "\(answered): there is nothing (any more) at the address\(words)")
        case 401: return Failure(.unauthenticated, .giveUp, "\(answered): it does not accept who we are\(words)")
        case 403: return Failure(.forbidden, .giveUp, "\(answered)\(words)")
        case 300..<400:
            let target = response.headers["Location"].flatMap { try? HTTPAddress($0) }
            let place = target.map { " to \($0.place)" } ?? ""
            return Failure(
                .refused, .giveUp, "\(answered), a redirect\(place); redirects are not followed: configure the new address.")
        case 400..<500: return Failure(.refused, .giveUp, "\(answered)\(words)")
        default: return Failure(.badAnswer, .giveUp, "\(answered), which is not the status that was expected\(words)")
        }
    }

    /// What the answer says for itself, as the end of a sentence; a page says nothing.
    func words(of response: HTTPResponse) -> String {
        guard !Self.isPage(response) else { return "." }
        let excerpt = Redaction.excerpt(DisplayText.line(Self.text(response, hiding: secrets)), length: 160)
        return excerpt.isEmpty ? "." : ": \(excerpt)"
    }

    /// The beginning of an answer's text without these secrets. None is cut in two before it is looked for.
    static func text(_ response: HTTPResponse, hiding secrets: [String]) -> String {
        String(Redaction.scrub(String(decoding: response.body.prefix(16_384), as: UTF8.self), of: secrets).prefix(4096))
    }

    /// True when the answer is a page for people: something between us and the receiver speaks.
    static func isPage(_ response: HTTPResponse) -> Bool {
        response.headers["Content-Type"].map { ASCII.lowercased($0).hasPrefix("text/html") } ?? false
            || response.body.first { !" \t\r\n\u{FEFF}".utf8.contains($0) } == UInt8(ascii: "<")
    }
}
