public import BellhopCore
import Foundation

/// The zone with this name in the machine's time zone database.
func zone(_ name: String) throws -> TimeZoneTable {
    let bytes = try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/\(name)"))
    return try TimeZoneTable(name: name, tzif: Array(bytes))
}

extension Timestamp: ExpressibleByStringLiteral {
    /// A moment in RFC 3339, with or without seconds: `2026-01-05T09:00Z`. Any other text becomes ``distantPast``.
    public init(stringLiteral text: String) {
        self = Timestamp(rfc3339: text) ?? Timestamp(rfc3339: text.prefix(16) + ":00" + text.dropFirst(16)) ?? .distantPast
    }
}

extension CivilDateTime: ExpressibleByStringLiteral {
    /// A date and time as `2026-01-05 09:00`.
    public init(stringLiteral text: String) { self = (Timestamp(sql: text + ":00") ?? .distantPast).utc }
}

extension CronSchedule {
    /// The moments from one to another, inclusive, at which the schedule is due, the earliest first, up to a limit.
    func occurrences(from start: Timestamp, through end: Timestamp, limit: Int, in zone: TimeZoneTable) -> [Timestamp] {
        var found: [Timestamp] = []
        var moment = start - .microseconds(1)
        while found.count < limit, let next = next(after: moment, in: zone), next <= end, next > moment {
            found.append(next)
            moment = next
        }
        return found
    }
}
