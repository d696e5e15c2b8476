/// A pattern of the addresses of a service's own servers, which recognizes an address in the wrong place. Addresses of other servers
/// (a proxy, a private server, a simulator) are not checked.
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
    /// Settings that must accompany the address (true), or must not (false).
    public var companions: [String: Bool]
    /// Why no connection can use it, in whole sentences; nil if this kind can.
    public var refusal: String?
    /// Whether it belongs to another service with a compatible interface.
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
