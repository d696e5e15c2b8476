/// Keys and their values, in the order written. Names are unique.
public struct Mapping: Sendable, RandomAccessCollection {
    /// A key and its value. The key is always a scalar.
    public struct Pair: Sendable {
        public let key: Node
        public let value: Node

        /// The key's text.
        public let name: String
    }

    public let pairs: [Pair]

    public var startIndex: Int { pairs.startIndex }

    public var endIndex: Int { pairs.endIndex }

    public subscript(position: Int) -> Pair { pairs[position] }

    /// The pair whose key has this text.
    public subscript(_ name: String) -> Pair? { pairs.first { $0.name == name } }

    /// The names of all keys, in order.
    public var names: [String] { pairs.map(\.name) }
}
