import BellhopCore

/// What is routed next of the first events on the bus: in their order, but a schedule that came due at a moment stands before the
/// other events of that moment, also if a poll has stored these first.
struct NextEvents {
    var events: [StoredEvent]
    /// Those that come after a schedule although they stand before it on the bus, or behind it.
    var later: [StoredEvent] = []

    /// - Parameters:
    ///   - first: those that come before the next timer.
    ///   - known: all that were read, among which a schedule may stand behind these.
    ///   - next: when the next timer is due, before which no later schedule may come; nil if there is none.
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
