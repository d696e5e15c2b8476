import BellhopCore

/// The meaning of an answer of ETO's services. For errors they use 400, 401, 500 and 502 without a pattern, or `{"Detail": …}` with
/// any status.
enum ETOAnswer: Sendable {
    case ok(ETOReply)
    /// 400, 401, 500, or `Detail` with 200: the session may have ended, for example because the account logged in to the web pages.
    case doubtful(status: Int, String)
    case refused(status: Int, String)
    case throttled(after: Duration?)
    case gateway(status: Int)
    case redirect(to: String)
    case page(status: Int)

    init(_ response: HTTPResponse, to address: HTTPAddress, secrets: [String], at now: Timestamp) {
        let words = Self.words(of: response, secrets)
        switch response.status {
        case 300..<400:
            let target = response.headers["Location"].flatMap { address.resolving($0) }
            self = .redirect(to: target?.host ?? "elsewhere")
        case 429: self = .throttled(after: RetryAfter.read(response.headers, at: now))
        case 502, 503, 504: self = .gateway(status: response.status)
        case 200..<300:
            if ReceiverAnswer.isPage(response) {
                self = .page(status: response.status)
            } else if Self.detail(response.body) != nil {
                self = .doubtful(status: response.status, words)
            } else {
                self = .ok(ETOReply(status: response.status, body: response.body))
            }
        case 400, 401, 500: self = .doubtful(status: response.status, words)
        default: self = .refused(status: response.status, words)
        }
    }

    /// The reply of a successful answer; throws the failure for any other.
    /// - Parameter changesSomething: whether the request may have changed something.
    @discardableResult
    func reply(from place: String, changesSomething: Bool = false) throws(Failure) -> ETOReply {
        let again: Failure.Remedy = changesSomething ? .unknownOutcome : .retry(after: nil)
        switch self {
        case .ok(let reply): return reply
        case .doubtful(401, let text):
            throw Failure(.unauthenticated, again, "\(place) does not accept the session (401)\(Self.suffix(text)).")
        case .doubtful(400, let text): throw Failure(.refused, again, "\(place) refuses the request (400)\(Self.suffix(text)).")
        case .doubtful(let status, let text):
            throw Failure(.serverError, again, "\(place) failed (\(status))\(Self.suffix(text)).")
        case .refused(403, let text): throw Failure(.forbidden, .giveUp, "\(place) does not allow it (403)\(Self.suffix(text)).")
        case .refused(404, let text):
            throw Failure(.goneOrHidden, .giveUp, "\(place) does not have it (404)\(Self.suffix(text)).")
        case .refused(let status, let text):
            guard status < 500 else { throw Failure(.serverError, again, "\(place) failed (\(status))\(Self.suffix(text)).") }
            throw Failure(.refused, .giveUp, "\(place) refuses the request (\(status))\(Self.suffix(text)).")
        case .throttled(let after): throw Failure(.throttled, .rest(after), "\(place) takes no more requests for now (429).")
        case .gateway(let status): throw Failure(.gateway, again, "A gateway in front of \(place) answered \(status).")
        case .redirect(let host):
            throw Failure(
                .refused, changesSomething ? .unknownOutcome : .pauseConnection,
                "\(place) redirects to \(host); redirects are not followed, because the addresses hold secrets: check `address`.")
        case .page(let status):
            throw Failure(.unexpectedPage, again, "\(place) answered with a web page (\(status)) instead of data.")
        }
    }

    private static func suffix(_ text: String) -> String { text.isEmpty ? "" : ": " + text }

    /// The answer's own error text, without secrets; empty for a page.
    static func words(of response: HTTPResponse, _ secrets: [String]) -> String {
        guard !ReceiverAnswer.isPage(response) else { return "" }
        let text = detail(response.body) ?? String(decoding: response.body.prefix(4096), as: UTF8.self)
        return shown(text, secrets)
    }

    /// A text from the server on one line, without secrets and GUIDs: ETO's tokens look like GUIDs.
    static func shown(_ text: String, _ secrets: [String]) -> String {
        var shown = Redaction.excerpt(DisplayText.line(GUID.masked(Redaction.scrub(text, of: secrets))), length: 160)
        while let last = shown.last, last == "." || last == " " { shown.removeLast() }
        return shown
    }

    /// The text of an error: `{"Detail": …}` with at most two other members, in an answer of less than 16 KiB.
    private static func detail(_ body: [UInt8]) -> String? {
        guard body.count < 16 << 10, body.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let members = (try? JSON.parse(body))?.asObject, members.count <= 3
        else { return nil }
        return members["Detail"]?.asString
    }
}

/// Texts of the form `8-4-4-4-12` hexadecimal digits.
enum GUID {
    static let zero = "00000000-0000-0000-0000-000000000000"
    private static let groups = [8, 4, 4, 4, 12]

    static func isGUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 5
            && zip(parts, groups).allSatisfy { part, count in
                part.utf8.count == count && part.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
            }
    }

    static func masked(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var place = 0
        while place < bytes.count {
            let end = place + 36
            if end <= bytes.count, isGUID(String(decoding: bytes[place..<end], as: UTF8.self)) {
                out += Redaction.mark.utf8
                place = end
            } else {
                out.append(bytes[place])
                place += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
