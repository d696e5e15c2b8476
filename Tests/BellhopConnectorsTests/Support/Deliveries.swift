import BellhopCore

extension Delivery {
    /// A delivery for a task, as made by a rule.
    static func write(
        _ action: String, _ arguments: JSON.Object, on id: String, class className: String = "incident",
        occasion: String = "event/1"
    ) -> Delivery {
        var delivery = comment("", on: id, occasion: occasion)
        delivery.action = action
        delivery.arguments = .values(arguments)
        delivery.task?.className = className
        return delivery
    }

    /// A delivery of a comment on a task, as made by a rule.
    static func comment(
        _ text: String, on id: String, number: String = "INC0010001", visibility: String? = nil, occasion: String = "event/1"
    ) -> Delivery {
        var arguments: JSON.Object = ["text": .string(text)]
        if let visibility { arguments["visibility"] = .string(visibility) }
        return Delivery(
            id: ID(occasion: Occasion.ID(occasion), rule: "acknowledge", step: StepPath(index: 0), receiver: "snow"),
            revision: "1", action: "comment", arguments: .values(arguments),
            task: TaskReference(
                source: "my-work", key: TaskKey(id), number: number, title: "Printer", className: "incident", url: "",
                subject: "https://acme.service-now.com/\(id)"), lane: "acknowledge/\(id)", createdAt: .epoch)
    }
}
