extension Timestamp {
    /// Parses an HTTP date in all forms of RFC 9110 §5.6.7, and with dashes as in some cookies; nil if invalid.
    ///
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov 6 08:49:37 1994`, `Sun, 06-Nov-1994 08:49:37
    /// GMT`. The weekday is not checked against the date.
    /// - Parameter now: a two-digit year is placed in the century that puts it at most 50 years after this moment. Without it,
    ///   years from 70 are 19xx, the others 20xx, as in RFC 6265 §5.1.1.
    public init?(httpDate text: some StringProtocol, now: Timestamp? = nil) {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map { $0.lowercased() }
        guard let first = words.first, Self.isWeekday(first) else { return nil }
        let (day, month, year, time): (String, String, String, String)
        if words.count == 6, text.contains(","), words[5] == "gmt" || words[5] == "utc" {
            (day, month, year, time) = (words[1], words[2], words[3], words[4])
        } else if words.count == 5, !text.contains(","), !text.contains("-") {
            (day, month, year, time) = (words[2], words[1], words[4], words[3])
        } else {
            return nil
        }
        guard let (hour, minute, second) = TimeReader.time(time), let day = TimeReader.number(day, digits: 1...2),
            let month = Self.months.firstIndex(where: { $0.lowercased() == month }),
            let written = TimeReader.number(year, digits: 1...4)
        else { return nil }
        let century: [Int]
        switch year.utf8.count {
        case 4: century = [0]
        case 2 where now == nil: century = [written < 70 ? 2000 : 1900]
        case 2: century = [2, 1, 0, -1].map { ((now ?? .epoch).utc.year / 100 + $0) * 100 }
        default: return nil
        }
        for hundreds in century {
            guard
                let civil = CivilDateTime(
                    year: hundreds + written, month: month + 1, day: day, hour: hour, minute: minute, second: min(second, 59))
            else { continue }
            let moment = Timestamp(utc: civil) + .seconds(second == 60 ? 1 : 0)
            if century.count == 1 || !Self.isFarAhead(moment, of: now ?? .epoch) {
                self = moment
                return
            }
        }
        return nil
    }

    /// The moment as an HTTP date, in whole seconds (rounded down): `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var httpDate: String {
        let civil = utc
        var text = TimeWriter()
        text.text(civil.weekday.abbreviation)
        text.text(", ")
        text.number(civil.day, digits: 2)
        text.text(" \(Self.months[civil.month - 1]) ")
        text.number(max(civil.year, 0), digits: 4)
        text.byte(" ")
        text.time(secondOfDay: civil.secondOfDay)
        text.text(" GMT")
        return text.string
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// A weekday's name, in full or its first three letters, in lowercase.
    private static func isWeekday(_ word: String) -> Bool {
        ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"].contains {
            $0 == word || word.utf8.count == 3 && $0.hasPrefix(word)
        }
    }

    /// Whether a moment is more than 50 years after another.
    private static func isFarAhead(_ moment: Timestamp, of now: Timestamp) -> Bool {
        let (then, today) = (moment.utc, now.utc)
        if then.year != today.year + 50 { return then.year > today.year + 50 }
        return (then.month, then.day, then.secondOfDay) > (today.month, today.day, today.secondOfDay)
    }
}
