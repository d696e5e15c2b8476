/// Something that goes wrong on demand.
public enum Fault: Sendable, Hashable {
    /// What a 429 says of when to come back.
    public enum ComeBack: Sendable, Hashable {
        /// `Retry-After: n`.
        case seconds(Int)
        /// `Retry-After:` an HTTP date, so many seconds ahead of the simulation's clock.
        case date(in: Int)
        /// Only `X-RateLimit-Reset`, in Unix seconds, so many seconds ahead of the simulation's clock.
        case rateLimitReset(in: Int)
        case unsaid
    }

    /// 429 in the place of an answer.
    case tooManyRequests(ComeBack)
    /// 503 in the place of an answer.
    case unavailable(ComeBack)
    /// So many matching requests are taken in a while; those above are answered 429.
    case rateLimit(RateLimit)
    /// 500 with the platform's error envelope.
    case internalError
    /// 502 with nginx's HTML.
    case badGateway
    /// 202 without a body: the server dropped the request.
    case accepted
    /// 403 with the platform's error envelope.
    case forbidden
    /// 200 with the HTML of a hibernating developer instance.
    case hibernating
    /// 200 with the HTML of the login page.
    case loginPage
    /// 302 to `/login.do`.
    case redirectToLogin
    /// 302 to anywhere else.
    case redirect(to: String)
    /// Any status with any text.
    case status(Int, body: String)

    /// The request is taken in and never answered; the connection stays open until the client closes it.
    case hangs
    /// The answer comes so many real milliseconds late; the session is busy meanwhile.
    case slow(milliseconds: Int)

    /// Half the body, then the connection closes, though Content-Length promised all.
    case cutBody
    /// Half the body, with a Content-Length to match.
    case truncatedJSON
    /// The connection is reset before the request has any effect.
    case resetBefore
    /// The connection is reset after the request has taken effect: the reply is lost.
    case resetAfter
    /// 200 with half the rows and an `error` beside `result`, as a quota that cuts a running transaction leaves it.
    case transactionCancelled

    /// A list without rows, which counts none.
    case emptyList
    /// A list without rows, which still counts those that there are (`X-Total-Count`, `total`).
    case emptyListCounted
    /// The session is gone before the request is looked at.
    case sessionLost
    /// A refresh token brings the token that is still good, instead of another.
    case sameToken
    /// What the query or `sysparm_fields` name wrongly is ignored, as the real server does, instead of refused.
    case sloppyQueries
    /// Somebody touches the first row of a page right after it was sent: it moves to the end of whatever goes by its time.
    case rowMoves
    /// The links to the pages before and behind are the same (`Link`).
    case sameLinks
    /// A batch comes back without having been serviced.
    case unserviced
    /// A list does not say how many rows there are in all (`X-Total-Count`).
    case uncounted
    /// A comment on an unknown task makes a blank task and says 201.
    case blankTaskOnBadID
    /// A write is answered as success, but nothing is written.
    case nothingWritten
    /// A comment is refused with 400 `Error updating comments`.
    case commentRefused
    /// A write through the Table API is refused with 403: a data policy wants a field that it does not set.
    case dataPolicy
    /// A rule of the instance puts another value in a field that a write sets.
    case businessRule(field: String, value: String)
    /// The instance changes the text of a comment or a work note before it keeps it; nil changes both.
    case rewritten(TextRewriting, field: JournalEntry.Kind? = nil)

    /// What ETO's services or Mobile Foundation say in the place of an answer.
    case neighbour(NeighbourFault)

    /// Whether it is how the other side always behaves: as a rule it lasts until it is taken away.
    var isHabit: Bool {
        if case .rateLimit = self { return true }
        if case .rewritten = self { return true }
        return false
    }

    /// When in a request's life the fault acts.
    enum Role { case delay, quirk, ending }

    var role: Role {
        switch self {
        case .slow: .delay
        case .emptyList, .emptyListCounted, .rewritten, .sessionLost, .sameToken, .sloppyQueries, .rowMoves, .sameLinks,
            .unserviced, .uncounted,
            .blankTaskOnBadID, .nothingWritten,
            .commentRefused, .dataPolicy, .businessRule:
            .quirk
        case .tooManyRequests, .unavailable, .rateLimit, .hangs, .internalError, .badGateway, .accepted, .forbidden, .hibernating,
            .loginPage, .redirectToLogin,
            .redirect, .status, .cutBody, .truncatedJSON, .resetBefore, .resetAfter, .transactionCancelled, .neighbour:
            .ending
        }
    }
}
