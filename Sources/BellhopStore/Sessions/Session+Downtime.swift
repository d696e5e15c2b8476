import BellhopCore

/// A time in which nothing was written down: the agent did not run, or the store was put back from a copy and what happened since is not
/// in it. What is due first after it may have been done in it.
struct Downtime {
    let span: Range<Timestamp>
    /// What is made so long after it may come from what is caught up on.
    private static let catchingUp = Duration.seconds(3600)

    /// The time in which a delivery that was made then may have been done before; nil where it cannot have been.
    func span(before created: Timestamp) -> Range<Timestamp>? { created <= span.upperBound + Self.catchingUp ? span : nil }
}

extension Session {
    /// In a note, so that another restart soon after loses nothing of it.
    private static let downtimeKey = "downtime"
    /// A shorter time is an ordinary restart.
    private static let leastDowntime = Duration.seconds(120)

    /// Notes the time since something was last written down, where it is long.
    func noteDowntime(until now: Timestamp) throws {
        var statement = try prepare(SQL.Notes.latest)
        guard try statement.next(), let latest = statement.optionalTime(0), latest + Self.leastDowntime <= now else { return }
        statement.stop()
        try setNote(Self.downtimeKey, to: ["from": .int(latest.microseconds), "until": .int(now.microseconds)])
    }

    /// The latest time in which nothing was written down.
    func downtime() throws -> Downtime? {
        guard let note = try note(Self.downtimeKey), let from = note["from"]?.asInt, let until = note["until"]?.asInt,
            from < until
        else { return nil }
        return Downtime(span: Timestamp(microseconds: from)..<Timestamp(microseconds: until))
    }
}
