/// A snapshot as the JSON text that the store keeps of it.
///
/// What is read of a task is written once, where it was read, and from then on handed about as this: of the many tasks that a first
/// poll reads nobody asks what they say, and to tell whether a task is as it was its text does.
public struct SnapshotText: Sendable, Hashable {
    public let key: TaskKey
    public let bytes: [UInt8]
    /// False for a task of which only what the listing itself says could be read: it has no class.
    public let isRead: Bool
    /// Of everything the snapshot says. Declared fields stand in the order of their declaration: where that changes, tasks that are read
    /// again are kept again, and nothing is told of them.
    public let fingerprint: Fingerprint

    public init(_ snapshot: Snapshot) {
        var writer = JSONWriter()
        self.init(
            snapshot, by: &writer, labels: { $0.writeMembers(of: snapshot.labels) },
            fields: { $0.writeMembers(of: snapshot.fields) })
    }

    /// Writes a snapshot whose labels and fields are not made before: of a table's first sync making them was most of the work.
    /// - Parameters:
    ///   - own: what the task says beside them.
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

    /// What it says. What was written here can be read; of anything else there is no more than its key.
    public var snapshot: Snapshot {
        (try? JSON.parse(bytes)).flatMap(Snapshot.init(json:)) ?? Snapshot(key: key)
    }
}
