/// The order of two values; `none` if one is NaN.
enum Order: Sendable {
    case less, same, more, none

    init(_ difference: Int) { self = difference < 0 ? .less : difference > 0 ? .more : .same }

    var reversed: Order {
        switch self {
        case .less: .more
        case .more: .less
        case .same, .none: self
        }
    }
}

/// Comparisons between numbers of different types, by their values as doubles, as the conformance suite requires: beyond 2^53 an
/// int and a double that differ in their last digits may be equal.
enum Numbers {
    static func compare(_ a: Int64, _ b: Double) -> Order { compare(Double(a), b) }

    static func compare(_ a: UInt64, _ b: Double) -> Order { compare(Double(a), b) }

    static func compare(_ a: Double, _ b: Double) -> Order {
        if a < b { return .less }
        if a > b { return .more }
        return a == b ? .same : .none
    }

    static func compare<T: Comparable>(_ a: T, _ b: T) -> Order {
        if a < b { return .less }
        return a == b ? .same : .more
    }
}

extension Value {
    /// The order of two values, or nil if the language does not order them.
    static func order(_ left: Value, _ right: Value) -> Order? {
        switch (left, right) {
        case (.int(let a), .int(let b)): Numbers.compare(a, b)
        case (.double(let a), .double(let b)): Numbers.compare(a, b)
        case (.string(let a), .string(let b)): Order(a.compareBytes(with: b))
        case (.timestamp(let a), .timestamp(let b)): Numbers.compare(a, b)
        case (.duration(let a), .duration(let b)): Numbers.compare(a, b)
        case (.uint(let a), .uint(let b)): Numbers.compare(a, b)
        case (.int(let a), .uint(let b)): a < 0 ? .less : Numbers.compare(UInt64(a), b)
        case (.uint(let a), .int(let b)): b < 0 ? .more : Numbers.compare(a, UInt64(b))
        case (.int(let a), .double(let b)): Numbers.compare(a, b)
        case (.double(let a), .int(let b)): Numbers.compare(b, a).reversed
        case (.uint(let a), .double(let b)): Numbers.compare(a, b)
        case (.double(let a), .uint(let b)): Numbers.compare(b, a).reversed
        case (.bool(let a), .bool(let b)): Numbers.compare(a ? 1 : 0, b ? 1 : 0)
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b) ? .less : a == b ? .same : .more
        default: nil
        }
    }
}
