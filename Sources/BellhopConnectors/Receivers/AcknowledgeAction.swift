public import BellhopCore

/// Acknowledges an alert at a pager: it calls no further people.
public struct AcknowledgeAction: Action {
    /// The arguments of a step of kind `acknowledge`.
    public static let manifest = ActionManifest(
        kind: "acknowledge",
        summary: "Acknowledges the alert that a thread opened at a pager, so that the pager calls no further people.",
        receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The connections to pagers."),
            Setting("thread", .text, required: true, "The `thread` of the message that opened the alert."),
        ], expires: .days(1))

    /// Sends the request for the alert with this key, and returns the answer's status.
    private let acknowledge: @Sendable (_ alert: String, Delivery, Attempt) async throws(Failure) -> Receipt

    init(_ acknowledge: @escaping @Sendable (_ alert: String, Delivery, Attempt) async throws(Failure) -> Receipt) {
        self.acknowledge = acknowledge
    }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard let thread = try delivery.values()["thread"]?.asString.flatMap(Message.threadKey) else {
            throw Failure(.badArguments, .giveUp, "`acknowledge` needs the `thread` of the message that opened the alert.")
        }
        return try await acknowledge(AlertKey.of(thread: thread), delivery, attempt)
    }
}

/// The key by which a pager knows an alert: messages with the same key are about one alert, also those of different attempts.
enum AlertKey {
    /// The thread, or the delivery of a message without one.
    static func of(_ message: Message, _ delivery: Delivery) -> String {
        message.thread.map { of(thread: $0) } ?? delivery.id.text
    }

    /// At most 200 bytes: a longer thread becomes its hash.
    static func of(thread: String) -> String { Message(title: [], thread: thread).conversation ?? thread }
}
