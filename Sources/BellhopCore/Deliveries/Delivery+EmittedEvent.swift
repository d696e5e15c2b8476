extension Delivery {
    /// The event that a delivery of the action `emit` makes; nil without a `type`. The same whenever it is made, so that an event that
    /// was stored is not stored again.
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
