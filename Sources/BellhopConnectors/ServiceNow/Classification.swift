import BellhopCore

/// What an answer of ServiceNow means: the status alone never says it.
enum Classification: Sendable, Hashable {
    /// As asked for. The body, read; null for a list that is still to be scanned.
    case ok(JSON)
    /// A list without rows, said with a 404.
    case noRows
    /// A redirect to another host: a single sign-on wants a person.
    case loginRequired(host: String)
    case sessionExpired
    /// A redirect of a page to another host, which looks like no login.
    case elsewhere(host: String)
    /// A redirect of a page to another target of the instance.
    case moved(String)
    /// The request needs this token beside the session, or one that the server did not tell.
    case csrf(token: String?)
    case hibernating
    /// Something between us and the instance answered.
    case gateway(status: Int)
    case unexpectedPage(status: Int)
    /// 202: the server had too much to do for this session and threw the request away.
    case dropped
    /// The server stopped its own work at its time limit.
    case quota
    case throttled(after: Duration?)
    /// 503 with a time to come back at.
    case unavailable(after: Duration)
    case mfaRequired
    case unauthenticated
    case forbidden(String)
    case goneOrHidden(String)
    /// There is no such page, said with 404, or with the 400 for what is no API either.
    case noPage(status: Int)
    case apiMissing
    case tooLong
    /// What is too long for an address may not go in the body of a batch either.
    case noBatch(status: Int)
    /// Another refusal of what was asked.
    case refused(status: Int, String)
    case serverError(status: Int, String)
    case badAnswer(String)
}

extension Classification {
    var isLogin: Bool { if case .loginRequired = self { true } else { false } }
}

/// What a good answer to a request holds.
enum AnswerShape: Sendable, Hashable {
    /// `result`, to be scanned by whoever asked: only its edges are looked at here.
    case listing
    /// `result` with an array.
    case rows
    /// `result` with an object.
    case record
    /// `serviced_requests`, the answers to the requests of a batch.
    case batch
    /// A page for people, or 304 where the header fields ask for that.
    case page
    /// `data`, as the Task Tracker answers a comment.
    case data
}
