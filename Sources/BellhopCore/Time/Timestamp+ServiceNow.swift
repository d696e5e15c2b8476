extension Timestamp {
    /// Parses ServiceNow's storage format, `2026-01-05 09:00:00`, which is UTC; nil if invalid.
    public init?(serviceNow text: some StringProtocol) {
        let text = String(text)
        self.init(serviceNow: text.utf8Span.span)
    }

    /// Parses ServiceNow's storage format from the bytes of its text; nil if invalid.
    public init?(serviceNow bytes: Span<UInt8>) {
        guard bytes.count == 19, let date = TimeReader.date(bytes, at: 0), TimeReader.has(" ", in: bytes, at: 10),
            let (hour, minute, second) = TimeReader.time(bytes, at: 11), second < 60
        else { return nil }
        self.init(utc: CivilDateTime(date: date, secondOfDay: hour * 3600 + minute * 60 + second))
    }

    /// The moment in ServiceNow's storage format: UTC, whole seconds (rounded down), `2026-01-05 09:00:00`.
    public var serviceNow: String {
        let civil = utc
        var text = TimeWriter()
        text.date(civil.date)
        text.byte(" ")
        text.time(secondOfDay: civil.secondOfDay)
        return text.string
    }
}
