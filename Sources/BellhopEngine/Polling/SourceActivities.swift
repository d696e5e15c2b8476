public import BellhopCore
import Synchronization

/// The current activity of each source. A status display shows by it which system does not answer.
///
/// A class over a mutex, because the loops of all sources write it and a status reads it.
final class SourceActivities: Sendable {
    private let activities = Mutex<[String: SourceActivity]>([:])

    var all: [String: SourceActivity] { activities.withLock { $0 } }

    func begin(_ kind: SourceActivity.Kind, _ source: String, at now: Timestamp) {
        activities.withLock { $0[source] = SourceActivity(kind: kind, since: now) }
    }

    func end(_ source: String) { activities.withLock { $0[source] = nil } }
}

/// An unfinished activity of a source.
public struct SourceActivity: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Learning the fields of its tasks; not polled since the start.
        case preparing
        case polling
    }

    public var kind: Kind
    public var since: Timestamp

    public init(kind: Kind, since: Timestamp) {
        self.kind = kind
        self.since = since
    }
}
