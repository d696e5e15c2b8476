/// The `sets` library: lists compared without regard to order and repetition.
enum Sets {
    static let functions: [Function] = [
        test("sets.contains") { list, others in others.allSatisfy(set(list).contains) },
        test("sets.intersects") { list, others in others.contains(where: set(list).contains) },
        test("sets.equivalent") { a, b in a.allSatisfy(set(b).contains) && b.allSatisfy(set(a).contains) },
    ]

    /// Without values that do not equal themselves: they are in no set, and would only slow down the look-ups of others.
    private static func set(_ elements: [Value]) -> Set<Value> { Set(elements.lazy.filter { $0 == $0 }) }

    private static func test(_ name: String, _ holds: @escaping @Sendable ([Value], [Value]) -> Bool) -> Function {
        .pure(name, .list(.parameter("A")), .list(.parameter("A")), .bool) { activation, left, right throws(EvaluationError) in
            guard case .list(let a) = left, case .list(let b) = right else { throw .noOverload("sets", [left, right]) }
            try activation.spend(elements: a.count + b.count)
            try activation.spend(left.weight + right.weight)
            return .bool(holds(a.elements, b.elements))
        }
    }
}
