/// What a strict instance has against a query.
struct QueryProblem: Error, Sendable, Hashable {
    var message: String
}

extension EncodedQuery {
    /// Reads a decoded `sysparm_query`.
    ///
    /// - Parameter sloppy: drops each condition that names an unknown column or operator, as the real server does: what
    ///   remains may match everything.
    init(_ text: String, table: String, user: SimulatedUser, sloppy: Bool) throws(QueryProblem) {
        var group: [[Term]] = []
        for part in EncodedQuery.parts(of: text) {
            do throws(QueryProblem) {
                if let name = part.removing("ORDERBYDESC") {
                    order.append(Order(path: try EncodedQuery.path(name, in: table), descending: true))
                } else if let name = part.removing("ORDERBY") {
                    order.append(Order(path: try EncodedQuery.path(name, in: table), descending: false))
                } else if part == "EQ" {
                    continue
                } else if let rest = part.removing("NQ") {
                    groups.append(group)
                    group = []
                    group.append([try Term(rest, table: table, user: user)])
                } else if let rest = part.removing("OR") {
                    let term = try Term(rest, table: table, user: user)
                    guard !group.isEmpty else { throw QueryProblem(message: "^OR without a condition before it") }
                    group[group.count - 1].append(term)
                } else {
                    group.append([try Term(part, table: table, user: user)])
                }
            } catch {
                if !sloppy { throw error }
            }
        }
        groups.append(group)
        if groups.count == 1, group.isEmpty { groups = [] }
    }

    /// Cuts at each single `^`; `^^` stands for the character itself.
    private static func parts(of text: String) -> [String] {
        var parts: [String] = []
        var part = ""
        var characters = text[...]
        while let character = characters.popFirst() {
            if character != "^" {
                part.append(character)
            } else if characters.first == "^" {
                characters.removeFirst()
                part.append("^")
            } else {
                parts.append(part)
                part = ""
            }
        }
        parts.append(part)
        return parts.filter { !$0.isEmpty }
    }

    static func path(_ name: String, in table: String) throws(QueryProblem) -> FieldPath {
        guard let path = FieldPath(name, in: table) else { throw QueryProblem(message: "no field '\(name)' on table '\(table)'") }
        return path
    }
}

extension EncodedQuery.Term {
    init(_ text: String, table: String, user: SimulatedUser) throws(QueryProblem) {
        let name = String(text.prefix { $0.isLowercase || $0.isNumber || $0 == "_" || $0 == "." })
        let rest = text.dropFirst(name.count)
        guard !["INSTANCEOF", "IN_HIERARCHY"].contains(where: rest.hasPrefix),
            let how = EncodedQuery.Operator.allCases.first(where: { rest.hasPrefix($0.rawValue) })
        else {
            throw QueryProblem(message: "no operator known here in '\(text)'")
        }
        path = try EncodedQuery.path(name, in: table)
        self.how = how
        let given = String(rest.dropFirst(how.rawValue.count))
        switch given {
        case "javascript:gs.getUserID()": value = user.id
        case "javascript:gs.getUserName()": value = user.userName
        case _ where given.hasPrefix("javascript:"): throw QueryProblem(message: "the script in '\(text)' is not simulated")
        default: value = given
        }
        switch how {
        case .isIn, .notIn: list = Set(value.split(separator: ",").map(String.init))
        case .isEmpty, .isNotEmpty, .anything, .emptyString:
            guard value.isEmpty else { throw QueryProblem(message: "no operator known here in '\(text)'") }
        case .startsWith, .endsWith, .notLike, .notLikeShort, .like, .notEqual, .lessOrEqual, .greaterOrEqual, .equal, .less,
            .greater, .endsWithShort:
            break
        }
    }
}

extension String {
    /// The rest behind a prefix; nil without it.
    fileprivate func removing(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
