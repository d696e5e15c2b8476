/// How often something is done.
public enum Cadence: Sendable, Hashable {
    /// Again after a duration.
    case every(Duration)
    /// Again after one duration while there is activity, after another while there is none.
    case busyIdle(busy: Duration, idle: Duration)
    /// At the times of a schedule on a zone's clocks.
    case cron(CronSchedule, TimeZoneTable)

    /// The next time after a moment; nil if a schedule has none before the calendar ends.
    /// - Parameters:
    ///   - busy: whether there is activity.
    ///   - jitter: from 0 up to 1, drawn by the caller: a duration is a tenth shorter at 0, unchanged at 0.5, a tenth longer at
    ///     1, so that things that began together spread out. Schedules are kept to the minute.
    public func next(after moment: Timestamp, busy: Bool = false, jitter: Double = 0.5) -> Timestamp? {
        switch self {
        case .every(let duration): moment + Self.spread(duration, jitter)
        case .busyIdle(let whileBusy, let whileIdle): moment + Self.spread(busy ? whileBusy : whileIdle, jitter)
        case .cron(let schedule, let zone): schedule.next(after: moment, in: zone)
        }
    }

    private static func spread(_ duration: Duration, _ jitter: Double) -> Duration {
        let share = (min(max(jitter, 0), 1) - 0.5) / 5
        let micros = duration.wholeMicroseconds
        return .microseconds(micros) + .microseconds(Int64(exactly: (Double(micros) * share).rounded()) ?? 0)
    }
}
