import BellhopCore

/// A fault to simulate.
public enum Fault: Sendable, Hashable {
    /// How a 429 states when to retry.
    public enum RetryHint: Sendable, Hashable {
        /// `Retry-After: n`.
        case seconds(Int)
        /// `Retry-After:` an HTTP date, this many seconds ahead of the simulation's clock.
        case date(in: Int)
        /// Only `X-RateLimit-Reset`, in Unix seconds, this many seconds ahead of the simulation's clock.
        case rateLimitReset(in: Int)
        case unspecified
    }

    /// 429 instead of an answer.
    case tooManyRequests(RetryHint)
    /// 503 instead of an answer.
    case unavailable(RetryHint)
    /// A limited number of matching requests is accepted per period; more are answered 429.
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

    /// The request is accepted and never answered; the connection stays open until the client closes it.
    case hangs
    /// The answer is delayed by this many real milliseconds; the session is busy meanwhile.
    case slow(milliseconds: Int)

    /// Half the body, then the connection closes, although Content-Length announced all.
    case cutBody
    /// Half the body, with a Content-Length to match.
    case truncatedJSON
    /// The connection is reset before the request has any effect.
    case resetBefore
    /// The connection is reset after the request has taken effect: the reply is lost.
    case resetAfter
    /// 200 with half the rows and an `error` beside `result`, like a running transaction cut by a quota.
    case transactionCancelled

    /// A list without rows, with a count of zero.
    case emptyList
    /// A list without rows that still counts the existing ones (`X-Total-Count`, `total`).
    case emptyListCounted
    /// The session ends before the request is processed.
    case sessionLost
    /// A refresh token returns the access token that is still valid, instead of a new one.
    case sameToken
    /// Unknown names in the query or `sysparm_fields` are ignored, as on the real server, instead of refused.
    case sloppyQueries
    /// The first row of a page is touched right after it was sent: it moves to the end of any order by update time.
    case rowMoves
    /// The links to the next and previous pages are the same (`Link`).
    case sameLinks
    /// The items of a batch are returned unserviced.
    case unserviced
    /// A list omits the total number of rows (`X-Total-Count`).
    case uncounted
    /// A comment on an unknown task creates a blank task and returns 201.
    case blankTaskOnBadID
    /// A write is answered as success, but nothing is written.
    case nothingWritten
    /// A write through the Table API is refused with 403: a data policy requires a field that it does not set.
    case dataPolicy
    /// A business rule changes the value of a field that a write sets.
    case businessRule(field: String, value: String)
    /// The instance changes the text of a comment or a work note before storing it; nil changes both.
    case rewritten(TextRewriting, field: JournalEntry.Kind? = nil)

    /// A faulty answer of ETO's services or Mobile Foundation.
    case otherSystem(OtherSystemFault)

    /// Whether it is permanent behaviour of the other side: such a rule lasts until it is removed.
    var isHabit: Bool {
        if case .rateLimit = self { return true }
        if case .rewritten = self { return true }
        return false
    }
}

extension Fault {
    /// How many requests are accepted in a period, as a chat accepts one message a second.
    public struct RateLimit: Sendable, Hashable {
        public var requests: Int
        /// The length of the period, by the simulation's clock. It slides: no period of this length has more requests than that.
        public var seconds: Int
        public var retryHint: RetryHint

        /// - Parameter retryHint: how a refusal says when to retry; nil to give the length of the period.
        public init(_ requests: Int = 1, in seconds: Int = 1, retryHint: RetryHint? = nil) {
            self.requests = requests
            self.seconds = seconds
            self.retryHint = retryHint ?? .seconds(seconds)
        }

        /// Records a request if it is accepted; false if it is one too many.
        func accepts(at now: Int64, _ accepted: inout [Int64]) -> Bool {
            accepted.removeAll { $0 <= now - Int64(seconds) * CivilTime.second }
            guard accepted.count < requests else { return false }
            accepted.append(now)
            return true
        }
    }
}

/// Errors of ETO's services and of Mobile Foundation.
public enum OtherSystemFault: String, Sendable, Hashable, CaseIterable {
    /// An error under 200: `{"Detail": …}`.
    case etoDetail = "eto_detail"
    /// 401 that requests a token.
    case mfpNoToken = "mfp_no_token"
    /// 401 that says that the token is no longer valid.
    case mfpInvalidToken = "mfp_invalid_token"
    /// 403 that lists the required scopes.
    case mfpInsufficientScope = "mfp_insufficient_scope"
    /// 200 from a JavaScript adapter whose back end failed.
    case mfpUnsuccessful = "mfp_unsuccessful"

    var reply: Reply {
        switch self {
        case .etoDetail: .detail(200, "The request could not be processed")
        case .mfpNoToken: Reply(401).with("WWW-Authenticate", "Bearer")
        case .mfpInvalidToken: Reply(401).with("WWW-Authenticate", "Bearer error=\"invalid_token\"")
        case .mfpInsufficientScope:
            Reply(403).with("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"RegisteredClient scopeA scopeB\"")
        case .mfpUnsuccessful:
            .json(
                200,
                [
                    "isSuccessful": false, "statusCode": 500, "statusReason": "Internal Server Error",
                    "errors": ["Runtime: HTTP request failed"],
                ])
        }
    }
}
