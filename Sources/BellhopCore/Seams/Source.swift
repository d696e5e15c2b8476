/// Something that is watched: it reads from a system of record. Reading changes nothing there.
public protocol Source: Sendable {
    /// The name in bellhop.yaml.
    var name: String { get }
    /// What its knowledge belongs to.
    var scope: Scope { get }
    /// The fields its tasks have.
    var schema: TaskSchema { get }

    /// What is there now, cheaply: keys and fingerprints. Whole or an error, never a part.
    func list(after cursor: Cursor?) async throws(Failure) -> Answer

    /// What the comparison says must be read. Keys that are not in `listing` have left it: for these the answer says why.
    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details
}

/// Where a source that reads in windows stands; the source alone knows what it means.
public struct Cursor: Sendable, Hashable {
    public var value: JSON
    public init(_ value: JSON) { self.value = value }
}

/// What one poll was answered.
public struct Answer: Sendable {
    public var listing: Listing
    /// The fingerprint of the whole answer: the same as last time means that nothing can have changed in it.
    public var fingerprint: Fingerprint
    /// Where the next poll starts.
    public var cursor: Cursor?

    public init(listing: Listing, fingerprint: Fingerprint, cursor: Cursor? = nil) {
        self.listing = listing
        self.fingerprint = fingerprint
        self.cursor = cursor
    }
}

/// What was read of single tasks.
public struct Details: Sendable {
    public var snapshots: [TaskKey: Snapshot]
    /// Why keys that were asked for and are not in the listing have left.
    public var departures: [TaskKey: RemovalReason]
    /// Something a person should be told once: that the account may not read details, say. One sentence.
    public var notice: String?

    public init(snapshots: [TaskKey: Snapshot] = [:], departures: [TaskKey: RemovalReason] = [:], notice: String? = nil) {
        self.snapshots = snapshots
        self.departures = departures
        self.notice = notice
    }
}
