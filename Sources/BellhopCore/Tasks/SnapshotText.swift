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

    public init(_ snapshot: Snapshot) {
        var writer = JSONWriter()
        self.init(
            snapshot, by: &writer, labels: { $0.writeMembers(of: snapshot.labels) },
            fields: { $0.writeMembers(of: snapshot.fields) })
    }

    /// Writes a snapshot without building its labels and fields first, which took most of the time of a table's first poll.
    /// - Parameters:
    ///   - own: the task's other properties.
    ///   - labels: writes the labels' members.
    ///   - fields: writes the fields' members.
    public init(
        _ own: Snapshot, by writer: inout JSONWriter, labels: (inout JSONWriter) -> Void, fields: (inout JSONWriter) -> Void
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
    }

    /// The snapshot. Text written here can be read; for any other text it has only the key.
    public var snapshot: Snapshot {
        (try? JSON.parse(bytes)).flatMap(Snapshot.init(json:)) ?? Snapshot(key: key)
    }
}
