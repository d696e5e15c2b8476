import BellhopCore

/// What is routed next of the first events on the bus: in their order, but a schedule that came due at a moment stands before the
/// other events of that moment, also if a poll has stored these first.
struct NextEvents {
    var events: [StoredEvent]
    /// Those that come after a schedule although they stand before it on the bus, or behind it.
    var later: [StoredEvent] = []

    /// - Parameter moment: when a schedule came due.
    init(of first: [StoredEvent], _ moment: (Event) -> Timestamp) {
        func isSchedule(_ stored: StoredEvent) -> Bool { stored.event.type == .scheduleDue }
        let schedules = first.filter(isSchedule).map { (stored: $0, due: moment($0.event)) }
        guard let due = schedules.map(\.due).min() else {
            events = first
            return
        }
        events = Array(first.prefix { !isSchedule($0) && $0.event.time < due })
        guard events.isEmpty else { return }
        events = schedules.filter { $0.due == due }.map(\.stored)
        later = first.filter { !isSchedule($0) }
    }
}
