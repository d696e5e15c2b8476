import BellhopCore

/// Acknowledges an alert at a pager, which then calls no further people.
struct AcknowledgeAction: Action {
    static let manifest = ActionManifest(
        kind: "acknowledge",
        summary: "Acknowledges the alert that a thread opened at a pager, so that the pager calls no further people.",
        receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The connections to pagers."),
            Setting("thread", .text, required: true, "The `thread` of the message that opened the alert."),
        ], expires: .days(1))

    let receiver: any HookReceiver
    let hook: Hook
    let request: @Sendable (_ alert: String, Delivery) -> HTTPRequest

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard let alert = delivery.arguments.conversation else {
            throw Failure.badArguments("`acknowledge` needs the `thread` of the message that opened the alert.")
        }
        var request = request(alert, delivery)
        request.bodyNotNeededFor = .temporary
        let response = try await hook.answer(to: request)
        if let failure = receiver.refusal(in: response, from: hook, at: attempt.now) { throw failure }
        return Receipt("\(response.status) from \(hook.label)")
    }
}

/// The key that identifies an alert at a pager: messages with the same key belong to one alert, also over several attempts.
enum AlertKey {
    static func of(_ message: Message, _ delivery: Delivery) -> String { message.conversation ?? delivery.id.text }
}
