/// Parses the text of a schedule into bits, field by field.
struct CronParser {
    let text: String

    /// - Parameter written: the schedule as written, which may be an `@` word for the text.
    func schedule(written: String) throws(TimeTextError) -> CronSchedule {
        let words = Self.words(of: text)
        guard let first = words.first else {
            throw TimeTextError("a schedule is missing", offset: 0, length: text.utf8.count, help: Self.five)
        }
        if first.text.hasPrefix("@") {
            return try CronParser(text: nickname(first, isAlone: words.count == 1)).schedule(written: written)
        }
        guard words.count == 5 else {
            let extra = words.count > 5 ? words[5] : nil
            throw TimeTextError(
                Self.count(words.count), offset: extra?.offset ?? first.offset,
                length: (words.last.map { $0.offset + $0.text.utf8.count } ?? 0) - (extra?.offset ?? first.offset),
                help: Self.five)
        }
        let schedule = CronSchedule(
            text: written, minutes: try CronField.minute.bits(words[0].text, at: words[0].offset),
            hours: try CronField.hour.bits(words[1].text, at: words[1].offset),
            days: try CronField.day.bits(words[2].text, at: words[2].offset),
            months: try CronField.month.bits(words[3].text, at: words[3].offset),
            weekdays: try CronField.weekdayInMonth.bits(words[4].text, at: words[4].offset),
            eitherDay: !words[2].text.contains("*") && !words[4].text.contains("*"))
        guard schedule.next(after: .epoch, in: .utc) != nil else {
            throw TimeTextError(
                "this date never comes", offset: words[2].offset,
                length: words[3].offset + words[3].text.utf8.count - words[2].offset,
                help: "no month given here has a day \(words[2].text)")
        }
        return schedule
    }

    /// The five fields for an `@` word.
    private func nickname(_ word: (text: Substring, offset: Int), isAlone: Bool) throws(TimeTextError) -> String {
        let name = word.text.lowercased()
        let length = word.text.utf8.count
        guard let fields = Self.nicknames[name] else {
            let known = "@hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually"
            throw TimeTextError(
                "'\(word.text)' is not a schedule", offset: word.offset, length: length,
                help: name == "@every" ? "write `every:` with a duration" : known)
        }
        guard isAlone else {
            throw TimeTextError("'\(word.text)' must be alone", offset: word.offset, length: length, help: fields)
        }
        return fields
    }

    private static let nicknames = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    ]

    private static let five = "write five fields: minute hour day month weekday"

    private static func count(_ fields: Int) -> String {
        let words = [1: "one", 2: "two", 3: "three", 4: "four", 6: "six", 7: "seven"]
        return "a schedule of \(words[fields] ?? "\(fields)") field\(fields == 1 ? "" : "s")"
    }

    /// The words of a text with their offsets in UTF-8 bytes.
    private static func words(of text: String) -> [(text: Substring, offset: Int)] {
        text.split { $0 == " " || $0 == "\t" || $0 == "\n" }.map { word in
            (word, text.utf8.distance(from: text.startIndex, to: word.startIndex))
        }
    }
}
