extension Delivery {
    /// The event that this delivery was given up; nil if ``Event/lastHop`` of our own writes led to it, because a rule that
    /// reports it by another failing delivery would loop forever.
    public func deathNotice(_ failure: Failure, at now: Timestamp) -> Event? {
        guard hop < Event.lastHop else { return nil }
        var data: JSON.Object = [
            "delivery": .object([
                "id": .string(id.text), "rule": .string(id.rule), "action": .string(action), "receiver": .string(id.receiver),
                "occasion": .string(id.occasion.text),
            ]),
            "error": .object(["reason": .string(failure.reason.rawValue), "message": .string(failure.message)]),
        ]
        if let task {
            data["task"] = Snapshot(
                key: task.key, number: task.number, title: task.title, className: task.className, url: task.url
            ).json(source: task.source)
        }
        return Event(
            id: Event.ID(type: .deliveryDead, facts: id.text, String(now.microseconds)), type: .deliveryDead,
            source: task?.source ?? "bellhop", subject: task?.subject ?? "delivery/\(id.text)", time: now, data: data,
            hop: hop + 1)
    }
}

extension Event {
    /// The longest chain of our own writes that may lead to an event: stops rules that trigger each other.
    public static let lastHop = 5
}
