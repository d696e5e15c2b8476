/// What a receiver was sent, and how it answered.
public struct ReceivedMessage: Sendable, Hashable {
    /// The last part of the path: `/hooks/ops` is `ops`.
    public var receiver: String
    public var request: ReceivedRequest
    public var status: Int
    /// Why it was refused; nil when it was taken.
    public var reason: String?

    public var text: String { request.text }
    public var isTaken: Bool { reason == nil && (200..<300).contains(status) }
}
