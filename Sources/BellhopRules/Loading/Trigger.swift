import BellhopCore

/// A type of event that starts a rule, with its conditions besides the rule's own.
struct Trigger: Sendable, Hashable {
    var type: EventType
    /// Fields that must all have changed.
    var changes: [ChangeFilter] = []

    func accepts(_ event: Event) -> Bool {
        changes.isEmpty || changes.allSatisfy { $0.accepts(event.data) }
    }
}

/// `{task_changed: {state: {from: New, to: [2, Resolved]}}}`: a field that changed, from and to certain values.
struct ChangeFilter: Sendable, Hashable {
    var field: String
    /// Values it may have changed from, raw or label; nil for any.
    var from: [String]?
    var to: [String]?

    func accepts(_ data: JSON.Object) -> Bool {
        guard case .object(let changes)? = data[.changes], case .object(let change)? = changes[field] else { return false }
        return Self.matches(from, change[.from] ?? .null, label: data[.before]?.at("labels", field))
            && Self.matches(to, change[.to] ?? .null, label: data[.task]?.at("labels", field))
    }

    private static func matches(_ wanted: [String]?, _ raw: JSON, label: JSON?) -> Bool {
        guard let wanted else { return true }
        let text = raw.plainText
        return wanted.contains { $0 == text || .string($0) == label }
    }
}

extension JSON {
    /// The value as written for `from` and `to`: null and the empty text are both empty.
    var plainText: String {
        switch self {
        case .null: ""
        case .string(let text): text
        case .bool, .int, .double, .array, .object: text
        }
    }
}
