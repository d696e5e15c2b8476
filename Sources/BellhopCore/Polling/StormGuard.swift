/// Decides whether to accept a poll's result at once: a list that is suddenly empty or mostly different, or a change of very many
/// tasks in the same fields, is more often an error than the truth.
public struct StormGuard: Sendable, Hashable {
    public enum Ruling: Sendable, Hashable {
        case accept
        /// The result is held back until the next poll shows the same; store this.
        case hold(HeldResult)
        /// The list is suddenly empty: read it again at once, and decide on that.
        case readAgain
    }

    /// False if nothing is held back (`storm: off`). A suddenly empty list is still read again.
    public var mayHold: Bool

    /// The least size of a list that can be held: a shorter list is always accepted.
    let minTasks = 20

    /// Of this many doubtful results in a row the last is accepted, even if all of them differ: a busy source must not be held forever.
    let maxPolls = 5

    /// How many tasks may change in the same fields at once: about the most that a person changes by hand.
    public let maxAlike = 100

    /// How long to wait before a second poll can confirm a doubtful result: most errors are over by then.
    public static let confirmationDelay = Duration.seconds(300)

    public init(mayHold: Bool = true) { self.mayHold = mayHold }

    /// Decides on a comparison of the known tasks with `listing`.
    ///
    /// A result is held if more than half of the known tasks are gone, or more than half of the listed ones are new, out of at
    /// least ``minTasks``; for a partial listing, if more than half of the resulting tasks are new. It is accepted if the
    /// previous poll was held with the same result, or if it is the last of ``maxPolls`` in a row.
    /// - Parameters:
    ///   - previous: the previous poll's held result, if any.
    ///   - isSecondList: whether this is the list that was read again at once.
    ///   - coverage: how much the listing covers.
    ///   - isBaseline: whether this is the source's first poll, which has nothing to compare with.
    public func decide(
        known: KnownTasks, listing: Listing, coverage: Answer.Coverage = .whole, comparison: Comparison, previous: HeldResult?,
        isSecondList: Bool, isBaseline: Bool, at now: Timestamp
    ) -> Ruling {
        guard !isBaseline, !comparison.isEmpty else { return .accept }
        let isWhole = coverage == .whole
        let listed = isWhole ? listing.entries.count : known.count + comparison.new.count
        let mostAreGone = areMost(comparison.gone.count, of: known.count)
        let mostAreNew = areMost(comparison.new.count, of: listed)
        let isSuddenlyEmpty = isWhole && listed == 0 && !known.isEmpty
        guard mostAreGone || mostAreNew || isSuddenlyEmpty else { return .accept }
        let result = HeldResult(known: known.count, listing: listing, comparison: comparison, after: previous, at: now)
        if result.fingerprint == previous?.fingerprint || result.polls >= maxPolls { return .accept }
        if isSuddenlyEmpty, !isSecondList { return .readAgain }
        return mayHold && (mostAreGone || mostAreNew) ? .hold(result) : .accept
    }

    /// Decides on the content of an accepted list, once the tasks were read.
    ///
    /// An unproved empty list is held until another empty one follows at least ``confirmationDelay`` later. Changes of more than
    /// ``maxAlike`` tasks in the same fields are held until the next poll shows at least as many in the same fields, or is the
    /// last of ``maxPolls`` in a row.
    /// - Parameter result: the result to hold, if the decision is to hold it.
    public func decide(
        _ departures: Departures, _ alike: AlikeChanges?, previous: HeldResult?, at now: Timestamp,
        result: @autoclosure () -> HeldResult
    ) -> Ruling {
        guard mayHold else { return .accept }
        if departures.isUnproved {
            let result = result()
            if now - result.since < Self.confirmationDelay { return .hold(result) }
        }
        guard let alike, alike.tasks > maxAlike, (previous?.polls ?? 0) + 1 < maxPolls else { return .accept }
        if let previous, previous.fields == alike.fields, alike.tasks >= previous.changed { return .accept }
        var result = result()
        result.fields = alike.fields
        result.changed = alike.tasks
        return .hold(result)
    }

    /// The result that stays held although its list was accepted, because most existing tasks are missing from it; otherwise nil.
    /// - Parameter listed: how many tasks the list had.
    public func stillHeld(of departures: Departures, listed: Int, previous: HeldResult?, at now: Timestamp) -> HeldResult? {
        let known = listed + departures.kept.count
        guard mayHold, areMost(departures.kept.count, of: known) else { return nil }
        var held = HeldResult(known: known, listed: listed, new: [], gone: departures.kept, after: previous, at: now)
        held.polls = previous?.polls ?? 1
        return held
    }

    private func areMost(_ count: Int, of all: Int) -> Bool { all >= minTasks && count * 2 > all }
}

/// The largest group of tasks that one poll shows changed in the same fields.
public struct AlikeChanges: Sendable, Hashable {
    /// The fields, sorted.
    public var fields: [String]
    /// How many tasks changed in exactly these fields.
    public var tasks: Int

    public init(fields: [String], tasks: Int) { (self.fields, self.tasks) = (fields, tasks) }

    /// The largest group among these changes; nil if there are none.
    public init?(_ events: [Event]) {
        var counts: [[String]: Int] = [:]
        for event in events where event.type == .taskChanged {
            guard let changes = event.changes else { continue }
            counts[changes.map(\.key).sorted(), default: 0] += 1
        }
        guard let most = counts.max(by: { ($0.value, $1.key.count) < ($1.value, $0.key.count) }) else { return nil }
        self.init(fields: most.key, tasks: most.value)
    }
}

/// An empty first list, which may be an error. It is provisional until a second list, minutes later, is empty too.
public struct EmptyBaseline: Sendable, Hashable {
    /// When the list was first empty.
    public var since: Timestamp

    public init(since: Timestamp) { self.since = since }

    /// Up to this many appearing tasks count as new, even if they appear at once.
    public static let few = 5

    /// Whether another empty list at this moment confirms it.
    public func isConfirmed(at now: Timestamp) -> Bool { now - since >= StormGuard.confirmationDelay }

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
