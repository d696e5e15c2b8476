/// The form of the addresses on a service's own servers. It shows that an address was given to a connection of the wrong kind.
/// Addresses of other servers (a proxy, a private server, a simulator) are not checked.
public struct ServiceAddress: Sendable, Hashable {
    /// The service at the address, in words for a sentence: `an incoming webhook of Slack`.
    public var what: String
    /// `hooks.slack.com`, or `*.logic.azure.com` for every host below it.
    public var hosts: [String]
    /// The path: `*` stands for one part, `**` at the end for one or more parts; empty for no path.
    public var path: String
    /// The required parts of the query.
    public var query: [String]
    /// A whole address, for messages.
    public var example: String
    /// The settings that the address requires (true) or excludes (false).
    public var companions: [String: Bool]
    /// Why no connection can use the address, in whole sentences; nil if a connection of this kind can.
    public var refusal: String?
    /// Whether it belongs to another service with a compatible interface.
    public var isCompatibleService: Bool

    public init(
        _ what: String, hosts: [String], path: String = "", query: [String] = [], example: String,
        companions: [String: Bool] = [:], refusal: String? = nil, isCompatibleService: Bool = false
    ) {
        self.what = what
        self.hosts = hosts
        self.path = path
        self.query = query
        self.example = example
        self.companions = companions
        self.refusal = refusal
        self.isCompatibleService = isCompatibleService
    }
}
