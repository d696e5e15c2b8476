/// What a source's knowledge belongs to: point the source at another instance, user or query and it starts anew.
public struct Scope: Sendable, Hashable {
    /// The instance's base address, lower case, without a trailing slash.
    public var instance: String
    /// The user whose view of the instance this is; empty where the connection has no user.
    public var user: String
    /// The kind of source, as it is written in bellhop.yaml: `tracker`, `table`, …
    public var kind: String
    /// What is asked for, in the source's own canonical words; empty for a source that asks for one thing only.
    public var query: String

    public init(instance: String, user: String, kind: String, query: String = "") {
        self.instance = instance
        self.user = user
        self.kind = kind
        self.query = query
    }

    /// The short name under which the store keeps this scope.
    public var id: ID { ID(text: Fingerprint.of("scope", instance, user, kind, query).hex) }

    /// A scope's name: 32 hexadecimal digits made of its four facts.
    public struct ID: Sendable, Hashable {
        public var text: String
        public init(text: String) { self.text = text }
    }
}
