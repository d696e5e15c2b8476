import BellhopCore

/// The declared fields that no record has: reports a misspelled name, which would otherwise stay empty forever.
struct AbsentFields {
    private var absent: [(name: String, path: String)]
    /// Names that records have, for suggestions.
    private var known: [String]

    /// For flat records, such as a table's rows: a path is a name in them.
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

    /// For the items of a JSON answer. What a null would contain is unknown.
    init(of fields: [(name: String, path: JSON.Path)], inItems items: some Sequence<JSON>) {
        var absent = fields
        var known: Set<String> = []
        var count = 0
        for item in items {
            count += 1
            absent.removeAll { field in
                guard let others = Self.others(field.path, in: item) else { return true }
                known.formUnion(others)
                return false
            }
            if absent.isEmpty { break }
        }
        self.absent = count == 0 ? [] : absent.map { ($0.name, $0.path.description) }
        self.known = known.sorted()
    }

    /// The keys that exist where this path ends; nil if the path leads somewhere, or may.
    private static func others(_ path: JSON.Path, in item: JSON) -> [String]? {
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

    /// A notice for people, in a sentence; nil if no field is absent.
    ///
    /// - Parameter advice: another possible cause.
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
