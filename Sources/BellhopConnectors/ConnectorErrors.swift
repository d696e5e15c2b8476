/// All errors in the connections and sources of one configuration; never empty.
public struct ConnectorErrors: Error, Sendable, Hashable {
    public var all: [ConnectorError]

    public init(_ all: [ConnectorError]) { self.all = all }

    /// One line per error.
    public var message: String { all.map { "\($0.connection): \($0.message)" }.joined(separator: "\n") }
}
