/// A message sent to a receiver, and the answer.
public struct ReceivedMessage: Sendable, Hashable {
    /// The last part of the path: `/hooks/ops` is `ops`.
    public var receiver: String
    public var request: ReceivedRequest
    public var status: Int
    /// Why it was refused; nil if it was accepted.
    public var reason: String?

    public var text: String { request.text }
    public var isTaken: Bool { reason == nil && (200..<300).contains(status) }
}
