public import BellhopCore

/// Sends a message to one receiver, rendered by that receiver.
public struct NotifyAction: Action {
    public static let manifest = ActionManifest(
        kind: "notify", summary: "Sends a message to people: one delivery for each receiver.", receiver: .named,
        arguments: [Setting("to", .list(.name), required: true, "The connections that receive it.")] + part + [
            Setting("sections", .list(.record(part)), "Further parts, each with a `title`, `text`, `list` and `fields`."),
            Setting("skip_empty", .boolean, default: "false", "Sends nothing if all lists are empty."),
            Setting(
                "severity", .oneOf(Message.Severity.allCases.map(\.rawValue)), default: Message.Severity.info.rawValue,
                "The severity."),
            Setting(
                "link",
                .either([
                    .address,
                    .record([
                        Setting("address", .address, required: true, "The http or https address."),
                        Setting(
                            "label", .text,
                            "The text of the link; by default the task's number for the task's address, else the address."),
                    ]),
                ]), "An address to open, or `{label, address}`."),
            Setting(
                "mentions",
                .list(
                    .record([
                        Setting("user", .text, "A user, by the id that the receiver uses."),
                        Setting("group", .text, "A group, by the id that the receiver uses."),
                    ])), "The users and groups to mention; the text of a message never mentions anyone."),
            Setting(
                "thread", .text,
                "The key of a conversation: later messages with the same key are replies to the first one, if the receiver supports replies."
            ),
            Setting(
                "update", .boolean, default: "false",
                "Replaces the first message of the thread instead of replying to it, if the receiver supports updates."),
            Setting(
                "resolve", .boolean, default: "false", "Closes the alert that the thread opened, if the receiver supports alerts."
            ),
        ], isMessage: true, expires: .days(1))

    /// The arguments that a message and each of its sections have.
    private static let part: [Setting] = [
        Setting("title", .text, "One line of plain text."),
        Setting("text", .markdown, "The text, in the small Markdown of messages."),
        Setting(
            "list",
            .record([
                Setting("of", .expression, required: true, "The elements, one line each."),
                Setting("as", .name, required: true, "The element's name in `item`."),
                Setting("item", .markdown, required: true, "An element's line."),
                Setting("max", .integer(1...100), default: "20", "The largest number of lines; one more line counts the rest."),
                Setting(
                    "empty", .markdown, "The text for an empty list; without it, a section that has only this list is left out."),
            ]), "A list, rendered in the receiver's own way."),
        Setting("fields", .map(.text), "Names and values, shown side by side."),
    ]

    private let receiver: any MessageReceiver

    init(_ receiver: any MessageReceiver) { self.receiver = receiver }

    public var executor: (any TaskExecutor)? { receiver.executor }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard case .message(let message) = delivery.arguments else {
            throw Failure.badArguments("This delivery contains no message; it was made by another version of Bellhop.")
        }
        return try await receiver.send(message, for: delivery, attempt: attempt)
    }
}

protocol MessageReceiver: Sendable {
    /// See ``Action/executor``.
    var executor: (any TaskExecutor)? { get }
    /// Sends one message, at least once over all attempts of the delivery.
    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt
}

extension MessageReceiver {
    var executor: (any TaskExecutor)? { nil }
}
