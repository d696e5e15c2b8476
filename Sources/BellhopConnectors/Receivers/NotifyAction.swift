public import BellhopCore

/// Sends a message to one receiver, rendered by that receiver.
public struct NotifyAction: Action {
    /// The arguments of a step of kind `notify`.
    public static let manifest = ActionManifest(
        kind: "notify", summary: "Sends a message to people: one delivery for each receiver.", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The connections that get it."),
            Setting("title", .text, "One line of plain text."),
            Setting("text", .markdown, "What it says, in the small Markdown of messages."),
            Setting(
                "list",
                .record([
                    Setting("of", .expression, required: true, "The elements: one line each."),
                    Setting("as", .name, required: true, "What an element is called in `item`."),
                    Setting("item", .markdown, required: true, "An element's line."),
                    Setting(
                        "max", .integer(1...100), default: "20", "How many lines at most; one more says how many are left out."),
                    Setting("empty", .markdown, "What is said when there is no element."),
                ]), "A list, rendered as the receiver renders lists."),
            Setting(
                "severity", .oneOf(Message.Severity.allCases.map(\.rawValue)), default: Message.Severity.info.rawValue,
                "How bad it is."),
            Setting(
                "link",
                .either([
                    .text,
                    .record([
                        Setting("address", .text, required: true, "The http or https address."),
                        Setting("label", .text, "What it is called; by default Open."),
                    ]),
                ]), "An address to open, or `{label, address}`."),
            Setting("fields", .map(.text), "Names and values, shown side by side."),
            Setting("thread", .text, "Messages of one thread belong together, where the receiver has threads."),
        ], isMessage: true, expires: .days(1))

    private let receiver: any MessageReceiver

    public init(_ receiver: any MessageReceiver) { self.receiver = receiver }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard case .message(let message) = delivery.arguments else {
            throw Failure(.badArguments, .giveUp, "This delivery contains no message; it was made by another version of Bellhop.")
        }
        return try await receiver.send(message, for: delivery, attempt: attempt)
    }
}
