extension Standard {
    static let texts: [Function] = [
        Function("size", overloads: sizes(member: false) + sizes(member: true)),
        test("contains", readsAll: true) { $0.containsBytes(of: $1) },
        test("startsWith") { $0.hasBytePrefix($1) },
        test("endsWith") { $0.hasByteSuffix($1) },
        Function("matches", matches(member: false), matches(member: true)),
    ]

    /// - Parameter readsAll: whether the whole text is read, and not only as many bytes as the part has.
    private static func test(
        _ name: String, readsAll: Bool = false, _ holds: @escaping @Sendable (String, String) -> Bool
    ) -> Function {
        .pure(name, member: true, .string, .string, .bool) { activation, text, part throws(EvaluationError) in
            guard case .string(let text) = text, case .string(let part) = part else { return false }
            try activation.spend(1 + (readsAll ? text : part).utf8.count >> 6)
            return .bool(holds(text, part))
        }
    }

    private static func sizes(member: Bool) -> [Overload] {
        [CELType.string, .bytes, .list(.parameter("A")), .map(.parameter("A"), .parameter("B"))].map { type in
            .pure(member: member, type, .int) { activation, value throws(EvaluationError) in
                switch value {
                case .string(let text):
                    try activation.spend(1 + text.utf8.count >> 6)
                    return .int(Int64(text.codePoints))
                case .bytes(let bytes): return .int(Int64(bytes.count))
                case .list(let list): return .int(Int64(list.count))
                case .map(let map): return .int(Int64(map.count))
                default: throw .noOverload("size", [value])
                }
            }
        }
    }

    private static func matches(member: Bool) -> Overload {
        .pure(member: member, .string, .string, .bool, check: patternCheck) {
            activation, text, pattern throws(EvaluationError) in
            guard case .string(let text) = text, case .string(let pattern) = pattern else { return false }
            try activation.spend(1 + text.utf8.count >> 4)
            return .bool(try activation.pattern(pattern).isFound(in: text))
        }
    }

    /// Rejects a constant pattern that RE2 refuses, before anything runs.
    static let patternCheck = Overload.text(help: "the syntax is RE2's: no look-around, no back-references") {
        text throws(EvaluationError) in
        _ = try Pattern(text)
    }
}
