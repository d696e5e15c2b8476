/// The `lists` library; `sortBy` is a macro.
enum Lists {
    private static let a = CELType.parameter("A")

    static let functions: [Function] = [
        change("distinct") { activation, list throws(EvaluationError) in
            try activation.spend(Int(list.shape.weight))
            var seen: Set<Value> = []
            // A NaN is distinct from all values; in the set it would only slow down the look-ups of the others.
            return list.elements.filter { $0 != $0 || seen.insert($0).inserted }
        },
        change("reverse") { _, list throws(EvaluationError) in list.elements.reversed() },
        change("sort") { activation, list throws(EvaluationError) in
            let elements = list.elements
            if let unsortable = elements.first(where: { Value.order($0, $0) == nil && !$0.isNull }) {
                throw .noOverload("sort", [unsortable])
            }
            return try Sorting.order(of: elements, activation).map { elements[$0] }
        },
        Function(
            "flatten",
            .pure(member: true, .list(.list(a)), .list(a)) { activation, value throws(EvaluationError) in
                try flatten(value, depth: 1, activation)
            },
            .pure(member: true, .list(.dyn), .int, .list(.dyn)) { activation, value, depth throws(EvaluationError) in
                guard case .int(let depth) = depth, depth >= 0 else { throw .invalid("flatten(): the depth is negative") }
                return try flatten(value, depth: depth, activation)
            }),
        Function(
            "slice",
            Overload(
                member: true, [.list(a), .int, .int], .list(a), pure: true,
                .any { activation, values throws(EvaluationError) in
                    guard case .list(let list) = values[0], case .int(let start) = values[1], case .int(let end) = values[2]
                    else {
                        throw .noOverload("slice", values)
                    }
                    guard start >= 0, start <= end else { throw .badRange(start, end) }
                    guard end <= list.count else { throw .indexOutOfRange(values[2]) }
                    try activation.spend(elements: Int(end - start))
                    return .list((Int(start)..<Int(end)).map { list[$0] })
                })),
        .pure("lists.range", .int, .list(.int)) { activation, value throws(EvaluationError) in
            guard case .int(let count) = value, count > 0 else { return .list([]) }
            try activation.spend(elements: Int(count))
            return .list((0..<count).map { .int($0) })
        },
        end("first") { $0.count == 0 ? nil : $0[0] },
        end("last") { $0.count == 0 ? nil : $0[$0.count - 1] },
    ]

    private static func change(
        _ name: String, _ body: @escaping @Sendable (Activation, Value.List) throws(EvaluationError) -> [Value]
    ) -> Function {
        .pure(name, member: true, .list(a), .list(a)) { activation, value throws(EvaluationError) in
            guard case .list(let list) = value else { return value }
            try activation.spend(elements: list.count)
            return .list(try body(activation, list))
        }
    }

    private static func end(_ name: String, _ body: @escaping @Sendable (Value.List) -> Value?) -> Function {
        .pure(name, member: true, .list(a), .optional(a)) { _, value throws(EvaluationError) in
            guard case .list(let list) = value else { throw .noOverload(name, [value]) }
            return .optional(body(list))
        }
    }

    private static func flatten(_ value: Value, depth: Int64, _ activation: Activation) throws(EvaluationError) -> Value {
        guard case .list(let list) = value else { return value }
        var made: [Value] = []
        try flatten(list, depth, into: &made, activation)
        return .list(made)
    }

    private static func flatten(
        _ list: Value.List, _ depth: Int64, into made: inout [Value], _ activation: Activation
    ) throws(EvaluationError) {
        try activation.spend(elements: list.count)
        for index in 0..<list.count {
            let element = list[index]
            if depth > 0, case .list(let inner) = element {
                try flatten(inner, depth - 1, into: &made, activation)
            } else {
                made.append(element)
            }
        }
    }
}
