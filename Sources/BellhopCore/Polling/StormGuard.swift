/// Decides whether a poll's result may be believed at once: a list that is suddenly empty, or mostly another one, and a change of very
/// many tasks in the same fields, are more often a fault on the way than the truth.
public struct StormGuard: Sendable, Hashable {
    /// What to do with a result.
    public enum Decision: Sendable, Hashable {
        /// It is what happened.
        case accept
        /// It is kept back until the next poll shows the same; remember this.
        case hold(HeldResult)
        /// The list is suddenly empty: read it again at once, and decide on that.
        case readAgain
    }

    /// False where nothing is held back (`storm: off`). A list that is suddenly empty is read again all the same.
    public var mayHold: Bool

    /// A list shorter than this is believed, however much of it changed.
    public var leastTasks: Int

    /// So many results in a row that are unlike what is known are the truth, even if each is a little unlike the one before: a
    /// busy source is not held for ever.
    public var mostPolls: Int

    /// So many tasks may change in the same fields at once: as many as the longest page of a list in ServiceNow has, so as many as a person
    /// changes by hand.
    public var mostAlike: Int

    /// When a second look at what may be false counts: a fault is mostly over by then.
    public static let patience = Duration.seconds(300)

    public init(mayHold: Bool = true, leastTasks: Int = 20, mostPolls: Int = 5, mostAlike: Int = 100) {
        self.mayHold = mayHold
        self.leastTasks = leastTasks
        self.mostPolls = mostPolls
        self.mostAlike = mostAlike
    }

    /// Decides on a comparison of what is known with `listing`.
    ///
    /// A result is held when more than half of the known tasks are gone, or more than half of the listed ones are new, where these
    /// are at least ``leastTasks``; of a part, when more than half of what would be known then is new. It is accepted when the poll before was held with the very same result, and when it is
    /// the last of ``mostPolls`` in a row.
    /// - Parameters:
    ///   - previous: What the poll before was held with, if it was.
    ///   - isSecondReading: Whether this is the list that was read again at once.
    ///   - coverage: How much of the truth the listing holds.
    ///   - isBaseline: Whether this is the source's first poll, which has nothing to be unlike.
    public func decide(
        known: KnownTasks, listing: Listing, coverage: Answer.Coverage = .whole, comparison: Comparison, previous: HeldResult?,
        isSecondReading: Bool, isBaseline: Bool, at now: Timestamp
    ) -> Decision {
        guard !isBaseline, !comparison.isEmpty else { return .accept }
        let isWhole = coverage == .whole
        let listed = isWhole ? listing.entries.count : known.count + comparison.new.count
        let mostAreGone = areMost(comparison.gone.count, of: known.count)
        let mostAreNew = areMost(comparison.new.count, of: listed)
        let isSuddenlyEmpty = isWhole && listed == 0 && !known.isEmpty
        guard mostAreGone || mostAreNew || isSuddenlyEmpty else { return .accept }
        let result = HeldResult(known: known.count, listing: listing, comparison: comparison, after: previous, at: now)
        if result.fingerprint == previous?.fingerprint || result.polls >= mostPolls { return .accept }
        if isSuddenlyEmpty, !isSecondReading { return .readAgain }
        return mayHold && (mostAreGone || mostAreNew) ? .hold(result) : .accept
    }

    /// Decides on what an accepted list means, once the tasks were read.
    ///
    /// An empty list that nothing proves is held until one is empty that came ``patience`` later. Changes of more than ``mostAlike`` tasks
    /// in the same fields are held until the next poll shows at least as many in the same fields, or is the last of ``mostPolls`` in a row.
    /// - Parameter result: What would be held.
    public func decide(
        _ departures: Departures, _ alike: AlikeChanges?, previous: HeldResult?, at now: Timestamp,
        result: @autoclosure () -> HeldResult
    ) -> Decision {
        guard mayHold else { return .accept }
        if departures.isUnproved {
            let result = result()
            if now - result.since < Self.patience { return .hold(result) }
        }
        guard let alike, alike.tasks > mostAlike, (previous?.polls ?? 0) + 1 < mostPolls else { return .accept }
        if let previous, previous.fields == alike.fields, alike.tasks >= previous.changed { return .accept }
        var result = result()
        result.fields = alike.fields
        result.changed = alike.tasks
        return .hold(result)
    }

    /// What stays held of an accepted list that lacks tasks which are kept all the same; nil where these are few.
    /// - Parameter listed: How many tasks the list had.
    public func stillHeld(of departures: Departures, listed: Int, previous: HeldResult?, at now: Timestamp) -> HeldResult? {
        let known = listed + departures.kept.count
        guard mayHold, areMost(departures.kept.count, of: known) else { return nil }
        var held = HeldResult(known: known, listed: listed, new: [], gone: departures.kept, after: previous, at: now)
        held.polls = previous?.polls ?? 1
        return held
    }

    private func areMost(_ count: Int, of all: Int) -> Bool { all >= leastTasks && count * 2 > all }
}
