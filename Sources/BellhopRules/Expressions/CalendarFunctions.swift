import BellhopCore
import CEL

/// The functions of the calendars that bellhop.yaml declares.
enum CalendarFunctions {
    private static let workOfDay = 8

    /// `is_open(calendar, time)`, `working_time(calendar, from, to)` and `add_working_time(calendar, time, duration)`.
    /// - Parameter calendars: nil if their names are unknown.
    static func all(_ calendars: [String: WorkCalendar]?) -> [Function] {
        @Sendable func calendar(_ name: Value) throws(EvaluationError) -> WorkCalendar {
            guard case .string(let text) = name else {
                throw EvaluationError(.nullOperand, "the name of a calendar must not be null")
            }
            guard let calendar = calendars?[text] else { throw EvaluationError(.host, "there is no calendar `\(text)`") }
            return calendar
        }
        let known: Overload.ArgumentCheck = { arguments in
            guard case .string(let name)?? = arguments.first, let calendars, calendars[name] == nil else { return nil }
            return Overload.ArgumentProblem("there is no calendar `\(name)`", help: help(for: name, among: calendars))
        }
        return [
            Function(
                "is_open",
                Overload(
                    [.string, .timestamp], .bool, check: known,
                    .binary { run, name, time throws(EvaluationError) in
                        try run.spend(3 * workOfDay)
                        return .bool(try calendar(name).isOpen(at: try moment(time)))
                    })),
            Function(
                "working_time",
                Overload(
                    [.string, .timestamp, .timestamp], .duration, check: known,
                    .any { run, arguments throws(EvaluationError) in
                        let calendar = try calendar(arguments[0])
                        let (start, end) = (try moment(arguments[1]), try moment(arguments[2]))
                        try run.spend((abs(calendar.days(from: start, to: end)) + 2) * workOfDay)
                        return .duration(calendar.workingTime(from: start, to: end))
                    })),
            Function(
                "add_working_time",
                Overload(
                    [.string, .timestamp, .duration], .timestamp, check: known,
                    .any { run, arguments throws(EvaluationError) in
                        let calendar = try calendar(arguments[0])
                        let start = try moment(arguments[1])
                        guard case .duration(let time) = arguments[2] else {
                            throw EvaluationError(.nullOperand, "add_working_time() needs a duration, not null")
                        }
                        guard time >= .zero else {
                            throw EvaluationError(.host, "add_working_time() needs a duration that is not negative")
                        }
                        let end = calendar.adding(time, to: start)
                        try run.spend(
                            (end.map { abs(calendar.days(from: start, to: $0)) } ?? WorkCalendar.reach) * workOfDay)
                        // No time of an expression is later than the year 9999.
                        guard let end, case let value = Value(end), value != .null else {
                            throw EvaluationError(.host, "the working time does not end within ten years")
                        }
                        return value
                    })),
        ]
    }

    /// The problem of a setting that names an unknown calendar.
    static func unknown(
        _ name: String, among calendars: [String: WorkCalendar], at place: Diagnostic.Place
    ) -> Diagnostic {
        Diagnostic(
            code: "unknown-calendar", "there is no calendar `\(name)`", at: place, help: help(for: name, among: calendars))
    }

    /// A suggestion for an unknown calendar name.
    private static func help(for name: String, among calendars: [String: WorkCalendar]) -> String {
        let names = calendars.keys.sorted()
        return Suggestion.didYouMean(name, among: names)
            ?? (names.isEmpty
                ? "declare it under `calendars` in bellhop.yaml" : "use \(names.alternatives)")
    }

    private static func moment(_ time: Value) throws(EvaluationError) -> Timestamp {
        guard case .timestamp(let moment) = time else { throw EvaluationError(.nullOperand, "a calendar needs a time, not null") }
        return Timestamp(moment)
    }
}
