import BellhopCore

/// The declared fields that no record has: a slip in their names is told, instead of leaving them empty for ever.
struct AbsentFields {
    private var absent: [(name: String, path: String)]
    /// Names that records have, among which the one that was meant may be.
    private var known: [String]

    /// Of records that are flat, as a table's rows: a path is a name in them.
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

    /// Of the items of a JSON answer. Nothing is known of what stands inside of a null.
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

    /// The ways that lead on where this one ends; nil where it leads somewhere, or may.
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

    /// What a person should know, in a sentence; nil where nothing is absent.
    ///
    /// - Parameter advice: what else it may be.
    func notice(of source: String, advice: String? = nil) -> String? {
        guard !absent.isEmpty else { return nil }
        let fields = absent.map { field in
            let way = field.path == field.name ? "`\(field.name)`" : "`\(field.name)` (`\(field.path)`)"
            let alike = known.filter { $0.contains(".") == field.path.contains(".") }
            let meant = Suggestion.closest(to: field.path, among: alike).map { " (did you mean `\($0)`?)" } ?? ""
            return way + meant
        }
        let isOne = fields.count == 1
        return "No record of source \(source) has the \(isOne ? "field" : "fields") \(fields.joined(separator: ", ")), so "
            + (isOne ? "it stays empty." : "they stay empty.") + (advice.map { " " + $0 } ?? "")
    }
}
