/// Hours of the day on certain weekdays, such as `22:00-07:00` on `MON-FRI`.
///
/// Hours that run past midnight belong to the day on which they begin: with `FRI` the example lasts until Saturday at seven. The
/// end is exclusive.
public struct HoursWindow: Sendable, Hashable {
    /// When the hours begin, in minutes after midnight.
    public let start: Int
    /// When the hours end, in minutes after midnight, up to 1440; at or before ``start`` if they run past midnight.
    public let end: Int
    /// The days on which the hours begin.
    public let days: Set<Weekday>

    /// Parses hours such as `22:00-07:00`, on given days, by default on all.
    public init(_ text: some StringProtocol, days: Set<Weekday> = Set(Weekday.allCases)) throws(TimeTextError) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw TimeTextError(
                "hours have a beginning and an end", offset: 0, length: text.utf8.count, help: "for example 22:00-07:00")
        }
        start = try Self.minute(String(parts[0]), at: 0, latest: 1439)
        end = try Self.minute(String(parts[1]), at: parts[0].utf8.count + 1, latest: 1440)
        self.days = days
        if start == end {
            throw TimeTextError(
                "the hours begin and end at the same time", offset: 0, length: text.utf8.count,
                help: "00:00-24:00 for the whole day")
        }
    }

    /// Parses hours separated by commas, such as `08:00-12:00, 13:00-17:30`. Each may have weekdays of its own:
    /// `MON-THU 08:00-17:00, FRI 08:00-14:00`.
    /// - Parameter days: the weekdays of hours without their own.
    public static func list(
        _ text: String, days: Set<Weekday> = Set(Weekday.allCases)
    ) throws(TimeTextError) -> [HoursWindow] {
        var windows: [HoursWindow] = []
        var offset = 0
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            var hours = part.drop { $0 == " " }
            while hours.last == " " { hours.removeLast() }
            var days = days
            do throws(TimeTextError) {
                if hours.first?.isLetter == true, let end = hours.firstIndex(of: " ") {
                    days = try Self.days(hours[..<end])
                    hours = hours[end...].drop { $0 == " " }
                }
                windows.append(try HoursWindow(hours, days: days))
            } catch {
                var error = error
                error.offset += offset + part.utf8.distance(from: part.startIndex, to: hours.startIndex)
                throw error
            }
            offset += part.utf8.count + 1
        }
        return windows
    }

    /// Parses weekdays as in cron's last field: `MON-FRI`, `SAT,SUN`, `*`.
    public static func days(_ text: some StringProtocol) throws(TimeTextError) -> Set<Weekday> {
        let bits = try CronField.weekday.bits(Substring(text), at: 0)
        return Set(Weekday.allCases.filter { bits.contains($0.rawValue) })
    }

    /// Whether a local time is within the hours.
    public func contains(_ local: CivilDateTime) -> Bool {
        let minute = local.secondOfDay / 60
        if start < end { return start <= minute && minute < end && days.contains(local.weekday) }
        return minute >= start && days.contains(local.weekday) || minute < end && days.contains(local.weekday.previous)
    }

    /// Parses `hh:mm`, with blanks around it, into minutes after midnight.
    private static func minute(_ written: String, at offset: Int, latest: Int) throws(TimeTextError) -> Int {
        let text = written.trimmedBlanks
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let hour = TimeReader.number(String(parts[0]), digits: 1...2),
            let minute = TimeReader.number(String(parts[1]), digits: 2...2),
            minute < 60, hour * 60 + minute <= latest
        else {
            throw TimeTextError(
                "'\(text)' is not a time of day", offset: offset + written.prefix { $0 == " " }.count, length: text.utf8.count,
                help: latest == 1440 ? "write 00:00 to 24:00" : "write 00:00 to 23:59")
        }
        return hour * 60 + minute
    }
}
