public import BellhopCore

/// A receiver of `notify` messages: one connection of a receiver's kind.
public protocol MessageReceiver: Sendable {
    /// The connection's name in bellhop.yaml.
    var name: String { get }

    /// What is sent for a message, at every attempt the same.
    static func body(of message: Message, for delivery: Delivery) -> JSON

    /// Sends one message, at least once over all attempts of the delivery.
    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt

    /// Closes what is open; must be called exactly once.
    func shutdown() async throws
}
