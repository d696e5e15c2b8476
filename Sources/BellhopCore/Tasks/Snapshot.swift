/// A task as a source saw it at one moment: the common properties, and the fields its source declares.
public struct Snapshot: Sendable, Hashable {
    /// The record's identity in its instance, never a number that people could reuse.
    public var key: TaskKey
    public var number: String
    public var title: String
    /// The kind of task as people read it, in the user's language.
    public var type: String
    /// The kind of record (`incident`): the same in every language, for conditions. Empty if it could not be read.
    public var className: String
    /// The page where a person opens the task; made from the instance's address, never taken from an answer.
    public var url: String
    /// Declared fields: text as a string (`""` if empty), typed numbers, booleans and times; an empty or unreadable one of these
    /// is null. Times are RFC 3339 strings in UTC.
    public var fields: JSON.Object
    /// Display values of fields, if the source fetched them.
    public var labels: JSON.Object

    public init(
        key: TaskKey, number: String = "", title: String = "", type: String = "", className: String = "", url: String = "",
        fields: JSON.Object = [:], labels: JSON.Object = [:]
    ) {
        self.key = key
        self.number = number
        self.title = title
        self.type = type
        self.className = className
        self.url = url
        self.fields = fields
        self.labels = labels
    }

    /// The names that every task has; a declared field with such a name is only accessible through `task.fields`.
    public static let ownNames = ["id", "number", "title", "type", "class", "url", "source", "labels", "fields"]

    /// The task in the form of `event.data.task` and of expressions.
    public func json(source: String) -> JSON {
        .object(
            JSON.Object(distinct: [
                ("id", .string(key.text)), ("number", .string(number)), ("title", .string(title)), ("type", .string(type)),
                ("class", .string(className)), ("url", .string(url)), ("source", .string(source)), ("labels", .object(labels)),
                ("fields", .object(fields)),
            ]))
    }

    /// The text of a page; empty for anything else.
    public var pageText: String { fields["text"]?.asString ?? "" }

    /// Reads the form of ``json(source:)`` or of ``SnapshotText``; nil without an id.
    public init?(json: JSON) {
        guard case .object(let object) = json, case .string(let id)? = object["id"], !id.isEmpty else { return nil }
        func text(_ name: String) -> String { if case .string(let text)? = object[name] { text } else { "" } }
        func members(_ name: String) -> JSON.Object { if case .object(let members)? = object[name] { members } else { [:] } }
        self.init(
            key: TaskKey(id), number: text("number"), title: text("title"), type: text("type"), className: text("class"),
            url: text("url"), fields: members("fields"), labels: members("labels"))
    }
}
