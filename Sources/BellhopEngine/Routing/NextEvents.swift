import BellhopCore

/// The events to route next, among the first ones on the bus. They keep their order, except that a schedule comes before the other
/// events of the moment at which it came due, even if a poll has stored these first.
struct NextEvents {
    var events: [StoredEvent]
    /// The events that were read and come after a schedule in ``events``, wherever they are on the bus.
    var later: [StoredEvent] = []

    /// - Parameters:
    ///   - first: the events before the next timer.
    ///   - known: all events that were read; among them may be schedules that are not in `first`.
    ///   - next: when the next timer is due; schedules that came due later wait for it. Nil if there is no timer.
    ///   - moment: when a schedule came due.
    init(of first: [StoredEvent], in known: [StoredEvent], before next: Timestamp? = nil, _ moment: (Event) -> Timestamp) {
        func isSchedule(_ stored: StoredEvent) -> Bool { stored.event.type == .scheduleDue }
        let schedules = known.filter(isSchedule).map { (stored: $0, due: moment($0.event)) }.filter { $0.due <= next ?? $0.due }
        guard let due = schedules.map(\.due).min() else {
            events = first
            return
        }
        events = Array(first.prefix { !isSchedule($0) && $0.event.time < due })
        guard events.isEmpty else { return }
        events = schedules.filter { $0.due == due }.map(\.stored)
        later = known.filter { !isSchedule($0) }
    }
}
