/// An empty first list, which may be an error. It is provisional until a second list, minutes later, is empty too.
public struct EmptyBaseline: Sendable, Hashable {
    /// When the list was first empty.
    public var since: Timestamp

    public init(since: Timestamp) { self.since = since }

    /// Up to this many tasks that appear count as new, however soon.
    public static let few = 5

    /// Whether another empty list at this moment confirms it.
    public func isConfirmed(at now: Timestamp) -> Bool { now - since >= StormGuard.patience }

    /// The appearing tasks that probably existed before, hidden by the empty list; empty if few appeared. A task created in the
    /// second of the empty list or later is new.
    public func hidden(among tasks: [Snapshot]) -> Set<TaskKey> {
        let second = Timestamp(seconds: since.seconds)
        let old = tasks.filter { task in task.created.map { $0 < second } ?? true }
        return old.count > Self.few ? Set(old.map(\.key)) : []
    }
}

extension Snapshot {
    /// When the task was created, if a field says so.
    fileprivate var created: Timestamp? {
        for name in ["sys_created_on", "created_at", "created"] {
            if let time = fields[name]?.asString.flatMap({ Timestamp(rfc3339: $0) }) { return time }
        }
        return nil
    }
}
