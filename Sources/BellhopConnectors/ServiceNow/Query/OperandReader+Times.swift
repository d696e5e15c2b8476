import BellhopCore

/// The operators for times: distance from another time, part of the calendar, and distance from now.
extension OperandReader {
    /// The units in which the server measures the distance of two times.
    static let spans = [
        "hours": "hour", "days": "day", "weeks": "week", "months": "month", "quarters": "quarter", "years": "year",
    ]

    /// The comparisons with a time that the server computes, and their codes.
    static let comparisons = ["on": "EE", "before": "LT", "at_or_before": "LE", "after": "GT", "at_or_after": "GE"]

    /// `{days: 3, after: opened_at}`: `MORETHANopened_at@day@after@3`.
    mutating func distance(_ json: JSON, _ path: Path) -> Condition? {
        let sides = ["after": "after", "before": "before", "from": "before or after"]
        let advice = "as in `\(how.rawValue): {days: 3, after: opened_at}`"
        guard let members = json.asObject, members.count == 2,
            let unit = members.keys.first(where: { Self.spans[$0] != nil }), let span = Self.spans[unit],
            let word = members.keys.first(where: { sides[$0] != nil }), let side = sides[word]
        else { return refuse("`\(how.rawValue)` takes a number of \(Self.listed(Self.spans)), and a field", path, help: advice) }
        guard case .int(let count)? = members[unit], (0...100_000).contains(count) else {
            return refuse("`\(unit)` is a number from 0 to 100000", path + [.key(unit)])
        }
        guard let other = members[word]?.asString, EncodedQuery.isField(other) else {
            return refuse("this is not a field name", path + [.key(word)], help: advice)
        }
        return Condition(field, how.encoded, "\(other)@\(span)@\(side)@\(count)")
    }

    /// `{field: due_date, by: day}`: the same day.
    mutating func same(_ members: JSON.Object, _ path: Path) -> Condition? {
        guard let by = members["by"]?.asString, Self.spans.values.contains(by), members.count == 2 else {
            return refuse(
                "`by` is `hour`, `day`, `week`, `month`, `quarter` or `year`", path + [.key("by")],
                help: "as in `\(how.rawValue): {field: due_date, by: day}`")
        }
        guard let other = members["field"]?.asString, EncodedQuery.isField(other) else {
            return refuse("this is not a field name", path + [.key("field")])
        }
        return Condition(field, how.encoded, "\(other)@\(by)")
    }

    /// `{weekday: monday}`, or `{month: {at_or_after: june}}`: `DATEPARTMonday@javascript:gs.datePart('dayofweek','monday','EE')`.
    mutating func part(_ json: JSON, _ path: Path) -> Condition? {
        guard let members = json.asObject, members.count == 1, let name = members.keys.first,
            let part = DatePart(rawValue: name), let written = members[name]
        else {
            let names = DatePart.allCases.map(\.rawValue).quotedList
            return refuse("`date_part` takes one of \(names)", path, help: "as in `date_part: {weekday: monday}`")
        }
        let path = path + [.key(name)]
        var code = "EE"
        var value = written
        if let inner = written.asObject {
            guard inner.count == 1, let word = inner.keys.first, let known = Self.comparisons[word], let given = inner[word]
            else { return refuse("this is not a part of a date", path, help: "as in `{\(name): {at_or_after: …}}`") }
            (code, value) = (known, given)
        }
        guard let (label, argument) = part.written(value) else {
            return refuse("this is not a valid \(name)", path, help: part.help)
        }
        return Condition(field, .datePart, "\(label)@javascript:gs.datePart('\(part.encoded)','\(argument)','\(code)')")
    }

    /// `{after: {hours_ago: 1}}`: `RELATIVEGT@hour@ago@1`.
    mutating func relativeToNow(_ json: JSON, _ path: Path) -> Condition? {
        guard let members = json.asObject, members.count == 1, let word = members.keys.first,
            let code = Self.comparisons[word], let operation = EncodedQuery.Operator(rawValue: "RELATIVE" + code),
            let times = members[word]?.asObject, times["at"] == nil
        else {
            return refuse(
                "`relative` takes one of \(Self.listed(Self.comparisons)), and a time counted from now", path,
                help: "as in `relative: {after: {hours_ago: 4}}`")
        }
        guard let time = relative(times, path + [.key(word)], boundary: .now) else { return nil }
        let unit = time.unit == .days ? "dayofweek" : String(time.unit.rawValue.dropLast())
        return Condition(field, operation, "@\(unit)@\(time.ago < 0 ? "ahead" : "ago")@\(abs(time.ago))")
    }

    private static func listed(_ words: [String: String]) -> String { words.keys.sorted().quotedList }
}

/// A part of the calendar or day, as compared by `DATEPART`.
enum DatePart: String, Sendable, CaseIterable {
    case hour, weekday, week, month, quarter, year

    /// The server's name for it.
    var encoded: String { self == .weekday ? "dayofweek" : rawValue }

    static let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    ]

    /// The label and the argument for the server; nil if the value is invalid.
    func written(_ value: JSON) -> (label: String, argument: String)? {
        switch self {
        case .weekday: Self.name(value, among: Self.weekdays).map { ($0.label, $0.name) }
        // A name of up to four letters stays whole, a longer one is cut to three letters.
        case .month:
            Self.name(value, among: Self.months).map { ($0.label, $0.name.utf8.count > 4 ? String($0.name.prefix(3)) : $0.name) }
        case .hour: number(value, 0...23).map { (Self.hour($0), "\($0)") }
        case .week: number(value, 0...53).map { ("Week \($0)", "\($0)") }
        case .quarter: number(value, 1...4).map { ("Quarter \($0)", "\($0)") }
        case .year: number(value, 1900...2199).map { ("\($0)", "\($0)") }
        }
    }

    var help: String {
        switch self {
        case .weekday: "`monday` to `sunday`"
        case .month: "`january` to `december`"
        case .hour: "a number from 0 to 23"
        case .week: "a number from 0 to 53"
        case .quarter: "a number from 1 to 4"
        case .year: "as in 2026"
        }
    }

    private static func name(_ value: JSON, among names: [String]) -> (label: String, name: String)? {
        guard let text = value.asString, case let name = ASCII.lowercased(text), names.contains(name) else { return nil }
        return (name.prefix(1).uppercased() + name.dropFirst(), name)
    }

    private func number(_ value: JSON, _ range: ClosedRange<Int64>) -> Int64? {
        guard case .int(let number) = value, range.contains(number) else { return nil }
        return number
    }

    private static func hour(_ hour: Int64) -> String {
        switch hour {
        case 0: "Midnight hour"
        case 12: "Noon hour"
        case 1..<12: "\(hour) am hour"
        default: "\(hour - 12) pm hour"
        }
    }
}
