/// A value's size: the cost of walking all of it, and its depth. Lists and maps store theirs when created, so that sharing (`[a,
/// a]` of `[b, b]` of …) cannot hide a value too large to compare or print.
struct Shape: Sendable {
    private(set) var weight: UInt32 = 1
    private(set) var depth: UInt8 = 0

    /// The shape of a list or a map of these.
    init(of values: some Sequence<Value>) {
        for value in values { add(value) }
        depth = depth == .max ? .max : depth + 1
    }

    init(weight: Int, depth: Int) {
        self.weight = UInt32(clamping: weight)
        self.depth = UInt8(clamping: depth)
    }

    mutating func add(_ value: Value) {
        let (sum, overflow) = weight.addingReportingOverflow(UInt32(clamping: value.weight))
        weight = overflow ? .max : sum
        depth = max(depth, UInt8(clamping: value.depth))
    }
}

extension Value {
    /// About one per value inside, and per 16 bytes of text.
    var weight: Int {
        switch self {
        case .string(let text): 1 + text.utf8.count >> 4
        case .bytes(let bytes): 1 + bytes.count >> 4
        case .list(let list): Int(list.shape.weight)
        case .map(let map): Int(map.shape.weight)
        case .optional(let inner): 1 + (inner?.weight ?? 0)
        default: 1
        }
    }

    /// 0 for a value that holds no others.
    var depth: Int {
        switch self {
        case .list(let list): Int(list.shape.depth)
        case .map(let map): Int(map.shape.depth)
        case .optional(let inner): 1 + (inner?.depth ?? 0)
        default: 0
        }
    }
}
