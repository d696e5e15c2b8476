/// What happened to unlisted tasks, according to their own records: which have left, and which still exist.
public struct Departures: Sendable, Hashable {
    /// Those that have left, as far as is known.
    public private(set) var gone: [TaskKey] = []
    /// Those that stay known: they exist according to their records, their state is unknown, or they are queried at the next
    /// poll.
    public private(set) var kept: [TaskKey]
    /// How many exist according to their records.
    public private(set) var remaining = 0
    /// True for an empty list that no record confirms: the account may have lost its rights, or the server its rows.
    public private(set) var isUnproved = false

    /// - Parameters:
    ///   - asked: those whose records were requested.
    ///   - waiting: those to be requested at another poll.
    ///   - isListEmpty: whether the list was empty. An empty list is wrong if one of its tasks exists; then only what records say
    ///     counts.
    public init(asked: [TaskKey], waiting: [TaskKey] = [], details: Details, isListEmpty: Bool) {
        kept = waiting
        var isAnswered = false
        for key in asked where details.remaining.contains(key) { remaining += 1 }
        let isFalse = isListEmpty && remaining > 0
        for key in asked {
            let reason = details.departures[key] ?? .unknown
            if details.remaining.contains(key) || isFalse && reason == .unknown {
                kept.append(key)
            } else {
                gone.append(key)
            }
            if reason == .closed || reason == .leftQuery { isAnswered = true }
        }
        isUnproved = isListEmpty && remaining == 0 && !isAnswered && !gone.isEmpty
    }

    /// A notice for people about an empty list that is wrong.
    /// - Parameter source: the source's name.
    public func notice(of source: String) -> String? {
        guard remaining > 0 else { return nil }
        let tasks =
            remaining == 1 ? "the record of 1 task says that it is" : "the records of \(remaining) tasks say that they are"
        return "The list of source \(source) is empty, but \(tasks) still there, so the list is ignored."
    }
}
