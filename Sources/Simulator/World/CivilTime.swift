import BellhopCore

/// The instance's texts for microseconds since 1970 UTC.
enum CivilTime {
    static let second: Int64 = 1_000_000
    static let minute: Int64 = 60 * second
    static let hour: Int64 = 60 * minute
    static let day: Int64 = 24 * hour

    static func utc(_ micros: Int64) -> CivilDateTime { Timestamp(microseconds: micros).utc }

    static func micros(year: Int, month: Int, day: Int, hour: Int = 0) -> Int64 {
        guard let time = Timestamp(utc: year, month, day, hour) else { preconditionFailure("the calendar has this hour") }
        return time.microseconds
    }

    /// `2016-03-14 18:52:12`, the database's form, UTC.
    static func text(_ micros: Int64) -> String { Timestamp(microseconds: micros).sql }

    /// The reverse of `text`; nil for anything else.
    static func read(_ text: String) -> Int64? { Timestamp(sql: text)?.microseconds }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    static func http(_ micros: Int64) -> String { Timestamp(microseconds: micros).httpDate }

    /// The same with dashes in the date, as cookies have it: `Sun, 06-Nov-1994 08:49:37 GMT`.
    static func cookie(_ micros: Int64) -> String {
        let words = http(micros).split(separator: " ")
        return "\(words[0]) \(words[1...3].joined(separator: "-")) \(words[4...].joined(separator: " "))"
    }

    /// A time in the formats of a user, such as `dd.MM.yyyy` and `hh:mm:ss a`.
    static func text(_ micros: Int64, date: String, time: String) -> String {
        let at = utc(micros)
        func pad(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        var text = ""
        var rest = (date + " " + time)[...]
        while let letter = rest.first {
            let run = rest.prefix { $0 == letter }
            rest = rest.dropFirst(run.count)
            switch letter {
            case "y": text += run.count == 2 ? pad(at.year % 100, 2) : pad(at.year, 4)
            case "M": text += pad(at.month, run.count)
            case "d": text += pad(at.day, run.count)
            case "H": text += pad(at.hour, run.count)
            case "h": text += pad((at.hour + 11) % 12 + 1, run.count)
            case "m": text += pad(at.minute, run.count)
            case "s": text += pad(at.second, run.count)
            case "a": text += at.hour < 12 ? "AM" : "PM"
            default: text += run
            }
        }
        return text
    }
}
