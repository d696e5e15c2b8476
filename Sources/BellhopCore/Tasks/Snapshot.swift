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

/// A snapshot as the JSON text that the store keeps.
///
/// A task's details are written as text once, where they are read, and passed on in this form: most tasks of a first poll are
/// never decoded, and comparing the text is enough to see whether a task has changed.
public struct SnapshotText: Sendable, Hashable {
    public let key: TaskKey
    public let bytes: [UInt8]
    /// False for a task of which only the listing's own fields could be read: it has no class.
    public let isRead: Bool
    /// The fingerprint of the whole content. Declared fields are in the order of their declaration: if that order changes, tasks
    /// that are read again are stored again, without an event.
    public let fingerprint: Fingerprint
    /// The requested fields that the answer did not show, and ``Change/number``, ``Change/title`` and ``Change/className`` for what the
    /// task has besides fields. They are empty here, but unknown: see ``completed(by:except:)``.
    public let unread: [String]

    public init(_ snapshot: Snapshot, unread: [String] = []) {
        var writer = JSONWriter()
        self.init(
            snapshot, by: &writer, unread: unread, labels: { $0.writeMembers(of: snapshot.labels) },
            fields: { $0.writeMembers(of: snapshot.fields) })
    }

    /// Writes a snapshot without building its labels and fields first, which took most of the time of a table's first poll.
    /// - Parameters:
    ///   - own: the task's other properties.
    ///   - unread: the names of what the answer did not show.
    ///   - labels: writes the labels' members.
    ///   - fields: writes the fields' members.
    public init(
        _ own: Snapshot, by writer: inout JSONWriter, unread: [String] = [], labels: (inout JSONWriter) -> Void,
        fields: (inout JSONWriter) -> Void
    ) {
        writer.beginObject()
        writer.member("id", own.key.text)
        writer.member("number", own.number)
        writer.member("title", own.title)
        writer.member("type", own.type)
        writer.member("class", own.className)
        writer.member("url", own.url)
        writer.name("labels")
        writer.beginObject()
        labels(&writer)
        writer.endObject()
        writer.name("fields")
        writer.beginObject()
        fields(&writer)
        writer.endObject()
        writer.endObject()
        key = own.key
        bytes = writer.take()
        fingerprint = Fingerprint(content: bytes)
        isRead = !own.className.isEmpty
        self.unread = unread
    }

    /// The snapshot. Text written here can be read; for any other text it has only the key.
    public var snapshot: Snapshot { (try? JSON.parse(bytes)).flatMap(Snapshot.init(json:)) ?? Snapshot(key: key) }

    /// The text with the stored values of what is ``unread``: what an answer does not show has not changed.
    /// - Parameter redefined: fields whose stored values were read by another definition, so that they stay empty.
    public func completed(by stored: Snapshot, except redefined: Set<String>) -> SnapshotText {
        let kept = Set(unread).subtracting(redefined)
        let read = snapshot
        var task = read
        if kept.contains(Change.number) { task.number = stored.number }
        if kept.contains(Change.title) { task.title = stored.title }
        if kept.contains(Change.className), !stored.className.isEmpty {
            (task.className, task.type) = (stored.className, stored.type)
        }
        for name in kept {
            if read.fields[name] != nil, let value = stored.fields[name] { task.fields[name] = value }
        }
        // In the order of the fields, as in a text that shows all of them.
        task.labels = JSON.Object(
            read.fields.keys.compactMap { name in
                (kept.contains(name) ? stored.labels : read.labels)[name].map { (name, $0) }
            })
        return SnapshotText(task)
    }
}

/// Snapshots by their keys, stored as text.
public struct Snapshots: Sendable {
    /// In order of arrival of their keys.
    public private(set) var texts: [SnapshotText] = []
    private var index = KeyIndex()

    public init() {}

    /// The snapshot with this key, parsed from its text.
    public subscript(key: TaskKey) -> Snapshot? {
        get { text(of: key)?.snapshot }
        set { if let newValue { add(SnapshotText(newValue)) } else { remove(key) } }
    }

    public func text(of key: TaskKey) -> SnapshotText? { place(of: key).map { texts[$0] } }

    public var count: Int { texts.count }
    public var isEmpty: Bool { texts.isEmpty }
    public var keys: [TaskKey] { texts.map(\.key) }
    public var values: [Snapshot] { texts.map(\.snapshot) }

    /// Adds a text, or replaces the one with its key.
    public mutating func add(_ text: SnapshotText) {
        let present = index.insert(text.key.hash(index.seed), at: texts.count, unless: { texts[$0].key == text.key })
        if let present { texts[present] = text } else { texts.append(text) }
    }

    public mutating func reserveCapacity(_ count: Int) {
        texts.reserveCapacity(count)
        index.reserveCapacity(count)
    }

    private mutating func remove(_ key: TaskKey) {
        guard place(of: key) != nil else { return }
        let rest = texts.filter { $0.key != key }
        self = Snapshots()
        for text in rest { add(text) }
    }

    private func place(of key: TaskKey) -> Int? { index.find(key.hash(index.seed)) { texts[$0].key == key } }
}

/// How a task changed between two polls, found by comparing its snapshots.
public struct Change: Sendable, Hashable {
    /// The names of what a task has besides fields; no field can have such a name.
    public static let (number, title, className) = ("task.number", "task.title", "task.class")

    /// The fields with new values. Never empty.
    public let fields: [FieldChange]

    public struct FieldChange: Sendable, Hashable {
        public var field: String
        public var from: JSON
        public var to: JSON

        public init(field: String, from: JSON, to: JSON) { (self.field, self.from, self.to) = (field, from, to) }
    }

    /// Whether two values of a field are equal, although the type of one may have become known later: the text `3` that becomes
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
        if !ignored.contains(Self.number) { compare("number", .string(before.number), .string(after.number)) }
        if !ignored.contains(Self.title) { compare("title", .string(before.title), .string(after.title)) }
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
