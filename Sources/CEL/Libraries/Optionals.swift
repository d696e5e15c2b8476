/// The `optional` library: values that may be absent. The parser handles its syntax (`.?`, `[?]`) and macros.
enum Optionals {
    private static let a = CELType.parameter("A")

    static let functions: [Function] = [
        .pure("optional.of", a, .optional(a)) { activation, value throws(EvaluationError) in
            try activation.bounded(.optional(value))
        },
        .pure("optional.ofNonZeroValue", a, .optional(a)) { activation, value throws(EvaluationError) in
            try activation.bounded(.optional(isZero(value) ? nil : value))
        },
        Function("optional.none", Overload([], .optional(a), pure: true, .nullary { _ in .optional(nil) })),
        .pure("optional.unwrap", .list(.optional(a)), .list(a), unwrap),
        .pure("unwrapOpt", member: true, .list(.optional(a)), .list(a), unwrap),
        .pure("hasValue", member: true, .optional(a), .bool) { _, value throws(EvaluationError) in
            guard case .optional(let inner) = value else { throw .noOverload("hasValue", [value]) }
            return .bool(inner != nil)
        },
        .pure("value", member: true, .optional(a), a) { _, value throws(EvaluationError) in
            guard case .optional(let inner?) = value else { throw .emptyOptional }
            return inner
        },
        .pure("or", member: true, .optional(a), .optional(a), .optional(a)) { _, value, other throws(EvaluationError) in
            if case .optional(nil) = value { return other }
            return value
        },
        .pure("orValue", member: true, .optional(a), a, a) { _, value, other throws(EvaluationError) in
            if case .optional(let inner?) = value { return inner }
            return other
        },
    ]

    private static let unwrap: @Sendable (Activation, Value) throws(EvaluationError) -> Value = {
        activation, value throws(EvaluationError) in
        guard case .list(let list) = value else { throw .noOverload("unwrap", [value]) }
        try activation.spend(elements: list.count)
        var made: [Value] = []
        for index in 0..<list.count {
            guard case .optional(let inner) = list[index] else { throw .noOverload("unwrap", [list[index]]) }
            if let inner { made.append(inner) }
        }
        return .list(made)
    }

    /// Whether a value is its type's zero value: zero, empty, null.
    private static func isZero(_ value: Value) -> Bool {
        switch value {
        case .null: true
        case .bool(let truth): !truth
        case .int(let number): number == 0
        case .uint(let number): number == 0
        case .double(let number): number == 0
        case .string(let text): text.isEmpty
        case .bytes(let bytes): bytes.isEmpty
        case .list(let list): list.count == 0
        case .map(let map): map.count == 0
        case .timestamp(let time): time.seconds == 0 && time.nanoseconds == 0
        case .duration(let span): span == .zero
        case .optional(let inner): inner == nil
        case .type, .object: false
        }
    }
}
