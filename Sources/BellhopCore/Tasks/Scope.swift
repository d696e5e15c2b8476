/// The four facts that a source's stored state belongs to: if one of them changes, the source starts over.
public struct Scope: Sendable, Hashable {
    /// The instance's base address, lower case, without a trailing slash.
    public var instance: String
    /// The user whose view of the instance this is; empty if the connection has no user.
    public var user: String
    /// The kind of source as in bellhop.yaml: `table`, `rest`, …
    public var kind: String
    /// The query in the source's canonical form; empty for a source without a query.
    public var query: String

    public init(instance: String, user: String, kind: String, query: String = "") {
        self.instance = instance
        self.user = user
        self.kind = kind
        self.query = query
    }

    /// The scope's short name in the store.
    public var id: ID { ID(text: Fingerprint.of("scope", instance, user, kind, query).hex) }

    /// A scope's name: 32 hexadecimal digits derived from its four facts.
    public struct ID: Sendable, Hashable {
        public var text: String
        public init(text: String) { self.text = text }
    }
}
