/// A day of the week, numbered as in cron: Sunday is 0.
public enum Weekday: Int, Sendable, Hashable, CaseIterable {
    case sunday, monday, tuesday, wednesday, thursday, friday, saturday

    init(daysSinceEpoch days: Int) {
        // 1970-01-01 was a Thursday.
        self = Self.inOrder[(days % 7 + 11) % 7]
    }

    /// The English name's first three letters, `Sun` to `Sat`.
    public var abbreviation: String { Self.abbreviations[rawValue] }

    private static let abbreviations = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// The day before.
    public var previous: Weekday { Self.inOrder[(rawValue + 6) % 7] }

    private static let inOrder = Weekday.allCases
}
