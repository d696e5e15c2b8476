/// Why a strict instance refuses a query.
struct QueryProblem: Error, Sendable, Hashable { var message: String }

extension EncodedQuery {
    /// Parses a decoded `sysparm_query`.
    ///
    /// - Parameter sloppy: drops each condition with an unknown column or operator, as the real server does; the rest may match
    ///   everything.
    init(_ text: String, table: String, user: SimulatedUser, sloppy: Bool, at now: Int64) throws(QueryProblem) {
        let script = QueryScript(user: user, now: now)
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
                    group.append([try Term(rest, table: table, script)])
                } else if let rest = part.removing("OR") {
                    let term = try Term(rest, table: table, script)
                    guard !group.isEmpty else { throw QueryProblem(message: "^OR without a condition before it") }
                    group[group.count - 1].append(term)
                } else {
                    group.append([try Term(part, table: table, script)])
                }
            } catch {
                if !sloppy { throw error }
            }
        }
        groups.append(group)
        if Schema.isTask(table), !user.omittedFields.isEmpty {
            groups = groups.map { group in
                group.map { $0.filter { !user.omittedFields.contains($0.path.names[0]) } }.filter { !$0.isEmpty }
            }
        }
        if groups.count == 1, groups[0].isEmpty { groups = [] }
    }

    /// Splits at each single `^`; `^^` stands for the character itself.
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
    private static let search = "123TEXTQUERY321="

    init(_ text: String, table: String, _ script: QueryScript) throws(QueryProblem) {
        if text.hasPrefix(Self.search) {
            self.init(path: try EncodedQuery.path("sys_id", in: table), how: .anything, value: "")
            keywords = text.dropFirst(Self.search.count).lowercased().split(separator: " ").map(String.init)
            guard !keywords.isEmpty else { throw QueryProblem(message: "a search without words: '\(text)'") }
            return
        }
        let name = String(text.prefix { $0.isLowercase || $0.isNumber || $0 == "_" || $0 == "." })
        let rest = text.dropFirst(name.count)
        guard !rest.hasPrefix("IN_HIERARCHY"),
            let how = EncodedQuery.Operator.allCases.first(where: { rest.hasPrefix($0.rawValue) })
        else { throw QueryProblem(message: "no supported operator in '\(text)'") }
        let given = String(rest.dropFirst(how.rawValue.count))
        self.init(path: try EncodedQuery.path(name, in: table), how: how, value: "")
        switch how {
        case .isIn, .notIn:
            value = try script.value(of: given)
            list = Set(value.split(separator: ",").map(String.init))
        case .isEmpty, .isNotEmpty, .anything, .emptyString:
            guard given.isEmpty else { throw QueryProblem(message: "no supported operator in '\(text)'") }
        case .between, .on, .notOn:
            var parts = given.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
            // The first of three parts is a label for people.
            if how != .between, parts.count == 3 { parts.removeFirst() }
            guard parts.count == 2 else { throw QueryProblem(message: "\(how.rawValue) takes two values: '\(text)'") }
            ends = [try script.value(of: parts[0]), try script.value(of: parts[1])]
        case .sameAs, .notSameAs, .greaterField, .lessField, .greaterOrEqualField, .lessOrEqualField:
            other = try EncodedQuery.path(given, in: table)
        case .dynamic: list = try script.members(of: given)
        case .startsWith, .endsWith, .notLike, .notLikeShort, .like, .notEqual, .lessOrEqual, .greaterOrEqual, .equal, .less,
            .greater, .endsWithShort, .instanceOf:
            value = try script.value(of: given)
        }
        value = key(value)
        list = Set(list.map(key))
        ends = ends.map(key)
    }
}

extension String {
    /// The rest after a prefix; nil without it.
    fileprivate func removing(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
