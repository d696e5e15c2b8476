/// Reads from a system of record, without changing anything there.
public protocol Source: Sendable {
    /// The name in bellhop.yaml.
    var name: String { get }
    /// The scope of its stored state.
    var scope: Scope { get }
    /// The user whose tasks these are; nil if unknown.
    var user: String? { get }
    var schema: TaskSchema { get }
    /// How the configuration defines each field: if that changes, so may the field's values, without a change of the tasks.
    var definitions: [String: String] { get }
    /// True if a task can change without its listing showing it, so that old details are read again.
    var hidesChanges: Bool { get }
    var shows: RecordKind { get }
    /// The name of its connection as a receiver of deliveries. A rest that the connection asks for applies to polls and deliveries.
    var receiver: String { get }
    /// How many tasks that are no longer listed one poll can look up. The others count as present until a later poll.
    var maxDepartures: Int { get }

    /// Reads the schema and the user from the system, before rules are checked against them, and stores them for use offline.
    ///
    /// Never fails: facts that cannot be read stay as they were.
    /// - Parameter offline: true to use only stored facts.
    func prepare(offline: Bool) async

    /// The keys and fingerprints of the current records, without their details. The answer says how much of the source it covers.
    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer

    /// Reads the details that the comparison requires. Keys not in `listing` have left it: the result says why.
    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details
}

extension Source {
    public var user: String? { scope.user.isEmpty ? nil : scope.user }
    public var definitions: [String: String] { schema.definitions }
    public var hidesChanges: Bool { true }
    public func prepare(offline: Bool) async {}
    public var shows: RecordKind { .tasks }
    public var receiver: String { "source/\(name)" }
    public var maxDepartures: Int { .max }
}

/// The kind of records that a source has.
public enum RecordKind: Sendable, Hashable {
    /// Tasks, which come, change and leave.
    case tasks
    /// One page, whose text changes.
    case page
    /// Declared events, which others send.
    case events
}

/// The position of a source that reads in windows; only the source interprets it.
public struct Cursor: Sendable, Hashable {
    public var value: JSON
    public init(_ value: JSON) { self.value = value }
}

/// The results of the last stored poll of a source.
public struct LastPoll: Sendable {
    public var cursor: Cursor?
    /// The fingerprint of the last answer: an answer with the same fingerprint is not scanned. Nil if the next must be scanned.
    public var answer: Fingerprint?
    /// The tasks that were present.
    public var known: KnownTasks

    public init(cursor: Cursor? = nil, answer: Fingerprint? = nil, known: KnownTasks = KnownTasks()) {
        (self.cursor, self.answer, self.known) = (cursor, answer, known)
    }
}

/// The answer to one poll.
public struct Answer: Sendable {
    /// How much a listing covers.
    public enum Coverage: Sendable, Hashable {
        /// Everything: a known task that is not in it has left.
        case whole
        /// New and changed tasks, and perhaps others: a task that is missing has not necessarily left.
        case part
        /// Same as the last answer; it was not scanned, and the listing is empty.
        case same
    }

    public var listing: Listing
    public var coverage: Coverage
    /// The fingerprint of the whole answer: if it is the same as last time, nothing has changed. Zero for an answer without one.
    public var fingerprint: Fingerprint
    /// Where the next poll starts.
    public var cursor: Cursor?
    /// Where the next poll starts if this listing proves to be incomplete, because a known task that it lacks still exists; nil if the
    /// next poll reads everything anyway.
    public var cursorIfIncomplete: Cursor?
    /// Whether the listing may be truncated: a task that it lacks has left only if it is still missing minutes later.
    public var mayBeCut = false
    /// New comments, oldest first; those of unknown tasks too.
    public var comments: [TaskComment]
    /// The account's name, if only the system knows it; empty if it does not tell. Nil if it is the scope's user.
    public var user: String?
    /// How much older than the poll its content may be.
    public var lag: Duration
    /// Notices for people, each reported once.
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

/// The details of single tasks.
public struct Details: Sendable {
    public var snapshots: Snapshots
    /// Why requested keys that are not in the listing have left.
    public var departures: [TaskKey: RemovalReason]
    /// Keys that are missing in the listing but have not left: the listing skipped them.
    public var remaining: Set<TaskKey>
    /// A notice for people, reported once, such as that the account may not read details. One sentence.
    public var notice: String?

    public init(
        snapshots: Snapshots = Snapshots(), departures: [TaskKey: RemovalReason] = [:], remaining: Set<TaskKey> = [],
        notice: String? = nil
    ) {
        (self.snapshots, self.departures, self.remaining, self.notice) = (snapshots, departures, remaining, notice)
    }
}
