extension TimeZoneTable {
    /// The local time: `08:30:05`.
    public func clock(_ moment: Timestamp) -> String {
        let time = local(moment)
        return "\(time.hour.twoDigits):\(time.minute.twoDigits):\(time.second.twoDigits)"
    }

    /// The local date and time: `2026-01-05 08:30:05`.
    public func dateAndClock(_ moment: Timestamp) -> String {
        let time = local(moment)
        return "\(time.year)-\(time.month.twoDigits)-\(time.day.twoDigits) \(clock(moment))"
    }
}

extension Timestamp {
    /// Parses an RFC 3339 time, or one without an offset: the local time in a zone, such as `2026-12-24 18:00`. Of a time that comes twice
    /// it is the first moment; of one that is skipped, the moment after the gap.
    public init?(_ text: String, in zone: TimeZoneTable) {
        let text = text.replacing(" ", with: "T", maxReplacements: 1)
        if let moment = Timestamp(rfc3339: text) {
            self = moment
        } else if let local = Timestamp(rfc3339: text + "Z") ?? Timestamp(rfc3339: text + ":00Z") {
            self = zone.resolve(local.utc).earliest
        } else {
            return nil
        }
    }
}

extension String {
    /// The text with each time in it (`2026-01-05T07:30:05.25Z`) converted to a zone.
    /// - Parameter ofAnyOffset: whether times with an offset (`2026-01-05T16:30:05+09:00`) are converted, too.
    public func withLocalTimes(in zone: TimeZoneTable, ofAnyOffset: Bool = false) -> String {
        replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/) { match -> String in
            let text = String(match.output.0)
            guard ofAnyOffset || match.output.2 == "Z" else { return text }
            return Timestamp(rfc3339: text).map(zone.dateAndClock) ?? text
        }
    }
}
