/// How one value stands to another; `none` where a NaN is among them.
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

/// Comparisons between numbers of different types, exact beyond 2^53.
enum Numbers {
    static func compare(_ a: Int64, _ b: Double) -> Order {
        if b.isNaN { return .none }
        if b >= 0x1p63 { return .less }
        if b < -0x1p63 { return .more }
        let whole = Int64(b)
        if a != whole { return a < whole ? .less : .more }
        let rest = b - Double(whole)
        return rest > 0 ? .less : rest < 0 ? .more : .same
    }

    static func compare(_ a: UInt64, _ b: Double) -> Order {
        if b.isNaN { return .none }
        if b >= 0x1p64 { return .less }
        if b < 0 { return .more }
        let whole = UInt64(b)
        if a != whole { return a < whole ? .less : .more }
        return b > Double(whole) ? .less : .same
    }

    static func compare(_ a: Double, _ b: Double) -> Order {
        a < b ? .less : a > b ? .more : a == b ? .same : .none
    }

    static func compare<T: Comparable>(_ a: T, _ b: T) -> Order { a < b ? .less : a == b ? .same : .more }

    /// Agrees with the hashes of ints and uints that equal the double.
    static func hash(_ value: Double, into hasher: inout Hasher) {
        if let whole = Int64(exactly: value) {
            hasher.combine(whole)
        } else if let whole = UInt64(exactly: value) {
            hasher.combine(whole)
        } else {
            hasher.combine(value)
        }
    }
}

extension Value {
    /// How two values stand to each other, or nil where the language does not order them.
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
        case (.bytes(let a), .bytes(let b)):
            a.lexicographicallyPrecedes(b) ? .less : a == b ? .same : .more
        default: nil
        }
    }
}
