import Synchronization

/// Receivers of messages: `/hooks/{name}` answers like Slack, `/webhook/{name}` accepts anything.
///
/// A class over a lock, because the server's tasks add messages while others read them.
public final class Receivers: Sendable {
    private struct Answer {
        var status: Int
        var body: String
    }

    private struct State {
        var messages: [ReceivedMessage] = []
        var answers: [String: Answer] = [:]
    }

    private let state = Mutex(State())

    init() {}

    /// All messages, including refused ones, in the order of arrival; at least the last 10,000 are kept.
    public var received: [ReceivedMessage] { state.withLock { $0.messages } }

    public func received(by receiver: String) -> [ReceivedMessage] { received.filter { $0.receiver == receiver } }

    public func clear() { state.withLock { $0.messages = [] } }

    /// Sets the receiver's answer; with a nil status, it answers 200 `ok` again.
    public func setAnswer(of receiver: String, status: Int?, body: String = "") {
        let answer = status.map { Answer(status: $0, body: body) }
        state.withLock { $0.answers[receiver] = answer }
    }

    func answer(_ request: ReceivedRequest) -> Reply {
        let path = request.segments
        guard path.count >= 2, request.method == "POST" || request.method == "PUT" else {
            return .text(405, "method_not_allowed")
        }
        let receiver = path[1]
        let configured = state.withLock { $0.answers[receiver] }
        var reply = configured.map { Reply.text($0.status, $0.body) } ?? Reply.text(200, "ok")
        var reason = configured.flatMap { (200..<300).contains($0.status) ? nil : "set to answer \($0.status)" }
        if configured == nil, path[0] == "hooks" {
            do { try SlackRules.check(request.body) } catch {
                reply = .text(400, error.code).with("X-Simulator-Reason", error.reason)
                reason = error.reason
            }
        }
        note(ReceivedMessage(receiver: receiver, request: request, status: reply.status, reason: reason))
        return reply
    }

    /// Records a request to another simulated service, under the first part of its path, with its answer.
    func recording(_ reply: Reply, to request: ReceivedRequest) -> Reply {
        let reason = 200..<300 ~= reply.status ? nil : String(decoding: reply.body, as: UTF8.self)
        note(ReceivedMessage(receiver: request.segments.first ?? "", request: request, status: reply.status, reason: reason))
        return reply
    }

    private func note(_ message: ReceivedMessage) { state.withLock { $0.messages.appendToLog(message) } }
}

/// A message sent to a receiver, and the answer.
public struct ReceivedMessage: Sendable, Hashable {
    /// The last part of the path: `/hooks/ops` is `ops`.
    public var receiver: String
    public var request: ReceivedRequest
    public var status: Int
    /// Why it was refused; nil if it was accepted.
    public var reason: String?

    public var text: String { request.text }
    public var isAccepted: Bool { reason == nil && (200..<300).contains(status) }
}
