import BellhopCore

/// The scripts allowed as values of a query, as far as they are simulated: `javascript:gs.daysAgoStart(0)`.
///
/// Times relative to now are in the user's time zone, as on the real server.
struct QueryScript: Sendable {
    var user: SimulatedUser
    /// Microseconds since 1970 UTC.
    var now: Int64

    /// The ids of two options that every instance has.
    private static let me = "90d1921e5f510100a9ad2572f2b477fe"
    private static let myGroups = "d6435e965f510100a9ad2572f2b47744"

    /// The values that a dynamic filter option stands for.
    func members(of option: String) throws(QueryProblem) -> Set<String> {
        switch option {
        case Self.me: [user.id]
        case Self.myGroups: user.groups
        default: throw QueryProblem(message: "no dynamic filter option '\(option)'")
        }
    }

    /// The value to compare: a script's result, or the text itself.
    func value(of text: String) throws(QueryProblem) -> String {
        guard text.hasPrefix("javascript:") else { return text }
        switch text {
        case "javascript:gs.getUserID()": return user.id
        case "javascript:gs.getUserName()": return user.userName
        default: break
        }
        guard let time = moment(String(text.dropFirst("javascript:gs.".count))) else {
            throw QueryProblem(message: "the script in '\(text)' is not simulated")
        }
        return CivilTime.text(time)
    }

    /// `daysAgoStart(3)`, `monthsAgoEnd(1)`, `hoursAgo(4)`, `dateGenerate('2026-01-05','start')`; nil for anything else.
    private func moment(_ call: String) -> Int64? {
        guard let open = call.firstIndex(of: "("), call.last == ")" else { return nil }
        let name = call[..<open]
        let arguments = call[call.index(after: open)...].dropLast().split(separator: ",").map {
            $0.filter { $0 != "'" && $0 != " " }
        }
        let zone = Int64(user.utcOffset) * CivilTime.minute
        if name == "dateGenerate", arguments.count == 2 {
            let time = ["start": "00:00:00", "end": "23:59:59"][arguments[1]] ?? arguments[1]
            return CivilTime.read("\(arguments[0]) \(time)").map { $0 - zone }
        }
        guard let count = arguments.first.flatMap({ Int64($0) }), arguments.count == 1 else { return nil }
        for unit in Unit.allCases where name.hasPrefix(unit.rawValue + "Ago") {
            switch name.dropFirst(unit.rawValue.count + 3) {
            case "": return unit.before(now + zone, count) - zone
            case "Start": return unit.start(unit.before(now + zone, count)) - zone
            case "End": return unit.start(unit.before(now + zone, count - 1)) - CivilTime.second - zone
            default: return nil
            }
        }
        return nil
    }

    private enum Unit: String, CaseIterable {
        case minutes, hours, days, months, quarters, years

        /// The time this many units earlier, by the clock and calendar.
        func before(_ time: Int64, _ count: Int64) -> Int64 {
            switch self {
            case .minutes: return time - count * CivilTime.minute
            case .hours: return time - count * CivilTime.hour
            case .days: return time - count * CivilTime.day
            case .months: return Self.earlier(than: time, count)
            case .quarters: return Self.earlier(than: time, 3 * count)
            case .years: return Self.earlier(than: time, 12 * count)
            }
        }

        /// The first moment of the unit that a time is in.
        func start(_ time: Int64) -> Int64 {
            let at = CivilTime.utc(time)
            return switch self {
            case .minutes: time - Int64(at.second) * CivilTime.second
            case .hours: CivilTime.micros(year: at.year, month: at.month, day: at.day, hour: at.hour)
            case .days: CivilTime.micros(year: at.year, month: at.month, day: at.day)
            case .months: CivilTime.micros(year: at.year, month: at.month, day: 1)
            case .quarters: CivilTime.micros(year: at.year, month: (at.month - 1) / 3 * 3 + 1, day: 1)
            case .years: CivilTime.micros(year: at.year, month: 1, day: 1)
            }
        }

        /// The same day and time some months earlier, or that month's last day if it is shorter.
        private static func earlier(than time: Int64, _ count: Int64) -> Int64 {
            let at = CivilTime.utc(time)
            let months = at.year * 12 + at.month - 1 - Int(count)
            let (year, month) = (months / 12, months % 12 + 1)
            let day = min(at.day, CivilDate.days(inMonth: month, of: year))
            return CivilTime.micros(year: year, month: month, day: day) + Int64(at.secondOfDay) * CivilTime.second
        }
    }
}
