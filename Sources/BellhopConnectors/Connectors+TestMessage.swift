public import BellhopCore

extension Connectors {
    /// Sends a message through a connection at once, without the store: nothing is retried or repeated.
    public func send(_ message: Message, to connection: String) async throws(Failure) -> Receipt {
        let now = environment.clock.now
        let delivery = Delivery(
            id: Delivery.ID(
                occasion: Occasion.ID("test/\(now.microseconds)"), rule: "notify", step: StepPath(index: 0), receiver: connection),
            revision: "", action: Catalogue.messageAction, arguments: .message(message), task: nil, lane: connection,
            createdAt: now)
        guard bound[connection] != nil, let action = action(for: delivery) else {
            throw Failure(.missingReceiver, .giveUp, "There is no connection `\(connection)`.")
        }
        return try await action.perform(delivery, attempt: Attempt(number: 1, now: now))
    }
}
