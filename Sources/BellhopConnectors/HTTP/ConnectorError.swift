/// Why a connection, source or action cannot be made from its settings: the user's mistake, with its place.
public struct ConnectorError: Error, Sendable, Hashable {
    /// The connection's or source's name in bellhop.yaml.
    public var connection: String
    /// The faulty setting, as a path with dots; nil for none in particular.
    public var setting: String?
    /// Whether it is a source's setting.
    public var isOfSource = false
    /// One sentence that says what to do; holds no secret.
    public var message: String

    public init(connection: String, setting: String? = nil, _ message: String) {
        self.connection = connection
        self.setting = setting
        self.message = message
    }
}
