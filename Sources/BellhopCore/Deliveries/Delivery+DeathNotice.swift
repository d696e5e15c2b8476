extension Delivery {
    /// The event that this delivery was given up; nil if ``Event/lastHop`` of our own writes led to it, because a rule that
    /// reports it by another failing delivery would loop forever.
    public func deathNotice(_ failure: Failure, at now: Timestamp) -> Event? {
        guard hop < Event.lastHop else { return nil }
        return Event(
            .deliveryDead(self, failure), facts: id.text, String(now.microseconds), source: task?.source ?? "bellhop",
            subject: task?.subject ?? "delivery/\(id.text)", at: now, hop: hop + 1)
    }
}

extension Event {
    /// The longest chain of our own writes that may lead to an event: stops rules that trigger each other.
    public static let lastHop = 5
}
