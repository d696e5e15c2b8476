/// How a task changed between two polls, found by comparing its snapshots.
public struct Change: Sendable, Hashable {
    /// The fields with new values. Never empty.
    public let fields: [FieldChange]

    public struct FieldChange: Sendable, Hashable {
        public var field: String
        public var from: JSON
        public var to: JSON

        public init(field: String, from: JSON, to: JSON) {
            self.field = field
            self.from = from
            self.to = to
        }
    }

    /// Whether two values of a field are equal, although the type of one may have been learnt later: the text `3` that becomes
    /// the number 3 has not changed.
    static func isSame(_ from: JSON, _ to: JSON) -> Bool {
        if from == to { return true }
        switch (from, to) {
        case (.string(let left), .string(let right)): return moment(left).map { $0 == moment(right) } ?? false
        case (.string(let text), let other), (let other, .string(let text)): return plain(other) == text
        case (.int(let number), .double(let other)), (.double(let other), .int(let number)): return Double(number) == other
        default: return false
        }
    }

    /// The text from which a value that is not a text was read.
    private static func plain(_ value: JSON) -> String? {
        switch value {
        case .null: ""
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): String(number)
        case .string, .array, .object: nil
        }
    }

    /// Parses a time as sources or records write it.
    private static func moment(_ text: String) -> Timestamp? {
        Timestamp(rfc3339: text) ?? Timestamp(sql: text) ?? Timestamp(sql: text + " 00:00:00")
    }

    /// The relevant difference between two snapshots, or nil. A field declared in only one of them is not a change: the
    /// configuration changed, not the task. Labels alone never count: they depend on the user's language.
    /// - Parameter ignored: fields whose changes mean nothing.
    public init?(from before: Snapshot, to after: Snapshot, ignoring ignored: Set<String>) {
        var changes: [FieldChange] = []
        func compare(_ name: String, _ from: JSON, _ to: JSON) {
            if !Change.isSame(from, to) { changes.append(FieldChange(field: name, from: from, to: to)) }
        }
        compare("number", .string(before.number), .string(after.number))
        compare("title", .string(before.title), .string(after.title))
        // A snapshot without a class has only the listing's own fields: the others could not be read, and becoming readable or
        // unreadable is not a change of the task.
        if !before.className.isEmpty, !after.className.isEmpty {
            compare("class", .string(before.className), .string(after.className))
            // A title is reported as `title` and, if the source declares it, as its own field: a rule may use either.
            for (name, to) in after.fields where !ignored.contains(name) && name != "number" {
                if let from = before.fields[name] { compare(name, from, to) }
            }
        }
        if changes.isEmpty { return nil }
        fields = changes
    }
}

/// Why a task left its source.
public enum RemovalReason: String, Sendable, Hashable, CaseIterable {
    /// It still exists, but is no longer active.
    case closed
    /// It exists and is active, but no longer matches the source's query (reassigned, for example).
    case leftQuery = "left_query"
    /// The record no longer exists, as far as this account can see.
    case gone
    /// It could not be queried.
    case unknown
}
