/// How the simulated instance is set up.
public struct InstanceSettings: Sendable, Hashable {
    /// A session ends when it has not been used so long: the `Max-Age` of `glide_session_store`.
    public var sessionSeconds = 1800
    /// `glide.ui.rotate_sessions`: JSESSIONID changes on a session's second response, and the old one is worthless then.
    public var rotatesSessions = true
    /// Whether cookies carry `Secure`; a client on plain HTTP would not send them back.
    public var secureCookies = false
    /// How many requests may wait for a session's running one; more are answered 202 and dropped.
    public var sessionQueue = 10
    /// Labels of columns that are not the usual ones, such as `comments`: in the dictionary and above the entries of a history.
    public var labels: [String: String] = [:]
    /// How many real milliseconds each request takes; its session is busy meanwhile.
    public var latency = 0
    /// `glide.servlet.uri`, with a slash at its end, which starts `link` and `snowui`; nil is the host that was asked.
    public var servletURI: String?
    /// Failed logins in a row after which a user is locked out; nil never.
    public var lockOutAfter: Int?
    /// A proxy before the instance answers an address with more characters than this with 414 and its own page; nil takes any.
    public var longestAddress: Int?
    /// `glide.invalid_query.returns_no_rows`: a query that names what is not there brings nothing, instead of being refused.
    public var invalidQueriesBringNothing = false
    /// Whether the Batch API may be used; else it is 403.
    public var takesBatches = true
    /// Whether the Task Tracker API is installed (the "My Work" update set).
    public var hasTracker = true
    /// `glide.authenticate.oauth.post.token.expiration.cookie_auth.disabled`: a session that a token opened ends with it.
    public var sessionsEndWithToken = true
    /// What a write meets that has a session, but neither credentials nor the session's `X-UserToken`.
    public var missingUserToken = MissingUserToken.ignored

    /// How strict the instance is about forged requests.
    public enum MissingUserToken: String, Sendable, Hashable {
        case ignored
        /// 401 with the right one in `X-UserToken-Response`.
        case told
        /// 302 to `security_interceptor.do`.
        case intercepted
    }
    /// Whether `sys_attachment` tells the hash of each file.
    public var hashesAttachments = true
    /// What `X-RateLimit-Limit` says of the Table API; nil on an instance without rules for it.
    public var rateLimit: Int?

    public init() {}
}
