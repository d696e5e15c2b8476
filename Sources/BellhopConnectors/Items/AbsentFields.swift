import BellhopCore

/// Finds declared fields that no record has, such as those with a misspelled name, which would stay empty.
struct AbsentFields {
    private var absent: [(name: String, path: String)]
    /// Names that records have, for suggestions.
    private var known: [String]

    /// For flat records, such as a table's rows, in which a path is a name.
    init(of schema: TaskSchema, inRows rows: some Sequence<JSON>, known: [String]) {
        var absent = schema.fields.map { ($0.name, $0.path) }
        var count = 0
        for row in rows {
            count += 1
            absent.removeAll { row[$0.1] != nil }
            if absent.isEmpty { break }
        }
        self.absent = count == 0 ? [] : absent
        self.known = known
    }

    /// For the items of a JSON answer. A field below a null counts as present, because it may exist in other answers.
    init(of fields: [(name: String, path: JSON.Path)], inItems items: some Sequence<JSON>) {
        var absent = fields
        var known: Set<String> = []
        var count = 0
        for item in items {
            count += 1
            absent.removeAll { field in
                guard let siblings = Self.siblings(field.path, in: item) else { return true }
                known.formUnion(siblings)
                return false
            }
            if absent.isEmpty { break }
        }
        self.absent = count == 0 ? [] : absent.map { ($0.name, $0.path.description) }
        self.known = known.sorted()
    }

    /// The paths that exist where this one breaks off; nil if it does not break off, or that is unknown.
    private static func siblings(_ path: JSON.Path, in item: JSON) -> [String]? {
        var here = item
        var before = ""
        for step in path.steps {
            guard case .key(let key) = step, case .object(let members) = here else { return nil }
            guard let next = members[key] else { return members.keys.map { before + $0 } }
            before += key + "."
            here = next
        }
        return nil
    }

    /// A notice for people; nil if no field is absent.
    /// - Parameter advice: a sentence about another possible cause.
    func notice(of source: String, advice: String? = nil) -> String? {
        guard !absent.isEmpty else { return nil }
        let fields = absent.map { field in
            let way = field.path == field.name ? "`\(field.name)`" : "`\(field.name)` (`\(field.path)`)"
            let alike = known.filter { $0 != field.path && $0.contains(".") == field.path.contains(".") }
            let meant = Suggestion.closest(to: field.path, among: alike).map { " (did you mean `\($0)`?)" } ?? ""
            return way + meant
        }
        let isOne = fields.count == 1
        return "No record of source \(source) has the \(isOne ? "field" : "fields") \(fields.joined(separator: ", ")), so "
            + (isOne ? "it stays empty." : "they stay empty.") + (advice.map { " " + $0 } ?? "")
    }
}
