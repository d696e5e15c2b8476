public import BellhopCore
import Synchronization

/// What each source is being asked at the moment, for those who look on: a system that does not answer shows nothing else of itself.
///
/// A class over a mutex, because the loops of all sources write it and a status reads it.
final class Underway: Sendable {
    private let activities = Mutex<[String: SourceActivity]>([:])

    var all: [String: SourceActivity] { activities.withLock { $0 } }

    func begin(_ kind: SourceActivity.Kind, _ source: String, at now: Timestamp) {
        activities.withLock { $0[source] = SourceActivity(kind: kind, since: now) }
    }

    func end(_ source: String) { activities.withLock { $0[source] = nil } }
}

/// Something that a source has begun and not ended yet.
public struct SourceActivity: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// It learns what fields its tasks have; it was not polled since the start.
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
