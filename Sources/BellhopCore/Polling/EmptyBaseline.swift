/// A first list that was empty: the truth or a fault. It is provisional until a second look, minutes later, finds it empty too.
public struct EmptyBaseline: Sendable, Hashable {
    /// When the list was first empty.
    public var since: Timestamp

    public init(since: Timestamp) { self.since = since }

    /// So few tasks that appear are news, however soon.
    public static let few = 5

    /// Whether another empty list at this moment makes it certain.
    public func isConfirmed(at now: Timestamp) -> Bool { now - since >= StormGuard.patience }

    /// Those of the tasks that appeared which were there all along, as far as can be told, and which the empty list hid; none where they
    /// are few. One whose record says that it was made in the second of the empty list or later is news.
    public func hidden(among tasks: [Snapshot]) -> Set<TaskKey> {
        let second = Timestamp(seconds: since.seconds)
        let old = tasks.filter { task in task.created.map { $0 < second } ?? true }
        return old.count > Self.few ? Set(old.map(\.key)) : []
    }
}

extension Snapshot {
    /// When the task was made, where a field says so.
    fileprivate var created: Timestamp? {
        for name in ["sys_created_on", "created_at", "created"] {
            if let time = fields[name]?.asString.flatMap({ Timestamp(rfc3339: $0) }) { return time }
        }
        return nil
    }
}
