public import BellhopCore

/// The content of one delivery of a back-test, to read.
public struct BackTestSample: Sendable, Hashable {
    public var action: String
    public var receiver: String
    /// The number of its task.
    public var task: String?
    public var time: Timestamp
    /// The message or the arguments, shortened. `bellhop render` shows all.
    public var text: String

    /// The most scalars of the text.
    static let maxText = 2000

    init(_ delivery: Delivery) {
        let json = delivery.rendered(to: nil)
        let text = json["message"]?["text"]?.asString ?? (json["arguments"] ?? .null).text(.pretty)
        (action, receiver) = (delivery.action, delivery.id.receiver)
        (task, time) = (delivery.task?.number, delivery.createdAt)
        let scalars = text.unicodeScalars
        self.text =
            scalars.count > Self.maxText
            ? String(String.UnicodeScalarView(scalars.prefix(Self.maxText - 1))) + "…" : text
    }

    var json: JSON {
        [
            "action": .string(action), "receiver": .string(receiver), "task": .optional(task),
            "time": .string(time.rfc3339), "text": .string(text),
        ]
    }

    /// Reads what ``json`` wrote; nil for anything else.
    init?(json: JSON) {
        func part(_ name: String) -> String? { json[name]?.asString }
        guard let action = part("action"), let text = part("text"), let time = part("time").flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        (self.action, self.text, self.time) = (action, text, time)
        (receiver, task) = (part("receiver") ?? "", part("task"))
    }
}
