extension Timestamp {
    /// Parses SQL's form of a time, `2026-01-05 09:00:00`, as UTC; nil if invalid.
    public init?(sql text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        guard bytes.count == 19, let date = TimeReader.date(bytes, at: 0), TimeReader.has(" ", in: bytes, at: 10),
            let (hour, minute, second) = TimeReader.time(bytes, at: 11), second < 60
        else { return nil }
        self.init(utc: CivilDateTime(date: date, secondOfDay: hour * 3600 + minute * 60 + second))
    }

    /// The moment in SQL's form: UTC, whole seconds (rounded down), `2026-01-05 09:00:00`.
    public var sql: String {
        var text = TimeWriter()
        text.dateTime(utc, separator: " ")
        return text.string
    }
}
