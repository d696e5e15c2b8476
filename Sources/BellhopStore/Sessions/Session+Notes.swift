import BellhopCore

extension Session {
    func note(_ key: String) throws -> JSON? {
        var statement = try prepare(SQL.Notes.value)
        try statement.bind(":key", key)
        guard try statement.next() else { return nil }
        return try statement.json(0)
    }

    func setNote(_ key: String, to value: JSON?) throws {
        if let value {
            try run(SQL.Notes.set, (":key", key), (":value", value.encoded()))
        } else {
            try run(SQL.Notes.forget, (":key", key))
        }
    }
}

/// A time without writes: the agent did not run, or the store was restored from an older copy. Deliveries that are due soon after it may
/// have been done during it.
struct Downtime {
    let span: Range<Timestamp>
    /// How long after the downtime new deliveries may still be for events of that time.
    private static let catchingUp = Duration.seconds(3600)

    /// The time in which a delivery created at `created` may already have been done; nil if it cannot have been.
    func span(before created: Timestamp) -> Range<Timestamp>? { created <= span.upperBound + Self.catchingUp ? span : nil }
}

extension Session {
    /// The key of the note. Another restart soon after does not change the note.
    private static let downtimeKey = "downtime"
    /// A shorter time is an ordinary restart.
    private static let minDowntime = Duration.seconds(120)

    /// Stores the time since the last write in a note, if it is long. Soon after an earlier downtime both become one, because deliveries
    /// for events of the earlier one may not be done yet.
    func noteDowntime(until now: Timestamp) throws {
        var statement = try prepare(SQL.Notes.latest)
        guard try statement.next(), let latest = statement.optionalTime(0), latest + Self.minDowntime <= now else { return }
        statement.stop()
        let from = try downtime()?.span(before: latest)?.lowerBound ?? latest
        try setNote(Self.downtimeKey, to: ["from": .int(min(from, latest).microseconds), "until": .int(now.microseconds)])
    }

    /// The latest time without writes.
    func downtime() throws -> Downtime? {
        guard let note = try note(Self.downtimeKey), let from = note["from"]?.asInt, let until = note["until"]?.asInt,
            from < until
        else { return nil }
        return Downtime(span: Timestamp(microseconds: from)..<Timestamp(microseconds: until))
    }
}
