import BellhopCore

/// The origin of a message, for receivers that show or store it.
struct MessageOrigin: Sendable, Hashable {
    /// The delivery's short name, the same for every attempt.
    var delivery: String
    var rule: String
    var task: TaskReference?
    var time: Timestamp
}

extension MessageOrigin {
    init(_ delivery: Delivery) {
        self.init(delivery: delivery.id.text, rule: delivery.id.rule, task: delivery.task, time: delivery.createdAt)
    }

    /// The task's page, if there is one.
    var taskLink: Message.Link? {
        guard let task, LinkAddress(task.url, limit: StyledText.longestAddress) != nil else { return nil }
        return Message.Link(label: task.number.isEmpty ? "Open" : task.number, address: task.url)
    }
}
