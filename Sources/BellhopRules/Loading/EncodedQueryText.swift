import BellhopCore
import CEL

/// A ServiceNow encoded query, such as `active=true^priorityIN1,2`, written where an expression is expected.
struct EncodedQueryText {
    /// The same condition as an expression; nil if it has no equivalent.
    let condition: String?

    /// Longest first: `NOT IN` is a prefix of `NOT INSTANCEOF`.
    private static let operators = [
        "ISNOTEMPTY", "ISEMPTY", "EMPTYSTRING", "ANYTHING", "DOES NOT CONTAIN", "NOT LIKE", "NOTLIKE", "NOT IN", "STARTSWITH",
        "ENDSWITH", "CONTAINS", "LIKE", "IN_HIERARCHY", "INSTANCEOF", "IN", "BETWEEN", "NSAMEAS", "SAMEAS", "DYNAMIC",
        "GT_OR_EQUALS_FIELD", "LT_OR_EQUALS_FIELD", "GT_FIELD", "LT_FIELD", "MORETHAN", "LESSTHAN", "VALCHANGES", "CHANGESFROM",
        "CHANGESTO", "NOTON", "ON", "DATEPART", "RELATIVEGT", "RELATIVELT", "RELATIVEGE", "RELATIVELE", "RELATIVEEE", "!=", "<=",
        ">=", "=", "<", ">",
    ]

    /// Variables of expressions: a comparison that begins with one is an expression with a mistake.
    private static let objects = ["task.", "before.", "changes.", "event.", "comment."]

    private struct Term {
        var field: String
        var how: String
        var value: String
    }

    /// Nil if the text is not an encoded query.
    init?(_ text: String, _ types: TaskTypes) {
        let parts = text.trimmedBlanks.split(separator: "^", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1 || Self.term(parts[0]).map({ $0.how == "=" || $0.how.first?.isLetter == true }) == true else {
            return nil
        }
        // `^NQ` begins another query; `^OR` adds an alternative to the condition before it.
        var queries: [[[String?]]] = [[]]
        for (place, part) in parts.enumerated() {
            if place > 0, part.hasPrefix("ORDERBY") || part.hasPrefix("GROUPBY") || part == "EQ" || part.isEmpty { continue }
            let isNew = place > 0 && part.hasPrefix("NQ")
            let isAlternative = place > 0 && part.hasPrefix("OR")
            guard let term = Self.term(isNew || isAlternative ? String(part.dropFirst(2)) : part) else { return nil }
            if isNew { queries.append([]) }
            let condition = Self.condition(term, types)
            if isAlternative, let last = queries[queries.count - 1].indices.last {
                queries[queries.count - 1][last].append(condition)
            } else {
                queries[queries.count - 1].append([condition])
            }
        }
        guard queries.joined().joined().allSatisfy({ $0 != nil }) else {
            condition = nil
            return
        }
        let groups = queries.map { terms in
            let texts = terms.map { alternatives in
                let texts = alternatives.compactMap(\.self)
                return texts.count == 1 ? texts[0] : "(\(texts.joined(separator: " || ")))"
            }
            return texts.joined(separator: " && ")
        }
        condition = groups.joined(separator: " || ")
    }

    private static func term(_ text: String) -> Term? {
        let name = text.prefix { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_" || $0 == ".") }
        guard let first = name.first, !first.isNumber, first != ".", !objects.contains(where: name.hasPrefix) else { return nil }
        let rest = text.dropFirst(name.count)
        guard let how = operators.first(where: rest.hasPrefix) else { return nil }
        let value = String(rest.dropFirst(how.count))
        // `==` and `=~` belong to other languages.
        if !how.first!.isLetter, let next = value.first, "=<>~ ".contains(next) { return nil }
        return Term(field: String(name), how: how, value: value)
    }

    private static func condition(_ term: Term, _ types: TaskTypes) -> String? {
        let field = "task.\(term.field)"
        let type = types.fields.fields.first { $0.name == term.field }?.type
        guard !term.field.contains("."), !term.value.hasPrefix("javascript:") else { return nil }
        let empty = type == nil || type == .string ? "\"\"" : "null"
        func literal(_ value: String) -> String {
            if value.isEmpty { return empty }
            let isPlain = type != .string && (Double(value) != nil || value == "true" || value == "false")
            return isPlain ? value : "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        switch term.how {
        case "=": return "\(field) == \(literal(term.value))"
        case "!=", "<=", ">=", "<", ">": return "\(field) \(term.how) \(literal(term.value))"
        case "IN", "NOT IN":
            let list = term.value.split(separator: ",").map { literal(String($0)) }.joined(separator: ", ")
            return term.how == "IN" ? "\(field) in [\(list)]" : "!(\(field) in [\(list)])"
        case "ISEMPTY", "EMPTYSTRING": return "\(field) == \(empty)"
        case "ISNOTEMPTY": return "\(field) != \(empty)"
        case "LIKE", "CONTAINS": return "\(field).contains(\(literal(term.value)))"
        case "NOT LIKE", "NOTLIKE", "DOES NOT CONTAIN": return "!\(field).contains(\(literal(term.value)))"
        case "STARTSWITH": return "\(field).startsWith(\(literal(term.value)))"
        case "ENDSWITH": return "\(field).endsWith(\(literal(term.value)))"
        default: return nil
        }
    }
}
