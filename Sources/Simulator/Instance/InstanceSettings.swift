public struct InstanceSettings: Sendable, Hashable {
    /// A session ends when unused for this long: the `Max-Age` of `glide_session_store`.
    public var sessionSeconds = 1800
    /// How many requests may wait for the running request of their session; further ones are answered 202 and dropped.
    public var sessionQueue = 10
    /// Non-standard labels of columns, such as `comments`: in the dictionary and above the entries of a history.
    public var labels: [String: String] = [:]
    /// How many real milliseconds each request takes; its session is busy meanwhile.
    public var latency = 0
    /// `glide.servlet.uri`, with a trailing slash, which starts `link` and `snowui`; nil for the requested host.
    public var servletURI: String?
    /// Failed logins in a row after which a user is locked out; nil for never.
    public var lockOutAfter: Int?
    /// The longest address that the proxy before the instance lets through: it answers longer ones with 414 and its own page. Nil
    /// for no limit.
    public var longestAddress: Int?
    /// `glide.invalid_query.returns_no_rows`: a query with unknown names returns no rows, instead of being refused.
    public var invalidQueriesReturnNoRows = false
    /// Whether the Batch API is allowed; otherwise it answers 403.
    public var takesBatches = true
    /// Whether the Task Tracker API is installed (the "My Work" update set).
    public var hasTracker = true
    /// The answer to a write that has a session, but neither credentials nor the session's `X-UserToken`.
    public var missingUserToken = MissingUserToken.ignored

    /// How strict the instance is about forged requests.
    public enum MissingUserToken: String, Sendable, Hashable {
        case ignored
        /// 401, with the right token in `X-UserToken-Response`.
        case told
        /// 302 to `security_interceptor.do`.
        case intercepted
    }
    /// Whether `sys_attachment` includes the hash of each file.
    public var hashesAttachments = true
    /// The value of `X-RateLimit-Limit` for the Table API; nil on an instance without a limit for it.
    public var rateLimit: Int?

    public init() {}
}
