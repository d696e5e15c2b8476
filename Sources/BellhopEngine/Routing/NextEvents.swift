import BellhopCore

/// The events to route next, among the first ones on the bus. They keep their order, except that the event of a schedule comes before
/// the other events of the moment at which it came due, even if a poll has already stored these. A late schedule came due while the
/// agent was not running or did not know the tasks yet: it comes after the events that the first polls had stored by then.
struct NextEvents {
    var events: [StoredEvent]
    /// If ``events`` are of schedules: all other events that were read, except those of schedules. They come after ``events``, wherever
    /// they are on the bus.
    var later: [StoredEvent] = []

    /// When a schedule came due; for a late schedule, when its event was made.
    struct Moment: Equatable {
        var time: Timestamp
        var isLate = false
    }

    /// - Parameters:
    ///   - first: the events before the next timer.
    ///   - known: all events that were read, including those of schedules after `first`.
    ///   - next: when the next timer is due; schedules that came due later wait for it. Nil if there is no timer.
    ///   - moment: when a schedule came due.
    init(of first: [StoredEvent], in known: [StoredEvent], before next: Timestamp? = nil, _ moment: (Event) -> Moment) {
        func isSchedule(_ stored: StoredEvent) -> Bool { stored.event.type == .scheduleDue }
        let schedules = known.filter(isSchedule).map { (stored: $0, moment: moment($0.event)) }
            .filter { $0.moment.time <= next ?? $0.moment.time }
        // The earliest; of several, the first on the bus.
        guard let (schedule, due) = schedules.min(by: { $0.moment.time < $1.moment.time }) else {
            events = first
            return
        }
        events = Array(
            first.prefix { stored in
                if isSchedule(stored) { return false }
                let time = stored.event.time
                return time < due.time || due.isLate && time == due.time && stored.sequence < schedule.sequence
            })
        guard events.isEmpty else { return }
        events = schedules.filter { $0.moment.time == due.time }.prefix { $0.moment == due }.map(\.stored)
        later = known.filter { !isSchedule($0) }
    }
}
