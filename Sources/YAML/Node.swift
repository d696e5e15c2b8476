/// A scalar, a list or a mapping with its place in the text.
public struct Node: Sendable {
    public enum Content: Sendable {
        case scalar(Scalar)
        case sequence([Node])
        case mapping(Mapping)
    }

    public let content: Content

    /// The node's own text, without its anchor and tag. A block ends with the last character of its last element; a missing value
    /// has an empty range.
    public let range: SourceRange

    /// The place of the alias that inserted the node here; nil for a node at its original place.
    public let alias: SourceRange?

    public let source: SourceText

    init(_ content: Content, _ range: SourceRange, in source: SourceText, alias: SourceRange? = nil) {
        (self.content, self.range, self.alias, self.source) = (content, range, alias, source)
    }

    /// The same node, inserted at another place by an alias.
    func aliased(at place: SourceRange) -> Node { Node(content, range, in: source, alias: place) }
}

extension Node {
    /// The kind of a node, as named in messages.
    public enum Kind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        case null = "nothing"
        case bool = "true or false"
        case int = "a whole number"
        case float = "a number"
        case string = "a text"
        case sequence = "a list"
        case mapping = "a mapping"

        public var description: String { rawValue }
    }

    public var kind: Kind {
        switch content {
        case .sequence: .sequence
        case .mapping: .mapping
        case .scalar(let scalar):
            switch scalar.value {
            case .null: .null
            case .bool: .bool
            case .int: .int
            case .float: .float
            case .string: .string
            }
        }
    }

    public var scalar: Scalar? { if case .scalar(let scalar) = content { scalar } else { nil } }

    /// A scalar's text, whatever its type; nil for lists and mappings. A missing value has the text "".
    public var scalarText: String? { scalar?.text }

    /// The elements of a list; nil otherwise.
    public var items: [Node]? { if case .sequence(let items) = content { items } else { nil } }

    public var mapping: Mapping? { if case .mapping(let mapping) = content { mapping } else { nil } }

    public var isNull: Bool { kind == .null }

    /// The value of a mapping's key; nil if there is none, and for lists and scalars.
    public subscript(_ key: String) -> Node? { mapping?[key]?.value }
}

/// A single value as written, with its type in the YAML 1.2 core schema.
public struct Scalar: Sendable, Hashable {
    /// How a scalar was written.
    public enum Style: Sendable, Hashable {
        case plain
        case singleQuoted
        case doubleQuoted
        /// A block scalar that begins with `|`.
        case literal
        /// A block scalar that begins with `>`.
        case folded
    }

    /// The scalar's text, unescaped and unfolded: `0123` stays `0123`.
    public let text: String

    public let style: Style

    public let value: Value
}

/// The typed value of a scalar in the core schema (YAML 1.2.2, 10.3).
public enum Value: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    /// A number with a fraction or an exponent, `.inf`, `.nan`, or a whole number that does not fit 64 bits.
    case float(Double)
    case string(String)
}

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
