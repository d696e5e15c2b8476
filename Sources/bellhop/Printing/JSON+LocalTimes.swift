import BellhopCore

extension TimeZoneTable {
    /// The local time: `08:30:05`.
    func clock(_ moment: Timestamp) -> String {
        let time = local(moment)
        return "\(time.hour.twoDigits):\(time.minute.twoDigits):\(time.second.twoDigits)"
    }

    /// The local date and time: `2026-01-05 08:30:05`.
    func dateAndClock(_ moment: Timestamp) -> String {
        let time = local(moment)
        return "\(time.year)-\(time.month.twoDigits)-\(time.day.twoDigits) \(clock(moment))"
    }
}

extension String {
    /// The text with each time in it (`2026-01-05T07:30:05.25Z`) converted to a zone.
    /// - Parameter ofAnyOffset: whether times with an offset (`2026-01-05T16:30:05+09:00`) are converted, too.
    func withLocalTimes(in zone: TimeZoneTable, ofAnyOffset: Bool = false) -> String {
        replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/) { match -> String in
            let text = String(match.output.0)
            guard ofAnyOffset || match.output.2 == "Z" else { return text }
            return Timestamp(rfc3339: text).map(zone.dateAndClock) ?? text
        }
    }
}

extension JSON {
    /// This value with each time converted to a zone, with its offset.
    func withLocalTimes(in zone: TimeZoneTable) -> JSON {
        switch self {
        case .string(let text):
            text.utf8.last == UInt8(ascii: "Z") ? .string(Timestamp(rfc3339: text)?.formatted(in: zone) ?? text) : self
        case .array(let items): .array(items.map { $0.withLocalTimes(in: zone) })
        case .object(let members): .object(JSON.Object(members.map { ($0.key, $0.value.withLocalTimes(in: zone)) }))
        case .null, .bool, .int, .double: self
        }
    }
}

extension JSON? {
    /// A value for a table's cell: times in the zone, an empty value as a dash.
    func words(in zone: TimeZoneTable) -> String {
        guard let text = self?.asString, !text.isEmpty else { return self?.asInt.map(String.init) ?? "-" }
        return Timestamp(rfc3339: text).map(zone.dateAndClock) ?? text
    }

    /// A time without the year and the seconds: `01-05 08:30`.
    func minute(in zone: TimeZoneTable) -> String {
        guard let text = self?.asString, Timestamp(rfc3339: text) != nil else { return words(in: zone) }
        return String(words(in: zone).dropFirst(5).dropLast(3))
    }
}
