import BellhopCore

/// When a rule is due by the clock: `on: {schedule: …}` or `on: {every: …}`.
struct RuleSchedule: Sendable, Hashable {
    enum Recurrence: Sendable, Hashable {
        case cron(CronSchedule)
        case every(Duration)
    }

    /// What to do about missed runs.
    enum Missed: String, Sendable, Hashable, CaseIterable {
        /// One run for all of them.
        case once
        /// One run for each.
        case all
        /// No run.
        case skip
    }

    var recurrence: Recurrence
    var zone: TimeZoneTable
    var zoneName: String
    var missed: Missed

    /// A time this recent still counts as now: the agent was busy, not stopped.
    static let grace = Duration.seconds(60)
    /// The most missed times that are made up for one by one; older ones are only counted in the first event.
    static let maxAtOnce = 1000

    /// The definition of a timer: if it changes, the timer starts anew.
    var text: String {
        switch recurrence {
        case .cron(let cron): "\(cron.text) \(zoneName)"
        case .every(let interval): "every \(DurationText.format(interval))"
        }
    }

    /// The first time after a moment at which a new timer is due.
    func first(after now: Timestamp) -> Timestamp? {
        switch recurrence {
        case .cron(let cron): cron.next(after: now, in: zone)
        case .every(let interval): now + interval
        }
    }

    /// A due time, and how many earlier ones have no event of their own.
    struct Occurrence: Hashable {
        var due: Timestamp
        var missed: Int
    }

    /// The events of a timer that was due at one moment and fires at another, and its next time.
    func fire(due: Timestamp, at now: Timestamp) -> (occurrences: [Occurrence], next: Timestamp?) {
        let passed = passed(from: due, through: now)
        guard let last = passed.last else { return ([], due) }
        let next = following(last.due, after: now)
        let total = passed.reduce(0) { $0 + $1.missed + 1 }
        switch missed {
        case .once: return ([Occurrence(due: last.due, missed: total - 1)], next)
        case .all: return (passed, next)
        case .skip: return (now - last.due <= Self.grace ? [Occurrence(due: last.due, missed: 0)] : [], next)
        }
    }

    /// The due times from one moment through another, oldest first; if over ``maxAtOnce``, the first counts the earlier ones.
    private func passed(from due: Timestamp, through now: Timestamp) -> [Occurrence] {
        guard due <= now else { return [] }
        switch recurrence {
        case .every(let interval):
            let step = interval.wholeMicroseconds
            let count = Int((now - due).wholeMicroseconds / step) + 1
            let kept = min(count, Self.maxAtOnce)
            return (count - kept..<count).map { index in
                let moment = Timestamp(microseconds: due.microseconds + Int64(index) * step)
                return Occurrence(due: moment, missed: index == count - kept ? count - kept : 0)
            }
        case .cron(let cron):
            var kept = [due]
            var moment = due
            var dropped = 0
            while let next = cron.next(after: moment, in: zone), next <= now, next > moment {
                kept.append(next)
                moment = next
                if kept.count >= 2 * Self.maxAtOnce {
                    dropped += kept.count - Self.maxAtOnce
                    kept.removeFirst(kept.count - Self.maxAtOnce)
                }
            }
            let surplus = max(0, kept.count - Self.maxAtOnce)
            dropped += surplus
            return kept.dropFirst(surplus).enumerated().map { Occurrence(due: $1, missed: $0 == 0 ? dropped : 0) }
        }
    }

    /// The first time after `now`, in step with the last due time.
    private func following(_ last: Timestamp, after now: Timestamp) -> Timestamp? {
        switch recurrence {
        case .cron(let cron): cron.next(after: max(last, now), in: zone)
        case .every(let interval): last + interval
        }
    }
}

extension Event {
    static func scheduleDue(rule: String, _ occurrence: RuleSchedule.Occurrence, at now: Timestamp) -> Event {
        Event(
            .scheduleDue(occurrence.due, missed: occurrence.missed), facts: rule, String(occurrence.due.microseconds),
            source: rule, subject: rule, at: now)
    }
}
