import BellhopCore

/// The dictionary of some tables: their columns, including inherited ones.
struct TableDictionary: Sendable, Hashable {
    struct Column: Sendable, Hashable {
        /// The dictionary's `internal_type`.
        var type: String
        /// The table that it refers to.
        var reference: String?
        /// Whether it holds only values of a choice list.
        var isChoice = false
        /// The choices with their labels, if they were read.
        var choices: [TaskSchema.Choice] = []

        var fieldType: FieldType {
            switch type {
            case "integer", "longint", "long", "count", "order_index", "auto_increment": .int
            case "decimal", "float", "double", "numeric", "percent_complete": .double
            case "boolean": .bool
            case "glide_date_time", "glide_date", "due_date", "date", "datetime", "glide_utc_time": .timestamp
            default: .text
            }
        }
    }

    var tables: [String: [String: Column]] = [:]

    init() {}

    init?(json: JSON) {
        guard let members = json.asObject else { return nil }
        for (table, columns) in members {
            for (name, value) in columns.asObject ?? [:] {
                guard let column = Column(json: value) else { return nil }
                tables[table, default: [:]][name] = column
            }
        }
    }

    var json: JSON {
        let members = tables.sorted { $0.key < $1.key }.map { table, columns in
            (table, JSON.object(JSON.Object(columns.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })))
        }
        return .object(JSON.Object(members))
    }

    /// The column at the end of a path; nil if part of it is unknown.
    func column(_ path: String, in table: String) -> Column? {
        var table: String? = table
        var column: Column?
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            column = table.flatMap { tables[$0]?[String(name)] }
            guard let column else { return nil }
            table = column.reference
        }
        return column
    }

    func owner(of path: String, in table: String) -> String? {
        let names = path.split(separator: ".")
        return names.count == 1 ? table : column(names.dropLast().joined(separator: "."), in: table)?.reference
    }

    func has(_ path: String, in table: String) -> Bool { column(path, in: table) != nil }

    /// Whether the column certainly does not exist: the table is known and lacks the first name of the path.
    func lacks(_ path: String, in table: String) -> Bool {
        guard let columns = tables[table], let name = path.split(separator: ".").first else { return false }
        return columns[String(name)] == nil
    }

    func names(of table: String) -> [String] { tables[table].map { $0.keys.sorted() } ?? [] }

    /// A field's type, and whether it holds another record's id.
    struct Meaning: Sendable, Hashable {
        var type: FieldType
        var isReference: Bool
        var choices: [TaskSchema.Choice] = []
    }

    /// Nil if the dictionary does not say.
    func meaning(of path: String, in table: String) -> Meaning? {
        column(path, in: table).map { Meaning(type: $0.fieldType, isReference: $0.reference != nil, choices: $0.choices) }
    }
}

/// Stored as `integer*`, `reference>sys_user`, and with choices as `["choice*", "1", "New", "2", "Resolved"]`.
extension TableDictionary.Column {
    init?(json: JSON) {
        let value = json.asArray ?? [json]
        let parts = value.first.textOrEmpty.split(separator: ">", maxSplits: 1).map(String.init)
        guard let type = parts.first else { return nil }
        let isChoice = type.hasSuffix("*")
        let texts = value.dropFirst().map { $0.asString ?? "" }
        self.init(
            type: isChoice ? String(type.dropLast()) : type, reference: parts.count == 2 ? parts[1] : nil, isChoice: isChoice,
            choices: stride(from: 0, to: texts.count - 1, by: 2).map { TaskSchema.Choice(texts[$0], texts[$0 + 1]) })
    }

    var json: JSON {
        let head = JSON.string(type + (isChoice ? "*" : "") + (reference.map { ">" + $0 } ?? ""))
        return choices.isEmpty ? head : .array([head] + choices.flatMap { [.string($0.value), .string($0.label)] })
    }
}
