public import BellhopCore

/// Finds the event meant by an unknown name, such as another program's.
public enum EventSuggestion {
    private static let names: [String: EventType] = {
        let words: [(EventType, [String])] = [
            (.taskCreated, ["created", "new", "opened", "added", "inserted", "inserts", "insert", "create"]),
            (.taskChanged, ["changed", "updated", "modified", "edited", "update", "change", "updates", "moved"]),
            (.taskRemoved, ["removed", "deleted", "closed", "resolved", "gone", "delete", "left"]),
            (.taskReturned, ["returned", "reopened", "back"]),
            (.taskCommented, ["commented", "comment", "note", "noted", "comments", "replied"]),
        ]
        var names: [String: EventType] = [
            "login": .loginEvent, "login_failed": .loginEvent, "logged_in": .loginEvent, "login_refused": .loginEvent,
            "session_ended": .sessionExpired, "logged_out": .sessionExpired, "page_updated": .pageChanged,
            "page_modified": .pageChanged, "source_failed": .sourceFailing, "source_error": .sourceFailing,
            "source_down": .sourceFailing, "source_restored": .sourceRecovered, "source_working": .sourceRecovered,
            "delivery_failed": .deliveryDead, "comment_added": .taskCommented, "comment_created": .taskCommented,
            "new_comment": .taskCommented, "new_task": .taskCreated,
            "keychain_login_event": .keychainLoginEvent, "keychain_login": .keychainLoginEvent,
        ]
        for (type, words) in words {
            for word in words {
                for what in ["task", "incident", "ticket", "record"] { names["\(what)_\(word)"] = type }
                if names[word] == nil { names[word] = type }
            }
        }
        return names
    }()

    /// Events of other programs that are field changes here.
    private static let fields = ["assigned": "assigned_to", "escalated": "priority", "prioritized": "priority"]

    /// The event that a word means in other programs; nil if unknown.
    public static func type(for word: String) -> EventType? { names[plain(word)] }

    /// A sentence which says that there is no such type of event; nil if there is one.
    public static func complaint(about name: String, among types: [String]) -> String? {
        if types.contains(name) { return nil }
        let meant = type(for: name).map { "did you mean `\($0.name)`?" }
        let help = meant ?? Suggestion.didYouMean(name, among: types) ?? "use \(types.joined(separator: ", "))"
        return "There is no event `\(name.visible)`: \(help)"
    }

    private static func plain(_ word: String) -> String {
        word.lowercased().replacing("-", with: "_").replacing(".", with: "_").replacing(" ", with: "_")
    }

    /// The suggestion for the user; nil if no known name is close.
    static func help(for word: String, among types: [String]) -> String? {
        let plain = plain(word)
        if let field = fields.first(where: { plain == $0.key || plain == "task_" + $0.key })?.value {
            return "write `on: {task_changed: {\(field): {}}}`"
        }
        if let type = names[plain], types.contains(type.name) { return "did you mean `\(type.name)`?" }
        return Suggestion.didYouMean(word, among: types)
    }
}

extension RuleBook {
    /// The names of all types of events that rules may name, also of those that bellhop.yaml declares.
    public var eventTypes: [String] { context.events.types.map(\.name) }

    /// A sentence which says that there is no such type of event; nil if the rules know the type.
    public func complaint(aboutEventType name: String) -> String? {
        EventSuggestion.complaint(about: name, among: eventTypes)
    }
}
