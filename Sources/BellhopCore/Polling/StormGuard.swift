/// Decides whether a poll's result may be believed at once: a list that is suddenly empty, or mostly another one, is more often a
/// fault on the way than the truth.
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

    /// A list shorter than this is believed, however much of it changed.
    public var leastTasks: Int

    /// So many results in a row that are unlike what is known are the truth, even if each is a little unlike the one before: a
    /// busy source is not held for ever.
    public var mostPolls: Int

    public init(leastTasks: Int = 20, mostPolls: Int = 5) {
        self.leastTasks = leastTasks
        self.mostPolls = mostPolls
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
        isSecondReading: Bool, isBaseline: Bool
    ) -> Decision {
        guard !isBaseline, !comparison.isEmpty else { return .accept }
        let isWhole = coverage == .whole
        let listed = isWhole ? listing.entries.count : known.count + comparison.new.count
        let mostAreGone = known.count >= leastTasks && comparison.gone.count * 2 > known.count
        let mostAreNew = listed >= leastTasks && comparison.new.count * 2 > listed
        let isSuddenlyEmpty = isWhole && listed == 0 && !known.isEmpty
        guard mostAreGone || mostAreNew || isSuddenlyEmpty else { return .accept }
        let result = HeldResult(known: known.count, listing: listing, comparison: comparison, polls: (previous?.polls ?? 0) + 1)
        if result.fingerprint == previous?.fingerprint || result.polls >= mostPolls { return .accept }
        if isSuddenlyEmpty, !isSecondReading { return .readAgain }
        return mostAreGone || mostAreNew ? .hold(result) : .accept
    }
}
