extension Delivery {
    /// The event `delivery_dead`; nil if ``Event/lastHop`` of our own writes led to the delivery, because a rule that reports the event
    /// by another failing delivery would loop forever.
    public func deathNotice(_ failure: Failure, at now: Timestamp) -> Event? {
        guard hop < Event.lastHop else { return nil }
        return Event(
            .deliveryDead(self, failure), facts: id.text, String(now.microseconds), source: task?.source ?? "bellhop",
            subject: task?.subject ?? "delivery/\(id.text)", at: now, hop: hop + 1)
    }

    /// The event that a delivery of the action `emit` makes; nil without a `type`. It has the same identity whenever it is made, so that
    /// it is stored only once.
    public func emittedEvent(at now: Timestamp) -> Event? {
        guard case .values(let values) = arguments, let type = values["type"]?.asString else { return nil }
        var event = Event(
            id: Event.ID(type: EventType(type), facts: id.text), type: EventType(type), source: id.rule,
            subject: values["subject"]?.asString ?? "", time: now, data: values["data"]?.asObject ?? [:], hop: hop + 1)
        event.cause = id.occasion.event
        return event
    }

    /// The receipt for a stored event.
    public static func receipt(for event: Event) -> Receipt {
        Receipt("event \(event.type.name) \(event.id.text.prefix(12))", reference: event.id.text)
    }
}

extension Event {
    /// The longest chain of our own writes that may lead to an event: stops rules that trigger each other.
    public static let lastHop = 5
}
