import BellhopCore

/// Where a message comes from, for receivers that show or store it.
struct MessageOrigin: Sendable, Hashable {
    /// The delivery's short name, the same for every attempt.
    var delivery: String
    var rule: String
    var task: TaskReference?
    var time: Timestamp

    init(delivery: String, rule: String, task: TaskReference? = nil, time: Timestamp) {
        self.delivery = delivery
        self.rule = rule
        self.task = task
        self.time = time
    }

    init(_ delivery: Delivery) {
        self.init(delivery: delivery.id.text, rule: delivery.id.rule, task: delivery.task, time: delivery.createdAt)
    }
}
