/// When a team works: hours on certain days in a time zone, except on holidays.
///
/// Hours that run past midnight belong to the day on which they begin, also for holidays. Durations are real
/// time: a night in which the clock is put forward has an hour less.
public struct WorkCalendar: Sendable, Hashable {
    public let zone: TimeZoneTable
    /// The hours of work, each with its days. They may overlap.
    public let hours: [HoursWindow]
    public let holidays: Holidays

    /// The same for equal calendars, in every run of the program.
    public let fingerprint: Fingerprint

    public init(zone: TimeZoneTable, hours: [HoursWindow], holidays: Holidays = Holidays()) {
        (self.zone, self.hours, self.holidays) = (zone, hours, holidays)
        // Computed only once: each rule that uses the calendar asks for it, at each test and at each change of rules.
        var text = "\(zone.name) \(zone.transitions.map(String.init).joined(separator: " ")) \(zone.typeAfter) "
        text += zone.types.map { String($0.offset) }.joined(separator: " ") + " \(zone.rule.map { String(describing: $0) } ?? "")"
        for window in hours { text += " \(window.start)-\(window.end) \(window.days.map(\.rawValue).sorted())" }
        text += " \(holidays.days.map(\.daysSinceEpoch).sorted())"
        text += " \(holidays.times.map { "\($0.lowerBound.microseconds)-\($0.upperBound.microseconds)" })"
        fingerprint = Fingerprint.of("calendar", text)
    }

    /// How many days ahead of a moment openings are searched: ten years.
    public static let reach = 3653

    public func isOpen(at moment: Timestamp) -> Bool {
        var openings = Openings(self, from: moment, days: 1)
        return openings.next()?.contains(moment) ?? false
    }

    /// The first opening that ends after a moment; nil if there is none within ten years.
    public func opening(after moment: Timestamp) -> Range<Timestamp>? {
        var openings = Openings(self, from: moment, days: Self.reach)
        return openings.next()
    }

    /// The working time from one moment to another; negative if `end` is earlier.
    public func workingTime(from start: Timestamp, to end: Timestamp) -> Duration {
        guard start <= end else { return .zero - workingTime(from: end, to: start) }
        var openings = Openings(self, from: start, days: days(from: start, to: end))
        var sum = Duration.zero
        while let opening = openings.next(), opening.lowerBound < end {
            sum += min(opening.upperBound, end) - max(opening.lowerBound, start)
        }
        return sum
    }

    /// The first moment at which this much working time has passed since `moment`; `moment` itself if the time is zero. Nil if that
    /// is more than ten years later, or the time is negative.
    public func adding(_ time: Duration, to moment: Timestamp) -> Timestamp? {
        guard time > .zero else { return time == .zero ? moment : nil }
        var openings = Openings(self, from: moment, days: Self.reach)
        var left = time
        while let opening = openings.next() {
            let start = max(opening.lowerBound, moment)
            let length = opening.upperBound - start
            if left <= length { return start + left }
            left -= length
        }
        return nil
    }

    /// The number of local days from one moment to another, counting both.
    public func days(from start: Timestamp, to end: Timestamp) -> Int {
        zone.local(end).date.daysSinceEpoch - zone.local(start).date.daysSinceEpoch + 1
    }

    /// The openings that begin on a day, in the order of their beginnings.
    fileprivate func openings(on date: CivilDate) -> [Range<Timestamp>] {
        if holidays.days.contains(date) { return [] }
        let weekday = date.weekday
        return hours.compactMap { window in
            guard window.days.contains(weekday) else { return nil }
            let start = moment(date, window.start)
            let end = moment(window.end <= window.start || window.end == 1440 ? date.adding(days: 1) : date, window.end % 1440)
            return start < end ? start..<end : nil
        }.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Of a local time that occurs twice, the first; for a skipped one, the moment at which the clock is put forward.
    private func moment(_ date: CivilDate, _ minute: Int) -> Timestamp {
        zone.resolve(CivilDateTime(date: date, secondOfDay: minute * 60)).earliest
    }
}

/// The openings of a calendar that end after a moment: in order, without overlaps, without holidays.
private struct Openings {
    private let calendar: WorkCalendar
    private let moment: Timestamp
    private var date: CivilDate
    private var daysLeft: Int
    /// Openings of the days that were read, the next one last.
    private var read: [Range<Timestamp>] = []
    /// Parts of the last opening that lie between closures, the next one last.
    private var parts: [Range<Timestamp>] = []
    /// The end of the last opening.
    private var reached = Timestamp.distantPast

    /// - Parameter days: how many days to read, beginning with that of the moment.
    init(_ calendar: WorkCalendar, from moment: Timestamp, days: Int) {
        (self.calendar, self.moment) = (calendar, moment)
        // Hours of the day before may run past midnight.
        date = calendar.zone.local(moment).date.adding(days: -1)
        daysLeft = days + 1
    }

    mutating func next() -> Range<Timestamp>? {
        while true {
            while let part = parts.popLast() {
                if part.upperBound > moment { return part }
            }
            guard let opening = joined() else { return nil }
            parts = calendar.holidays.without(opening).reversed()
        }
    }

    /// The next opening, joined with all that begin before it ends.
    private mutating func joined() -> Range<Timestamp>? {
        var first = single()
        // If the last opening was a piece of hours without an end, the next hours may begin, or even end, within it.
        while let hours = first, hours.upperBound <= reached { first = single() }
        guard var opening = first else { return nil }
        opening = max(opening.lowerBound, reached)..<opening.upperBound
        while let next = single() {
            guard next.lowerBound <= opening.upperBound else {
                read.append(next)
                break
            }
            opening = opening.lowerBound..<max(opening.upperBound, next.upperBound)
            // Hours without an end are returned in pieces.
            if opening.upperBound - opening.lowerBound > .days(32) { break }
        }
        reached = opening.upperBound
        return opening
    }

    private mutating func single() -> Range<Timestamp>? {
        while read.isEmpty, daysLeft > 0 {
            read = calendar.openings(on: date).reversed()
            date = date.adding(days: 1)
            daysLeft -= 1
        }
        return read.popLast()
    }
}

/// Days and times without work.
public struct Holidays: Sendable, Hashable {
    /// Whole days.
    public private(set) var days: Set<CivilDate>
    /// Times, in order, without overlaps.
    public private(set) var times: [Range<Timestamp>]

    public init(days: Set<CivilDate> = [], times: [Range<Timestamp>] = []) {
        self.days = days
        self.times = []
        for time in times.sorted(by: { $0.lowerBound < $1.lowerBound }) where !time.isEmpty {
            if let last = self.times.last, time.lowerBound <= last.upperBound {
                self.times[self.times.count - 1] = last.lowerBound..<max(last.upperBound, time.upperBound)
            } else {
                self.times.append(time)
            }
        }
    }

    public func union(_ other: Holidays) -> Holidays {
        Holidays(days: days.union(other.days), times: times + other.times)
    }

    /// Whether there is a holiday on this day or later.
    public func haveAny(from date: CivilDate, in zone: TimeZoneTable) -> Bool {
        days.contains { $0 >= date } || times.last.map { zone.local($0.upperBound).date >= date } == true
    }

    /// The parts of a time that are not closed, in order.
    func without(_ opening: Range<Timestamp>) -> [Range<Timestamp>] {
        // The index of the first closed time that ends after the opening begins.
        let first = times.partitioningIndex { $0.upperBound > opening.lowerBound }
        var parts: [Range<Timestamp>] = []
        var start = opening.lowerBound
        for time in times[first...] {
            guard time.lowerBound < opening.upperBound else { break }
            if start < time.lowerBound { parts.append(start..<time.lowerBound) }
            start = max(start, time.upperBound)
        }
        if start < opening.upperBound { parts.append(start..<opening.upperBound) }
        return parts
    }
}
