/// Which unlisted tasks have left and which still exist, according to their own records.
public struct Departures: Sendable, Hashable {
    /// The tasks that have left, as far as is known.
    public private(set) var gone: [TaskKey] = []
    /// The tasks that stay known: they still exist, this is unknown, or a later poll looks them up.
    public private(set) var kept: [TaskKey]
    /// How many of the unlisted tasks still exist according to their records.
    public private(set) var remaining = 0
    /// True if no record confirms an empty or possibly truncated list: the account may have lost its rights, or the server its rows.
    public private(set) var isUnproved = false

    /// - Parameters:
    ///   - asked: the tasks whose records this poll requested.
    ///   - waiting: the tasks that a later poll looks up.
    ///   - isListEmpty: whether the list had no task at all. If a task still exists, the empty list is wrong, and only the
    ///     records count.
    ///   - mayBeCut: whether the list may be truncated.
    public init(
        asked: [TaskKey], waiting: [TaskKey] = [], details: Details, isListEmpty: Bool, mayBeCut: Bool = false
    ) {
        kept = waiting
        var isExplained = false
        for key in asked where details.remaining.contains(key) { remaining += 1 }
        let isListWrong = isListEmpty && remaining > 0
        for key in asked {
            let reason = details.departures[key] ?? .unknown
            if details.remaining.contains(key) || isListWrong && reason == .unknown {
                kept.append(key)
            } else {
                gone.append(key)
            }
            if reason == .closed || reason == .leftQuery { isExplained = true }
        }
        isUnproved = (isListEmpty || mayBeCut) && remaining == 0 && !isExplained && !gone.isEmpty
    }

    /// A notice about a list in which existing tasks are missing; nil if none is missing.
    /// - Parameters:
    ///   - source: the source's name.
    ///   - isListEmpty: whether the list had no task at all.
    public func notice(of source: String, isListEmpty: Bool) -> String? {
        guard remaining > 0 else { return nil }
        let tasks =
            remaining == 1 ? "the record of 1 task says that it is" : "the records of \(remaining) tasks say that they are"
        return isListEmpty
            ? "The list of source \(source) is empty, but \(tasks) still there, so this list is ignored."
            : "The list of source \(source) is not complete: \(tasks) still there. The next poll reads the whole list again."
    }
}
