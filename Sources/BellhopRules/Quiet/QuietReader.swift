public import BellhopCore
public import YAML

/// Reads the time of a `quiet`, in a rule and in bellhop.yaml.
public struct QuietReader: ProblemCollector {
    let file: String
    /// The zone of hours that have no `timezone`.
    private let zone: TimeZoneTable
    private let zones: (String) -> TimeZoneTable?
    /// Nil if the names of calendars are unknown.
    private let calendars: [String: WorkCalendar]?
    public internal(set) var problems = Diagnostics()

    public init(
        file: String, zone: TimeZoneTable, zones: @escaping (String) -> TimeZoneTable?, calendars: [String: WorkCalendar]?
    ) {
        (self.file, self.zone, self.zones, self.calendars) = (file, zone, zones, calendars)
    }

    /// Nil if it has mistakes, or names a calendar while those are unknown.
    /// - Parameter text: the value of a setting, whose type was checked.
    public mutating func time(_ node: Node, key: Node, _ text: (String) -> String?) -> QuietTime? {
        let then = text("then").flatMap(QuietTime.Then.init) ?? .hold
        if let name = text("outside"), let place = node["outside"] {
            for other in ["hours", "days", "timezone"] {
                guard let pair = node.mapping?[other] else { continue }
                return refuse(
                    "bad-combination", "`\(other)` cannot be combined with `outside`", at: pair.key,
                    help: "a quiet time has either `hours` and `days`, or `outside` with a calendar")
            }
            guard let calendars else { return nil }
            guard let calendar = calendars[name] else {
                problems.report(CalendarFunctions.unknown(name, among: calendars, at: Diagnostic.Place(place, file: file)))
                return nil
            }
            return QuietTime(.outside(calendar, name: name), then: then)
        }
        guard node["hours"] != nil || node["days"] != nil else {
            return refuse(
                "missing-key", "`quiet` has no time", at: key,
                help: "write `hours: \"22:00-07:00\"`, `days: SAT,SUN`, or `outside` and a calendar of bellhop.yaml")
        }
        guard let calendar = calendar(node, text) else { return nil }
        let time = QuietTime(.during(calendar), then: then)
        if time.neverEnds {
            return refuse(
                "always-quiet", "this quiet time never ends", at: key, help: "make the quiet time leave out some hours or days")
        }
        return time
    }

    private mutating func calendar(_ node: Node, _ text: (String) -> String?) -> WorkCalendar? {
        // A value that is not a text is reported with the other settings.
        guard ["hours", "days", "timezone"].allSatisfy({ node[$0] == nil || text($0) != nil }) else { return nil }
        var zone: TimeZoneTable? = zone
        if let name = text("timezone"), let place = node["timezone"] {
            zone = zones(name)
            if zone == nil {
                report(
                    "unknown-time-zone", "there is no time zone `\(name)`", at: place,
                    help: "write a name such as `Europe/Berlin`; the package tzdata contains the names")
            }
        }
        let days = parsed(text("days") ?? "*", node["days"]) { text throws(TimeTextError) in try HoursWindow.days(text) }
        let hours = parsed(text("hours") ?? "00:00-24:00", node["hours"]) { text throws(TimeTextError) in
            try HoursWindow.list(text, days: days ?? [])
        }
        guard let zone, days != nil, let hours else { return nil }
        return WorkCalendar(zone: zone, hours: hours)
    }

    private mutating func parsed<Value>(
        _ text: String, _ node: Node?, _ parse: (String) throws(TimeTextError) -> Value
    ) -> Value? {
        do throws(TimeTextError) {
            return try parse(text)
        } catch {
            let place = node.map {
                Diagnostic.Place($0, utf8: error.offset..<error.offset + max(error.length, 1), file: file)
            }
            problems.report(Diagnostic(code: "bad-hours", error.message, at: place, help: error.help))
            return nil
        }
    }
}
