extension Value: Hashable {
    /// The language's equality; NaN equals nothing, not even itself.
    public static func == (left: Value, right: Value) -> Bool {
        // Texts are compared first: the switch below copies both values, which would take half the time of a dictionary look-up.
        if case .string(let a) = left {
            if case .string(let b) = right { return a.hasSameBytes(as: b) }
            return false
        }
        return switch (left, right) {
        case (.int(let a), .int(let b)): a == b
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.uint(let a), .uint(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.int(let a), .uint(let b)): a >= 0 && UInt64(a) == b
        case (.uint(let a), .int(let b)): b >= 0 && UInt64(b) == a
        case (.int(let a), .double(let b)): Numbers.compare(a, b) == .same
        case (.double(let a), .int(let b)): Numbers.compare(b, a) == .same
        case (.uint(let a), .double(let b)): Numbers.compare(a, b) == .same
        case (.double(let a), .uint(let b)): Numbers.compare(b, a) == .same
        case (.bytes(let a), .bytes(let b)): a == b
        case (.list(let a), .list(let b)): equal(a, b)
        case (.map(let a), .map(let b)): equal(a, b)
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.duration(let a), .duration(let b)): a == b
        case (.type(let a), .type(let b)): a.name == b.name
        case (.optional(let a), .optional(let b)): a == b
        case (.object(let a), .object(let b)): a.isEqual(to: b)
        default: false
        }
    }

    private static func equal(_ a: List, _ b: List) -> Bool {
        let count = a.count
        guard count == b.count else { return false }
        for i in 0..<count where a[i] != b[i] { return false }
        return true
    }

    private static func equal(_ a: Map, _ b: Map) -> Bool {
        guard a.count == b.count else { return false }
        for (key, value) in a.entries {
            guard let other = b[key], other == value else { return false }
        }
        return true
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        // Equal numbers have the same hash, whatever their types.
        case .int(let value): hasher.combine(Double(value))
        case .uint(let value): hasher.combine(Double(value))
        case .double(let value): hasher.combine(value)
        case .string(let value): value.hashBytes(into: &hasher)
        case .bytes(let value): hasher.combine(value)
        case .list(let list):
            let count = list.count
            hasher.combine(count)
            for i in 0..<count { list[i].hash(into: &hasher) }
        case .map(let map):
            // The hash is the same for any order of the entries.
            var all = 0
            for (key, value) in map.entries {
                var one = Hasher()
                key.hash(into: &one)
                value.hash(into: &one)
                all ^= one.finalize()
            }
            hasher.combine(map.count)
            hasher.combine(all)
        case .timestamp(let value): hasher.combine(value)
        case .duration(let value): hasher.combine(value)
        case .type(let type): hasher.combine(type.name)
        case .optional(let value): value?.hash(into: &hasher)
        case .object(let object): object.hash(into: &hasher)
        }
    }
}
