import BellhopCore

/// The meaning of a ServiceNow answer; the status alone is not enough.
enum Classification: Sendable, Hashable {
    /// A good answer. The parsed body; null for a list that is still to be scanned.
    case ok(JSON)
    /// An empty list, sent as a 404.
    case noRows
    /// A redirect to another host: single sign-on, which requires a person.
    case loginRequired(host: String)
    case sessionExpired
    /// A page's redirect to another host that is not a login.
    case elsewhere(host: String)
    /// A page's redirect to another target on the instance.
    case moved(String)
    /// The request needs this token besides the session; nil if the server did not send the token.
    case csrf(token: String?)
    case hibernating
    /// Something between Bellhop and the instance answered.
    case gateway(status: Int)
    case unexpectedPage(status: Int)
    /// 202: the server was overloaded by this session and discarded the request.
    case dropped
    /// The server cancelled the request at its own time limit.
    case quota
    case throttled(after: Duration?)
    /// 503 with `Retry-After`.
    case unavailable(after: Duration)
    case mfaRequired
    case unauthenticated
    case forbidden(String)
    case goneOrHidden(String)
    /// There is no such page: a 404, or a 400 for an unknown API.
    case noPage(status: Int)
    case apiMissing
    case tooLong
    /// A request too long for an address cannot be sent in a batch either.
    case noBatch(status: Int)
    /// Any other refusal.
    case refused(status: Int, String)
    case serverError(status: Int, String)
    case badAnswer(String)
}

extension Classification {
    var isLogin: Bool { if case .loginRequired = self { true } else { false } }
}

/// What a good answer must contain.
enum AnswerShape: Sendable, Hashable {
    /// `result`, which the caller scans: only its ends are checked here.
    case listing
    /// `result` with an array.
    case rows
    /// `result` with an object.
    case record
    /// `serviced_requests`, the answers to the requests of a batch.
    case batch
    /// A page for people, or 304 for a conditional request.
    case page
    /// `data`, the Task Tracker's answer to a comment.
    case data
}
