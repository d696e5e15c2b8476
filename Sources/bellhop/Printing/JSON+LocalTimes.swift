import BellhopCore

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
