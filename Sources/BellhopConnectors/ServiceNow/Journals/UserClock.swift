import BellhopCore

/// The format and time zone in which an instance shows times to this user. Both are derived from times that a row shows both in UTC
/// and in the user's format.
struct UserClock: Sendable, Hashable {
    /// The zone's offset, positive east of UTC.
    let offset: Duration
    /// The formats that fit; several if the times do not show whether the day or the month comes first.
    private let formats: [Format]

    /// Nil if no format that users can choose fits all times, or if the formats that fit disagree about the offset.
    /// - Parameter pairs: times as database and display values, the latest first.
    init?(_ pairs: [FieldValue]) {
        let pairs = pairs.compactMap { field -> (utc: Timestamp, shown: String)? in
            guard let utc = Timestamp(sql: field.raw), let shown = field.label, !shown.isEmpty else { return nil }
            return (utc, shown)
        }
        guard let first = pairs.first else { return nil }
        let fitting = Format.all.filter { format in pairs.allSatisfy { format.offset($0.shown, of: $0.utc) != nil } }
        guard let offset = fitting.first?.offset(first.shown, of: first.utc),
            fitting.allSatisfy({ $0.offset(first.shown, of: first.utc) == offset })
        else { return nil }
        self.offset = offset
        formats = fitting
    }

    /// The moment a time shows; nil if it is invalid or ambiguous.
    func read(_ text: some StringProtocol) -> Timestamp? {
        let text = String(text)
        let times = formats.compactMap { $0.read(text) }
        guard let time = times.first, times.allSatisfy({ $0 == time }) else { return nil }
        return time - offset
    }

    /// A moment as a heading shows it: its second, or in a format without seconds its minute.
    func floor(_ moment: Timestamp) -> Timestamp {
        formats.map { Timestamp(seconds: $0.floor(moment.seconds)) }.min() ?? moment
    }

    /// A format that a user, or the instance, can choose for dates and times.
    private struct Format: Sendable, Hashable {
        /// The order of year, month and day, and the separator.
        var date: String
        var hasSeconds: Bool
        /// Whether the time has `am` or `pm`.
        var isHalfDay: Bool

        static let all = ["y-m-d", "d-m-y", "m-d-y", "d/m/y", "m/d/y", "y/m/d", "d.m.y", "y.m.d"].flatMap { date in
            [(true, false), (false, false), (true, true), (false, true)].map {
                Format(date: date, hasSeconds: $0, isHalfDay: $1)
            }
        }

        /// The seconds without those that the format does not show.
        func floor(_ seconds: Int64) -> Int64 { hasSeconds ? seconds : seconds - (seconds % 60 + 60) % 60 }

        /// How far the shown time is ahead of UTC; nil if no zone has that offset.
        func offset(_ shown: String, of utc: Timestamp) -> Duration? {
            guard let local = read(shown) else { return nil }
            let ahead = local.seconds - floor(utc.seconds)
            guard ahead % 900 == 0, (-12 * 3600...14 * 3600).contains(ahead) else { return nil }
            return .seconds(ahead)
        }

        /// The time read as UTC.
        func read(_ text: String) -> Timestamp? {
            let parts = text.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == (isHalfDay ? 3 : 2), let day = day(parts[0]) else { return nil }
            var clock = parts[1].split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "." }.map { Self.number($0, 1...2) }
            guard clock.count == (hasSeconds ? 3 : 2), let hour = clock[0] else { return nil }
            if isHalfDay {
                let half = ASCII.lowercased(String(parts[2]))
                guard half == "am" || half == "pm", (1...12).contains(hour) else { return nil }
                clock[0] = hour % 12 + (half == "pm" ? 12 : 0)
            }
            if !hasSeconds { clock.append(0) }
            let digits = clock.map { $0?.twoDigits ?? "" }
            return Timestamp(sql: "\(day) \(digits.joined(separator: ":"))")
        }

        /// The date, rewritten as `2026-01-05`.
        private func day(_ text: Substring) -> String? {
            let order = date.filter { $0.isLetter }
            guard let separator = date.first(where: { !$0.isLetter }) else { return nil }
            let parts = text.split(separator: separator, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            var named: [Character: Substring] = [:]
            for (name, part) in zip(order, parts) {
                guard Self.number(part, name == "y" ? 4...4 : 2...2) != nil else { return nil }
                named[name] = part
            }
            return "\(named["y"] ?? "")-\(named["m"] ?? "")-\(named["d"] ?? "")"
        }

        private static func number(_ text: Substring, _ length: ClosedRange<Int>) -> Int? {
            guard length.contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
            return Int(text)
        }
    }
}
