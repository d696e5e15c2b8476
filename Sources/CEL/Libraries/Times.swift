/// The `times` library: `timestamp.format(pattern)` and `timestamp.format(pattern, zone)`.
enum Times {
    static func functions(_ zones: TimeZones) -> [Function] {
        let zoneCheck = zones.check(2)
        return [
            Function(
                "format",
                .pure(member: true, .timestamp, .string, .string, check: patternCheck) {
                    activation, time, pattern throws(EvaluationError) in
                    try format(activation, time, pattern, zones, "UTC")
                },
                Overload(
                    member: true, [.timestamp, .string, .string], .string, pure: true,
                    check: { patternCheck($0) ?? zoneCheck($0) },
                    .any {
                        activation, values throws(EvaluationError) in
                        guard case .string(let zone) = values[2] else { throw .noOverload("format", values) }
                        return try format(activation, values[0], values[1], zones, zone)
                    }))
        ]
    }

    private static let patternCheck = Overload.text(
        help: "such as \"yyyy-MM-dd HH:mm\"; text between single quotes is literal"
    ) { pattern throws(EvaluationError) in
        _ = try fields(of: pattern)
    }

    private static func format(
        _ activation: Activation, _ time: Value, _ pattern: Value, _ zones: TimeZones, _ name: String
    ) throws(EvaluationError) -> Value {
        guard case .timestamp(let time) = time, case .string(let pattern) = pattern else {
            throw .noOverload("format", [time, pattern])
        }
        try activation.spend(bytes: pattern.utf8.count * 4)
        let zone = try zones.zone(name)
        let offset = zone.offset(time.seconds)
        let civil = CivilTime(seconds: time.seconds, offset: offset)
        var result = ""
        for field in try fields(of: pattern) {
            switch field {
            case .text(let text): result += text
            case .letter(let letter, let count): result += text(letter, count, civil, time, offset, zone, name)
            }
        }
        return .string(result)
    }

    private enum Field {
        case text(String)
        case letter(UnicodeScalar, Int)
    }

    /// The supported letters of Unicode's date patterns (UTS #35), with the longest run of each.
    private static let known: [UnicodeScalar: Int] = [
        "y": 4, "M": 4, "d": 2, "E": 4, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "D": 3, "X": 3, "x": 3, "z": 1, "V": 2,
    ]

    private static func fields(of pattern: String) throws(EvaluationError) -> [Field] {
        var fields: [Field] = []
        var rest = pattern.unicodeScalars[...]
        while let next = rest.popFirst() {
            if next == "'" {
                // Text between quotes is literal; two quotes in a row mean one quote.
                if rest.first == "'" {
                    rest.removeFirst()
                    fields.append(.text("'"))
                    continue
                }
                var isOpen = true
                while isOpen, let quoted = rest.popFirst() {
                    if quoted != "'" {
                        fields.append(.text(String(quoted)))
                    } else if rest.first == "'" {
                        rest.removeFirst()
                        fields.append(.text("'"))
                    } else {
                        isOpen = false
                    }
                }
                guard !isOpen else { throw .invalid("the pattern has a quote that is not closed") }
            } else if next.properties.isAlphabetic, next.isASCII {
                let more = rest.prefix { $0 == next }
                rest = rest[more.endIndex...]
                guard let most = known[next], more.count < most else {
                    throw .invalid("`\(String(repeating: String(next), count: more.count + 1))` is not part of a time pattern")
                }
                fields.append(.letter(next, more.count + 1))
            } else {
                fields.append(.text(String(next)))
            }
        }
        return fields
    }

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
    ]
    private static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    private static func text(
        _ letter: UnicodeScalar, _ count: Int, _ civil: CivilTime, _ time: Value.Timestamp, _ offset: Int64,
        _ zone: Zone, _ name: String
    ) -> String {
        switch letter {
        case "y": return count == 2 ? padded(civil.year % 100, 2) : padded(civil.year, count)
        case "M":
            let name = months[Int(civil.month) - 1]
            return count <= 2 ? padded(civil.month, count) : count == 3 ? String(name.prefix(3)) : name
        case "d": return padded(civil.day, count)
        case "D": return padded(civil.dayOfYear + 1, count)
        case "E": return count == 4 ? days[Int(civil.weekday)] : String(days[Int(civil.weekday)].prefix(3))
        case "H": return padded(civil.hour, count)
        case "h": return padded((civil.hour + 11) % 12 + 1, count)
        case "a": return civil.hour < 12 ? "AM" : "PM"
        case "m": return padded(civil.minute, count)
        case "s": return padded(civil.second, count)
        case "S": return String(padded(Int64(time.nanoseconds), 9).prefix(count))
        case "V": return name
        case "z": return zone.abbreviation(time.seconds)
        default:
            if letter == "X", offset == 0 { return "Z" }
            let (hours, minutes) = (abs(offset) / 3600, abs(offset) / 60 % 60)
            let sign = offset < 0 ? "-" : "+"
            switch count {
            case 1: return sign + padded(hours, 2) + (minutes == 0 ? "" : padded(minutes, 2))
            case 2: return sign + padded(hours, 2) + padded(minutes, 2)
            default: return sign + padded(hours, 2) + ":" + padded(minutes, 2)
            }
        }
    }
}
