import BellhopCore

/// When a rule comes due by the clock: `on: {schedule: …}` or `on: {every: …}`.
struct RuleSchedule: Sendable, Hashable {
    enum Recurrence: Sendable, Hashable {
        case cron(CronSchedule)
        case every(Duration)
    }

    /// What becomes of times that passed while the agent was not there to see them.
    enum Missed: String, Sendable, Hashable, CaseIterable {
        /// They are made up for by one run.
        case once
        /// Each is made up for.
        case all
        /// They are let go.
        case skip
    }

    var recurrence: Recurrence
    var zone: TimeZoneTable
    var zoneName: String
    var missed: Missed

    /// A time this little past still counts as now: the agent was busy, not away.
    static let grace = Duration.seconds(60)
    /// At most so many missed times are made up for one by one; the oldest beyond that are counted in the first event.
    static let mostAtOnce = 1000

    /// What a timer is made from: a timer made from another text starts anew.
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

    /// A time that came due, and how many before it are not told of on their own.
    struct Occurrence: Hashable {
        var due: Timestamp
        var missed: Int
    }

    /// What a timer that was due at one moment leads to at another: the occurrences to tell of, and the next time.
    func fire(due: Timestamp, at now: Timestamp) -> (occurrences: [Occurrence], next: Timestamp?) {
        let passed = passed(from: due, through: now)
        let next = passed.last.flatMap { following($0.due, after: now) } ?? due
        guard let last = passed.last else { return ([], next) }
        let total = passed.reduce(0) { $0 + $1.missed + 1 }
        switch missed {
        case .once: return ([Occurrence(due: last.due, missed: total - 1)], next)
        case .all: return (passed, next)
        case .skip: return (now - last.due <= Self.grace ? [Occurrence(due: last.due, missed: 0)] : [], next)
        }
    }

    /// The times from one moment through another, the oldest first, at most ``mostAtOnce``: those before are counted in the first.
    private func passed(from due: Timestamp, through now: Timestamp) -> [Occurrence] {
        guard due <= now else { return [] }
        switch recurrence {
        case .every(let interval):
            let count = Int((now - due) / interval) + 1
            let kept = min(count, Self.mostAtOnce)
            let step = interval.wholeMicroseconds
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
                if kept.count >= 2 * Self.mostAtOnce {
                    dropped += kept.count - Self.mostAtOnce
                    kept.removeFirst(kept.count - Self.mostAtOnce)
                }
            }
            let surplus = max(0, kept.count - Self.mostAtOnce)
            dropped += surplus
            return kept.dropFirst(surplus).enumerated().map { Occurrence(due: $1, missed: $0 == 0 ? dropped : 0) }
        }
    }

    /// The first time after `now`, in step with the last one that was due.
    private func following(_ last: Timestamp, after now: Timestamp) -> Timestamp? {
        switch recurrence {
        case .cron(let cron): cron.next(after: max(last, now), in: zone)
        case .every(let interval): last + interval
        }
    }
}

extension Event {
    /// A rule's schedule came due.
    static func scheduleDue(rule: String, _ occurrence: RuleSchedule.Occurrence, at now: Timestamp) -> Event {
        Event(
            id: ID(type: .scheduleDue, facts: rule, String(occurrence.due.microseconds)), type: .scheduleDue, source: rule,
            subject: rule, time: now,
            data: ["due": .string(occurrence.due.rfc3339), "missed": .int(Int64(occurrence.missed))])
    }
}
