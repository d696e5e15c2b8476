import BellhopAgent
import BellhopCore

/// Why a request failed, in the form of RFC 9457.
struct Problem: Error, Sendable, Hashable {
    var status: Int
    /// A few words, the same for all problems with this status.
    var title: String
    /// A sentence that says what happened and what to do.
    var detail: String
    /// After how many seconds to retry.
    var retryAfter: Int?
    /// The methods that the address accepts.
    var allow: String?
    /// The mistakes in the request's content, each with its place.
    var mistakes: [Diagnostic] = []

    init(_ status: Int, _ detail: String, retryAfter: Int? = nil, allow: String? = nil) {
        self.status = status
        self.detail = detail
        self.retryAfter = retryAfter
        self.allow = allow
        title = Self.titles[status] ?? "Problem"
    }

    /// About mistakes in an expression.
    init(_ mistakes: Diagnostics) {
        self.init(422, mistakes.all.map { $0.message + ($0.help.map { ": \($0)" } ?? "") }.joined(separator: "; "))
        self.mistakes = mistakes.all
    }

    /// The detail about a name that does not exist.
    static func unknown(_ kind: String, _ name: String, among known: [String]) -> String {
        "There is no \(kind) `\(name)`" + (Suggestion.didYouMean(name, among: known).map { ": \($0)" } ?? ".")
    }

    init(_ error: InquiryError) {
        switch error.storeKind {
        case .busy, .full: self.init(503, error.message, retryAfter: 5)
        case .other: self.init(409, error.message)
        case nil: self.init(400, error.message)
        default: self.init(500, error.message)
        }
    }

    static let needsToken = Problem(401, "Send a token of the console as `Authorization: Bearer TOKEN`, or log in at /login.")

    var json: JSON {
        var json: JSON.Object = [
            "type": "about:blank", "title": .string(title), "status": .int(Int64(status)), "detail": .string(detail),
        ]
        if !mistakes.isEmpty { json["problems"] = .array(mistakes.map(\.transferJSON)) }
        return .object(json)
    }

    static let titles = [
        400: "Bad request", 401: "Not logged in", 403: "Not permitted", 404: "Not found", 405: "Wrong method",
        406: "Not acceptable", 409: "Conflict", 412: "Changed meanwhile", 413: "Too large", 415: "Wrong content type",
        422: "Cannot be used", 428: "Precondition required", 429: "Too many requests", 500: "Error", 503: "Not ready",
    ]
}
