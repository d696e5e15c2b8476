import BellhopCore

extension EncodedQuery {
    /// Recognizes an encoded query, such as `active=true^priorityIN1,2`, where a rule expects an expression.
    static let hint: RuleContext.QueryHint = { text, type in
        guard let query = try? EncodedQuery(parsing: text), query.isUnlikeAnExpression else { return nil }
        return (
            "this is an encoded query, which belongs in the `query` of a source",
            query.expression(type).map { "as a condition: `\($0)`" }
                ?? "write `query: '\(text)'` under a source of kind `table` in bellhop.yaml"
        )
    }

    /// The variables of expressions: a text that begins with one is meant as an expression.
    private static let variables = ["task.", "before.", "changes.", "event.", "comment."]

    /// Whether the text cannot be meant as an expression.
    private var isUnlikeAnExpression: Bool {
        guard let first = conditions.first, !Self.variables.contains(where: first.field.hasPrefix) else { return false }
        // `==` and `=~` belong to other languages.
        let isForeign = conditions.contains { !$0.how.isWord && "=<>~ ".contains($0.value.first ?? "?") }
        return !isForeign && (conditions.count > 1 || !order.isEmpty || first.how == .equal || first.how.isWord)
    }

    /// The same condition as an expression; nil if it has no equivalent.
    private func expression(_ type: (String) -> FieldType?) -> String? {
        let texts = groups.map { group in
            group.terms.map { term -> String? in
                let texts = term.alternatives.compactMap { alternative -> String? in
                    if case .condition(let condition) = alternative { condition.expression(type(condition.field)) } else { nil }
                }
                guard texts.count == term.alternatives.count else { return nil }
                return texts.count == 1 ? texts[0] : "(\(texts.joined(separator: " || ")))"
            }
        }
        guard texts.joined().allSatisfy({ $0 != nil }) else { return nil }
        return texts.map { $0.compactMap(\.self).joined(separator: " && ") }.joined(separator: " || ")
    }
}

extension EncodedQuery.Operator {
    fileprivate var isWord: Bool { rawValue.first?.isLetter == true }
}

extension EncodedQuery.Condition {
    fileprivate func expression(_ type: FieldType?) -> String? {
        guard !field.contains("."), !ComparedValue.isScript(value) else { return nil }
        let name = "task.\(field)"
        let empty = type == nil || type == .text ? "\"\"" : "null"
        func literal(_ value: String) -> String {
            let isPlain = type != .text && (Double(value) != nil || value == "true" || value == "false")
            return isPlain ? value : "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        let list = value.split(separator: ",").map { literal(String($0)) }.joined(separator: ", ")
        switch how {
        case .equal: return "\(name) == \(literal(value))"
        case .notEqual, .less, .atMost, .greater, .atLeast: return "\(name) \(how.rawValue) \(literal(value))"
        case .isOneOf: return "\(name) in [\(list)]"
        case .isNotOneOf: return "!(\(name) in [\(list)])"
        case .isEmpty, .emptyString: return "\(name) == \(empty)"
        case .isNotEmpty: return "\(name) != \(empty)"
        case .contains: return "\(name).contains(\(literal(value)))"
        case .containsNot, .containsNotShort: return "!\(name).contains(\(literal(value)))"
        case .startsWith: return "\(name).startsWith(\(literal(value)))"
        case .endsWith, .endsWithShort: return "\(name).endsWith(\(literal(value)))"
        case .anything, .between, .sameAs, .notSameAs, .greaterThanField, .lessThanField, .atLeastField, .atMostField, .moreThan,
            .lessThan, .dynamic, .inHierarchy, .instanceOf, .changes, .changesFrom, .changesTo, .on, .notOn, .datePart,
            .relativeAfter, .relativeBefore, .relativeAtOrAfter, .relativeAtOrBefore, .relativeOn:
            return nil
        }
    }
}
