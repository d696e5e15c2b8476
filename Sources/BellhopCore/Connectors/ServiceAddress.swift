/// The addresses of a service's own servers, by which one in the wrong place is recognized. Other servers (a proxy, one's own, a
/// simulator) are not judged.
public struct ServiceAddress: Sendable, Hashable {
    /// The service at the address, in words for a sentence: `an incoming webhook of Slack`.
    public var what: String
    /// `hooks.slack.com`, or `*.logic.azure.com` for every host below it.
    public var hosts: [String]
    /// The path: `*` is one part of it, `**` at its end one or more; empty for none.
    public var path: String
    /// The required parts of the query.
    public var query: [String]
    /// A whole address, for messages.
    public var example: String
    /// A setting that must stand beside the address (true), or must not (false).
    public var companions: [String: Bool]
    /// Why no connection can use it, in whole sentences; nil if this kind can.
    public var refusal: String?
    /// Whether it belongs to another service, which imitates this one.
    public var isImitation: Bool

    public init(
        _ what: String, hosts: [String], path: String = "", query: [String] = [], example: String,
        companions: [String: Bool] = [:], refusal: String? = nil, isImitation: Bool = false
    ) {
        self.what = what
        self.hosts = hosts
        self.path = path
        self.query = query
        self.example = example
        self.companions = companions
        self.refusal = refusal
        self.isImitation = isImitation
    }
}
