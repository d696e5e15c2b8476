/// Something that is watched: it reads from a system of record. Reading changes nothing there.
public protocol Source: Sendable {
    /// The name in bellhop.yaml.
    var name: String { get }
    /// What its knowledge belongs to.
    var scope: Scope { get }
    /// The fields its tasks have.
    var schema: TaskSchema { get }
    /// True where a task can change without its listing showing it, so that details are read again when they are old.
    var hidesChanges: Bool { get }
    /// What its records are.
    var shows: Shown { get }
    /// The connection that it reads from, as deliveries call it: what it asks of one, a rest, holds for both.
    var receiver: String { get }
    /// How many tasks that are not listed any more can be asked for in one poll. The others count as there until a later one.
    var mostDepartures: Int { get }

    /// Learns what can be learnt about the schema before rules are checked against it, and remembers it for when nobody can be asked.
    ///
    /// Never fails: what cannot be learnt is as it was before.
    /// - Parameter offline: true when only what is remembered counts.
    func prepare(offline: Bool) async

    /// What is there now, cheaply: keys and fingerprints. As much as it says it covers, or an error.
    func list(from standing: Standing) async throws(Failure) -> Answer

    /// What the comparison says must be read. Keys that are not in `listing` have left it: for these the answer says why.
    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details
}

extension Source {
    public var hidesChanges: Bool { true }
    public func prepare(offline: Bool) async {}
    public var shows: Shown { .tasks }
    public var receiver: String { "source/\(name)" }
    public var mostDepartures: Int { .max }
}

/// What the records of a source are.
public enum Shown: Sendable, Hashable {
    /// Tasks, which come, change and leave.
    case tasks
    /// One page, whose text changes.
    case page
}

/// Where a source that reads in windows stands; the source alone knows what it means.
public struct Cursor: Sendable, Hashable {
    public var value: JSON
    public init(_ value: JSON) { self.value = value }
}

/// Where a source stands after its last poll that was kept.
public struct Standing: Sendable {
    public var cursor: Cursor?
    /// Of the last answer: one with the same fingerprint need not be scanned. Nil when the next one must be, whatever it says.
    public var answer: Fingerprint?
    /// The tasks that were there.
    public var known: KnownTasks

    public init(cursor: Cursor? = nil, answer: Fingerprint? = nil, known: KnownTasks = KnownTasks()) {
        self.cursor = cursor
        self.answer = answer
        self.known = known
    }
}

/// What one poll was answered.
public struct Answer: Sendable {
    /// How much of the truth a listing holds.
    public enum Coverage: Sendable, Hashable {
        /// All there is: a known task that is not in it has left.
        case whole
        /// What is new or has changed, and perhaps more: nothing has left because of it.
        case part
        /// The same as the last answer; it was not scanned, and the listing is empty.
        case same
    }

    public var listing: Listing
    public var coverage: Coverage
    /// The fingerprint of the whole answer: the same as last time means that nothing can have changed in it.
    public var fingerprint: Fingerprint
    /// Where the next poll starts.
    public var cursor: Cursor?
    /// What was added to the journals of tasks, oldest first; of tasks that nobody knows too.
    public var comments: [TaskComment]
    /// By how much what it shows may be older than the poll.
    public var lag: Duration
    /// What a person should be told, each once.
    public var notices: [String]

    public init(
        listing: Listing, coverage: Coverage = .whole, fingerprint: Fingerprint, cursor: Cursor? = nil,
        comments: [TaskComment] = [], lag: Duration = .zero, notices: [String] = []
    ) {
        self.listing = listing
        self.coverage = coverage
        self.fingerprint = fingerprint
        self.cursor = cursor
        self.comments = comments
        self.lag = lag
        self.notices = notices
    }
}

/// What was read of single tasks.
public struct Details: Sendable {
    public var snapshots: Snapshots
    /// Why keys that were asked for and are not in the listing have left.
    public var departures: [TaskKey: RemovalReason]
    /// Keys that are not in the listing and have not left all the same: the listing passed over them.
    public var remaining: Set<TaskKey>
    /// Something a person should be told once: that the account may not read details, say. One sentence.
    public var notice: String?

    public init(
        snapshots: Snapshots = Snapshots(), departures: [TaskKey: RemovalReason] = [:], remaining: Set<TaskKey> = [],
        notice: String? = nil
    ) {
        self.snapshots = snapshots
        self.departures = departures
        self.remaining = remaining
        self.notice = notice
    }
}
