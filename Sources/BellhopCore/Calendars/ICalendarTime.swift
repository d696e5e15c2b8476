/// A date, or a date and time (RFC 5545, sections 3.3.4 and 3.3.5).
struct ICalendarTime {
    let date: CivilDate
    /// Nil for a whole day.
    private let secondOfDay: Int?
    let zone: TimeZoneTable

    var isWholeDay: Bool { secondOfDay == nil }

    /// Nil if the text is neither.
    init?(_ text: String, zone: TimeZoneTable) {
        guard let date = Self.date(String(text.prefix(8))) else { return nil }
        self.date = date
        let rest = text.dropFirst(8)
        self.zone = rest.hasSuffix("Z") ? .utc : zone
        if rest.isEmpty {
            secondOfDay = nil
            return
        }
        guard rest.first == "T", rest.count == 7 || rest.count == 8 && rest.hasSuffix("Z"),
            let number = TimeReader.number(String(rest.dropFirst().prefix(6)), digits: 6...6)
        else { return nil }
        let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100)
        guard hour < 24, minute < 60, second <= 60 else { return nil }
        secondOfDay = hour * 3600 + minute * 60 + min(second, 59)
    }

    /// The date of `20261225`; nil for any other text.
    static func date(_ text: String) -> CivilDate? {
        guard text.utf8.count == 8, let number = TimeReader.number(text, digits: 8...8) else { return nil }
        return CivilDate(year: number / 10_000, month: number / 100 % 100, day: number % 100)
    }

    /// The day that it means in an entry with this start. For an entry of whole days, many programs write a day as its midnight or its
    /// last second in UTC; other times are moments in the zone of the entry.
    func date(inEntryFrom start: ICalendarTime) -> CivilDate {
        if isWholeDay || start.isWholeDay && (secondOfDay == 0 || secondOfDay == 86_399) { return date }
        return start.zone.local(moment(on: date)).date
    }

    /// The same time on another day.
    func moment(on date: CivilDate) -> Timestamp {
        zone.resolve(CivilDateTime(date: date, secondOfDay: secondOfDay ?? 0)).earliest
    }

    /// The duration of `P1D` or `PT90M` (RFC 5545, section 3.3.6); nil for a negative one and any other text.
    static func duration(_ text: String) -> Duration? {
        var seconds = 0
        var number: Int?
        var isTime = false
        guard text.hasPrefix("P") || text.hasPrefix("+P"), text.count < 20 else { return nil }
        for character in text.drop(while: { $0 == "+" }).dropFirst() {
            if let digit = character.wholeNumberValue, character.isASCII {
                number = (number ?? 0) * 10 + digit
                continue
            }
            if character == "T", !isTime, number == nil {
                isTime = true
                continue
            }
            let units: [Character: Int] = isTime ? ["H": 3600, "M": 60, "S": 1] : ["W": 604_800, "D": 86_400]
            guard let unit = units[character], let count = number, count < 1_000_000 else { return nil }
            seconds += count * unit
            number = nil
        }
        return number == nil ? .seconds(seconds) : nil
    }
}
