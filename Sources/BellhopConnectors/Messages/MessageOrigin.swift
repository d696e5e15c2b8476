public import BellhopCore

/// Where a message comes from, for receivers that show or store it.
public struct MessageOrigin: Sendable, Hashable {
    /// The delivery's short name: the same at every attempt.
    public var delivery: String
    public var rule: String
    public var task: TaskReference?
    public var time: Timestamp

    public init(delivery: String, rule: String, task: TaskReference? = nil, time: Timestamp) {
        self.delivery = delivery
        self.rule = rule
        self.task = task
        self.time = time
    }

    public init(_ delivery: Delivery) {
        self.init(delivery: delivery.id.text, rule: delivery.id.rule, task: delivery.task, time: delivery.createdAt)
    }
}
