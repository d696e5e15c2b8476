/// An empty first list, which may be an error. It is provisional until a second list, minutes later, is empty too.
public struct EmptyBaseline: Sendable, Hashable {
    /// When the list was first empty.
    public var since: Timestamp

    public init(since: Timestamp) { self.since = since }

    /// Up to this many appearing tasks count as new, even if they appear at once.
    public static let few = 5

    /// Whether another empty list at this moment confirms it.
    public func isConfirmed(at now: Timestamp) -> Bool { now - since >= StormGuard.patience }

    /// The appearing tasks that probably existed before, hidden by the empty list; empty if few appeared. A task created in the
    /// second of the empty list or later is new.
    /// - Parameter created: the field that says when a task was created, if there is one.
    public func hidden(among tasks: [Snapshot], created: String?) -> Set<TaskKey> {
        let second = Timestamp(seconds: since.seconds)
        let old = tasks.filter { task in
            created.flatMap { task.fields[$0]?.asString }.flatMap { Timestamp(rfc3339: $0) }.map { $0 < second } ?? true
        }
        return old.count > Self.few ? Set(old.map(\.key)) : []
    }
}
