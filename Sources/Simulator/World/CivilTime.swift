/// Converts microseconds since 1970 UTC to the instance's texts, without a zone database.
enum CivilTime {
    static let second: Int64 = 1_000_000
    static let minute: Int64 = 60 * second
    static let hour: Int64 = 60 * minute
    static let day: Int64 = 24 * hour

    struct Parts: Sendable, Hashable {
        var year: Int64
        var month: Int64
        var day: Int64
        var hour: Int64
        var minute: Int64
        var second: Int64
        /// 0 is Sunday.
        var weekday: Int
    }

    /// Days to a date of the Gregorian calendar, by counting 400-year eras that start in March.
    static func parts(_ micros: Int64) -> Parts {
        let seconds = floorDiv(micros, CivilTime.second)
        let days = floorDiv(seconds, 86_400)
        let rest = seconds - days * 86_400
        let shifted = days + 719_468
        let era = floorDiv(shifted, 146_097)
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * ofYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return Parts(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month, day: ofYear - (153 * shiftedMonth + 2) / 5 + 1,
            hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, weekday: Int(floorMod(days + 4, 7)))
    }

    static func micros(year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = floorDiv(year, 400)
        let yearOfEra = year - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
        return (days * 86_400 + hour * 3600 + minute * 60 + second) * CivilTime.second
    }

    /// `2016-03-14 18:52:12`, the database's form, UTC.
    static func text(_ micros: Int64) -> String {
        let at = parts(micros)
        return "\(pad(at.year, 4))-\(pad(at.month))-\(pad(at.day)) \(pad(at.hour)):\(pad(at.minute)):\(pad(at.second))"
    }

    /// A time in the formats of a user, such as `dd.MM.yyyy` and `hh:mm:ss a`.
    static func text(_ micros: Int64, date: String, time: String) -> String {
        let at = parts(micros)
        let twelve = (at.hour + 11) % 12 + 1
        var text = ""
        var rest = (date + " " + time)[...]
        while let letter = rest.first {
            let run = rest.prefix { $0 == letter }
            rest = rest.dropFirst(run.count)
            switch letter {
            case "y": text += run.count == 2 ? pad(at.year % 100) : pad(at.year, 4)
            case "M": text += pad(at.month, run.count)
            case "d": text += pad(at.day, run.count)
            case "H": text += pad(at.hour, run.count)
            case "h": text += pad(twelve, run.count)
            case "m": text += pad(at.minute, run.count)
            case "s": text += pad(at.second, run.count)
            case "a": text += at.hour < 12 ? "AM" : "PM"
            default: text += run
            }
        }
        return text
    }

    /// The reverse of `text`; nil for anything else.
    static func read(_ text: String) -> Int64? {
        let numbers = text.split(whereSeparator: { "-: ".contains($0) }).map { Int64($0) }
        guard text.utf8.count == 19, numbers.count == 6, let year = numbers[0], let month = numbers[1], let day = numbers[2],
            let hour = numbers[3], let minute = numbers[4], let second = numbers[5]
        else { return nil }
        let micros = micros(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        return CivilTime.text(micros) == text ? micros : nil
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7); cookies traditionally have dashes in the date.
    static func http(_ micros: Int64, separator: String = " ") -> String {
        let at = parts(micros)
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][at.weekday]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let date = [pad(at.day), months[Int(at.month) - 1], pad(at.year, 4)].joined(separator: separator)
        return "\(weekday), \(date) \(pad(at.hour)):\(pad(at.minute)):\(pad(at.second)) GMT"
    }

    private static func pad(_ number: Int64, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func floorDiv(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }
    private static func floorMod(_ a: Int64, _ b: Int64) -> Int64 { a - floorDiv(a, b) * b }
}
