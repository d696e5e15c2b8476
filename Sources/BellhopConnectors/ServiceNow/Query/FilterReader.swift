import BellhopCore

/// A structured filter, `where:` of bellhop.yaml, compiled to an encoded query.
///
/// Criteria are alternatives: all conditions of at least one of them must hold. Every value is escaped, so that a text cannot
/// become a script, a second condition or a second value.
struct Filter: Sendable, Hashable {
    /// Including the filter's order.
    var query: EncodedQuery
    /// The maximum number of rows; nil for all.
    var limit: Int?
    /// The index or replica the server should use (`sysparm_query_category`).
    var category: String?

    static let maxLimit = 10_000

    /// The keys allowed besides conditions.
    static let settings: [Setting] = [
        Setting(
            "any", .list(.json), "A list of criteria, one of which must hold; each is a mapping of conditions that must all hold."
        ),
        Setting(
            "all", .list(.json),
            "A list of mappings whose conditions must all hold. It is needed if one mapping would contain a key twice."
        ),
        Setting("keywords", .text, "Words to search for in the table's text index."),
        Setting(
            "sort", .list(.either([.map(.oneOf(["asc", "desc"])), .text])),
            "Fields, each alone or as `{opened_at: desc}`: the order of rows in `bellhop query`."),
        Setting("limit", .integer(1...maxLimit), "The number of rows in `bellhop query`; a poll reads all rows."),
        Setting("query_category", .name, "The query category, which selects an index or a replica on the server."),
    ]
}

extension Filter {
    /// Reads a filter, or throws all its errors.
    /// - Parameters:
    ///   - json: the value of `where`.
    ///   - path: its path in the settings, for complaints.
    init(_ json: JSON, at path: [SettingComplaint.Step] = [.key("where")]) throws(SettingComplaints) {
        var reader = FilterReader()
        let filter = reader.filter(json, path)
        guard let filter, reader.complaints.isEmpty else { throw SettingComplaints(reader.complaints) }
        self = filter
    }
}

/// Compiles a structured filter and collects its errors.
struct FilterReader {
    typealias Path = [SettingComplaint.Step]
    typealias Term = EncodedQuery.Term
    typealias Condition = EncodedQuery.Condition

    private(set) var complaints: [SettingComplaint] = []

    /// The largest number of terms that alternatives may expand to, because a server refuses very long queries.
    private static let maxTerms = 128

    mutating func filter(_ json: JSON, _ path: Path) -> Filter? {
        guard let members = json.asObject else {
            complain(
                "wrong-type", "a filter must be a mapping of conditions, not \(json.typeWithArticle)", at: path,
                help: "as in `{active: true, priority: [1, 2]}`")
            return nil
        }
        let keywords = members["keywords"].flatMap { words($0, path + [.key("keywords")]) }
        let order = members["sort"].map { sort($0, path + [.key("sort")]) } ?? []
        let limit = members["limit"].flatMap { number($0, path + [.key("limit")]) }
        let category = members["query_category"].flatMap { name($0, path + [.key("query_category")]) }
        let others: Set = ["keywords", "sort", "limit", "query_category"]
        let conditions = members.filter { !others.contains($0.key) }
        var groups = self.groups(conditions, path)
        if let keywords {
            if groups.isEmpty { groups = [EncodedQuery.Group(terms: [])] }
            for index in groups.indices { groups[index].terms.insert(Term(alternatives: [.keywords(keywords)]), at: 0) }
        }
        if groups.isEmpty, complaints.isEmpty {
            complain(
                "empty-filter", "a filter without a condition would match every row", at: path,
                help: "leave `where` out if that is what you mean")
        }
        guard complaints.isEmpty else { return nil }
        return Filter(
            query: EncodedQuery(groups: groups, order: order, isClosed: keywords != nil), limit: limit, category: category)
    }

    // MARK: Conditions

    /// The groups of a filter: `any` alone becomes one group for each element; beside conditions it becomes terms.
    private mutating func groups(_ conditions: JSON.Object, _ path: Path) -> [EncodedQuery.Group] {
        if conditions.count == 1, let criteria = conditions["any"] {
            return elements(criteria, "any", path).map { EncodedQuery.Group(terms: terms($0.json, $0.path)) }
        }
        return conditions.isEmpty ? [] : [EncodedQuery.Group(terms: terms(.object(conditions), path))]
    }

    /// Conditions that must all hold: an AND of ORs.
    private mutating func terms(_ json: JSON, _ path: Path) -> [Term] {
        guard let members = json.asObject else {
            complain(
                "wrong-type", "conditions must be a mapping, not \(json.typeWithArticle)", at: path,
                help: "as in `{priority: [1, 2]}`")
            return []
        }
        if members.isEmpty { complain("empty-filter", "these conditions are empty, so every row would match", at: path) }
        var terms: [Term] = []
        for (key, value) in members {
            let path = path + [.key(key)]
            switch key {
            case "any": terms += alternatives(value, path)
            case "all":
                for element in elements(value, "all", Array(path.dropLast())) { terms += self.terms(element.json, element.path) }
            case "keywords", "sort", "limit", "query_category":
                complain(
                    "unknown-key", "`\(key)` belongs to the whole filter", at: path, isAboutKey: true, help: "put it beside `any`"
                )
            default:
                if let field = field(key, path) { terms += conditions(on: field, value, path) }
            }
        }
        return terms
    }

    /// Converts alternatives, each an AND of ORs, to one AND of ORs.
    private mutating func alternatives(_ json: JSON, _ path: Path) -> [Term] {
        var product = [Term(alternatives: [])]
        for element in elements(json, "any", Array(path.dropLast())) {
            let terms = self.terms(element.json, element.path)
            if product.count * max(terms.count, 1) > Self.maxTerms {
                complain(
                    "too-complex", "these alternatives multiply to more than \(Self.maxTerms) conditions", at: path,
                    help: "put them at the top, under one `any`")
                return []
            }
            product = product.flatMap { left in terms.map { Term(alternatives: left.alternatives + $0.alternatives) } }
        }
        return product.filter { !$0.alternatives.isEmpty }
    }

    private mutating func elements(_ json: JSON, _ key: String, _ path: Path) -> [(json: JSON, path: Path)] {
        let path = path + [.key(key)]
        guard let items = json.asArray, !items.isEmpty else {
            complain(
                "wrong-type", "`\(key)` must be a list of conditions", at: path,
                help: "as in `\(key): [{priority: 1}, {urgency: 1}]`")
            return []
        }
        return items.enumerated().map { ($1, path + [.index($0)]) }
    }

    private mutating func conditions(on field: String, _ json: JSON, _ path: Path) -> [Term] {
        switch json {
        case .object(let members):
            if members.isEmpty {
                complain(
                    "wrong-type", "`\(field)` has no value to compare with", at: path,
                    help: "write `\(field): {is_empty: true}` for an empty field")
            }
            return members.compactMap { word, value in
                let path = path + [.key(word)]
                guard let how = FilterOperator(rawValue: word) else {
                    let words = FilterOperator.allCases.map(\.rawValue)
                    complain(
                        "unknown-operator", "there is no operator `\(word)`", at: path, isAboutKey: true,
                        help: Suggestion.didYouMean(word, among: words) ?? "use " + words.quotedList)
                    return nil
                }
                return condition(on: field, how, value, path)
            }
        case .array: return condition(on: field, .isOneOf, json, path).map { [$0] } ?? []
        case .null, .bool, .int, .double, .string: return condition(on: field, .is, json, path).map { [$0] } ?? []
        }
    }

    private mutating func condition(on field: String, _ how: FilterOperator, _ json: JSON, _ path: Path) -> Term? {
        var reader = OperandReader(field: field, how: how)
        let condition = reader.condition(json, path)
        complaints += reader.complaints
        guard let condition else { return nil }
        return how.alsoMeansEmpty && condition.how != .notSameAs ? Term(condition, Condition(field, .isEmpty)) : Term(condition)
    }

    private mutating func field(_ name: String, _ path: Path) -> String? {
        if EncodedQuery.isField(name) { return name }
        let lower = ASCII.lowercased(name)
        complain(
            "unknown-key", "`\(name)` is not a field name", at: path, isAboutKey: true,
            help: EncodedQuery.isField(lower)
                ? "did you mean `\(lower)`?"
                : "a field's name has lowercase letters, digits, `_` and, for a field of another record, `.`")
        return nil
    }

    // MARK: Settings of the whole filter

    private mutating func words(_ json: JSON, _ path: Path) -> String? {
        guard let words = json.asString, words.utf8.contains(where: { $0 > 0x20 }) else {
            complain("wrong-type", "`keywords` must be a text", at: path)
            return nil
        }
        return words
    }

    private mutating func sort(_ json: JSON, _ path: Path) -> [EncodedQuery.Order] {
        var order: [EncodedQuery.Order] = []
        for (index, item) in (json.asArray ?? [json]).enumerated() {
            let path = json.asArray == nil ? path : path + [.index(index)]
            if let name = item.asString {
                if let field = field(name, path) { order.append(EncodedQuery.Order(field: field)) }
                continue
            }
            guard let members = item.asObject, !members.isEmpty else {
                complain(
                    "wrong-type", "`sort` must be a list of fields", at: path, help: "as in `sort: [priority, {opened_at: desc}]`"
                )
                continue
            }
            for (name, value) in members {
                let path = path + [.key(name)]
                guard let way = value.asString, way == "asc" || way == "desc" else {
                    complain("wrong-value", "an order is `asc` or `desc`", at: path)
                    continue
                }
                if let field = field(name, path) { order.append(EncodedQuery.Order(field: field, descending: way == "desc")) }
            }
        }
        return order
    }

    private mutating func number(_ json: JSON, _ path: Path) -> Int? {
        if case .int(let limit) = json, (1...Int64(Filter.maxLimit)).contains(limit) { return Int(limit) }
        complain("wrong-value", "`limit` is a number from 1 to \(Filter.maxLimit)", at: path)
        return nil
    }

    private mutating func name(_ json: JSON, _ path: Path) -> String? {
        if let name = json.asString, !name.isEmpty { return name }
        complain("wrong-type", "`query_category` must be a name", at: path)
        return nil
    }

    private mutating func complain(
        _ code: String, _ message: String, at path: Path, isAboutKey: Bool = false, help: String? = nil
    ) {
        complaints.append(SettingComplaint(code: code, message, at: path, isAboutKey: isAboutKey, help: help))
    }
}

extension EncodedQuery {
    static func isField(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isName)
    }

    static func isName(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isNameByte) }

    /// Whether a name can have this byte: a lowercase letter, a digit or `_`.
    static func isNameByte(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || byte.isASCIIDigit || byte == UInt8(ascii: "_") }
}

extension JSON {
    /// The JSON type with its article, for messages: `a list`, `a text`.
    var typeWithArticle: String {
        switch self {
        case .null: "nothing"
        case .bool: "a boolean"
        case .int, .double: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "a mapping"
        }
    }
}
