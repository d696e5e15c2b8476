extension Timestamp {
    /// Reads a time as ServiceNow stores it, `2026-01-05 09:00:00`, which is UTC without saying so; nil when it is none.
    public init?(serviceNow text: some StringProtocol) {
        let text = String(text)
        self.init(serviceNow: text.utf8Span.span)
    }

    /// Reads a time as ServiceNow stores it from the bytes of its text; nil when it is none.
    public init?(serviceNow bytes: Span<UInt8>) {
        guard bytes.count == 19, let date = TimeReader.date(bytes, at: 0), TimeReader.has(" ", in: bytes, at: 10),
            let (hour, minute, second) = TimeReader.time(bytes, at: 11), second < 60
        else { return nil }
        self.init(utc: CivilDateTime(date: date, secondOfDay: hour * 3600 + minute * 60 + second))
    }

    /// The moment as ServiceNow stores it: UTC, whole seconds (rounded down), `2026-01-05 09:00:00`.
    public var serviceNow: String {
        let civil = utc
        var text = TimeWriter()
        text.date(civil.date)
        text.byte(" ")
        text.time(secondOfDay: civil.secondOfDay)
        return text.string
    }
}
