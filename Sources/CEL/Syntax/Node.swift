/// A part of a parsed expression, with its place in the text.
///
/// A class, though immutable, so that a tree of nodes is shared and not copied. Macros have their own kinds of nodes.
public final class Node: Sendable {
    /// Numbers the nodes of one expression from 0.
    public let id: Int
    /// The whole part's UTF-8 offsets in the text.
    public let range: Range<Int>
    /// Where a message points: the operator, or the name of the function or field.
    public let point: Range<Int>
    public let kind: Kind
    /// The height of the tree below.
    let height: Int

    init(id: Int, range: Range<Int>, point: Range<Int>? = nil, kind: Kind) {
        self.id = id
        self.range = range
        self.point = point ?? range
        self.kind = kind
        height = 1 + (kind.children.lazy.map(\.height).max() ?? 0)
    }

    public enum Kind: Sendable {
        case literal(Value)
        /// A name; `absolute` has a leading dot, which skips the container and comprehension variables.
        case identifier(String, absolute: Bool)
        /// `operand.field`, or `operand.?field`.
        case select(Node, field: String, optional: Bool)
        /// `has(operand.field)`; `optional` for `has(operand.?field)`.
        case has(Node, field: String, optional: Bool)
        /// `operand[key]`, or `operand[?key]`.
        case index(Node, Node, optional: Bool)
        /// A function or an operator (named as in the specification, such as `_+_`).
        case call(String, target: Node?, arguments: [Node])
        case and(Node, Node)
        case or(Node, Node)
        case conditional(Node, Node, Node)
        case list([Element])
        case map([Entry])
        /// `Name{field: value}`.
        case structure(String, fields: [Node])
        case comprehension(Comprehension)
        /// `cel.bind(name, value, body)`.
        case bind(String, Node, Node)
        /// `cel.block([values], body)`; the body refers to the values as `@index0`, `@index1`, …
        case block([Node], Node)
    }

    public struct Element: Sendable {
        public let value: Node
        /// `?value`: omitted if the optional is empty.
        public let optional: Bool
    }

    public struct Entry: Sendable {
        public let key: Node
        public let value: Node
        public let optional: Bool
    }

    /// A macro that runs over a list, a map or an optional.
    public struct Comprehension: Sendable {
        public enum Kind: String, Sendable {
            case all, exists, existsOne, map, filter, transformList, transformMap, transformMapEntry, sortBy, optMap, optFlatMap
        }

        public let kind: Kind
        public let range: Node
        /// One or two names.
        public let variables: [String]
        /// The condition of a filtering `map` or `transform…`.
        public let filter: Node?
        public let body: Node
    }
}

extension Node.Kind {
    /// The parts in text order.
    public var children: [Node] {
        switch self {
        case .literal, .identifier: []
        case .select(let operand, _, _), .has(let operand, _, _): [operand]
        case .index(let operand, let key, _): [operand, key]
        case .call(_, let target, let arguments): (target.map { [$0] } ?? []) + arguments
        case .and(let left, let right), .or(let left, let right): [left, right]
        case .conditional(let condition, let yes, let no): [condition, yes, no]
        case .list(let elements): elements.map(\.value)
        case .map(let entries): entries.flatMap { [$0.key, $0.value] }
        case .structure(_, let fields): fields
        case .comprehension(let comprehension):
            [comprehension.range] + (comprehension.filter.map { [$0] } ?? []) + [comprehension.body]
        case .bind(_, let value, let body): [value, body]
        case .block(let values, let body): values + [body]
        }
    }
}
