import BellhopCore

extension Session {
    func note(_ key: String) throws -> JSON? {
        try rows(SQL.Notes.value, (":key", key)) { row in try row.json(0) }.first
    }

    func setNote(_ key: String, to value: JSON?) throws {
        if let value {
            try run(SQL.Notes.set, (":key", key), (":value", value.encoded()))
        } else {
            try run(SQL.Notes.forget, (":key", key))
        }
    }
}

/// The latest times without writes: the agent did not run, or the store was restored from an older copy. Deliveries that are due soon after
/// one may have been done during it.
struct Downtimes {
    let spans: [Range<Timestamp>]
    /// How long after a downtime new deliveries may still be for events of that time.
    private static let catchingUp = Duration.seconds(3600)

    /// The downtimes after which a delivery created at `created` may still be for events of that time.
    func open(at created: Timestamp) -> [Range<Timestamp>] { spans.filter { created <= $0.upperBound + Self.catchingUp } }

    /// The time in which a delivery created at `created` may already have been done; nil if it cannot have been.
    func span(before created: Timestamp) -> Range<Timestamp>? {
        let open = open(at: created)
        guard let first = open.map(\.lowerBound).min(), let last = open.map(\.upperBound).max() else { return nil }
        return first..<last
    }
}

extension Session {
    private static let downtimesKey = "downtimes"
    /// A shorter time is an ordinary restart.
    private static let minDowntime = Duration.seconds(120)

    /// Stores the time since the last write in a note, if it is long, beside the earlier downtimes that may still matter.
    func noteDowntime(until now: Timestamp) throws {
        var statement = try prepare(SQL.Notes.latest)
        guard try statement.next(), let latest = statement.optionalTime(0), latest + Self.minDowntime <= now else { return }
        statement.stop()
        let spans = try downtimes().open(at: latest) + [latest..<now]
        let values = spans.map { span -> JSON in
            ["from": .int(span.lowerBound.microseconds), "until": .int(span.upperBound.microseconds)]
        }
        try setNote(Self.downtimesKey, to: .array(values))
    }

    /// The latest times without writes.
    func downtimes() throws -> Downtimes {
        let values = try note(Self.downtimesKey)?.asArray ?? []
        return Downtimes(
            spans: values.compactMap { value in
                guard let from = value["from"]?.asInt, let until = value["until"]?.asInt, from < until else { return nil }
                return Timestamp(microseconds: from)..<Timestamp(microseconds: until)
            })
    }
}
