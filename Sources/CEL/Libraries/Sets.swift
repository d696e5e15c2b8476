/// The `sets` library: lists compared without regard to order and repetition.
enum Sets {
    static let functions: [Function] = [
        test("sets.contains") { known, wanted in wanted.allSatisfy(known.contains) },
        test("sets.intersects") { known, wanted in wanted.contains(where: known.contains) },
        Function(
            "sets.equivalent",
            [
                overload { activation, a, b throws(EvaluationError) in
                    let (first, second) = (set(a), set(b))
                    return a.allSatisfy(second.contains) && b.allSatisfy(first.contains)
                }
            ]),
    ]

    /// Without values that do not equal themselves: they are in no set, and would only slow down the look-ups of others.
    private static func set(_ elements: [Value]) -> Set<Value> { Set(elements.lazy.filter { $0 == $0 }) }

    private static func test(_ name: String, _ body: @escaping @Sendable (Set<Value>, [Value]) -> Bool) -> Function {
        Function(name, [overload { _, list, others throws(EvaluationError) in body(set(list), others) }])
    }

    private static func overload(
        _ body: @escaping @Sendable (Activation, [Value], [Value]) throws(EvaluationError) -> Bool
    ) -> Overload {
        .pure(.list(.parameter("A")), .list(.parameter("A")), .bool) { activation, left, right throws(EvaluationError) in
            guard case .list(let a) = left, case .list(let b) = right else { throw .noOverload("sets", [left, right]) }
            try activation.spend(elements: a.count + b.count)
            try activation.spend(left.weight + right.weight)
            return .bool(try body(activation, a.elements, b.elements))
        }
    }
}
