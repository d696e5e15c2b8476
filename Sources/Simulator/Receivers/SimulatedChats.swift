public import BellhopCore
import Synchronization

/// Chats with their real limits and errors, also those under 200: at `/discord`, `/mattermost`, `/googlechat`, `/telegram`, `/teams`, and
/// Slack's Web API under `/slack`.
///
/// A class over a lock, because the server's tasks change it while others read them.
public final class SimulatedChats: Sendable {
    /// A fault in the next answers of a chat, in the chat's own format.
    public enum ChatFault: Sendable, Hashable {
        case tooManyRequests(seconds: Double)
        /// The token or the webhook is no longer valid.
        case revoked
        /// The chat or the channel no longer exists.
        case noChat
        /// An error behind an answer of 200, at the chats that have one.
        case hiddenError
    }

    struct State {
        var messages: [ChatMessage] = []
        var faults: [String: [ChatFault]] = [:]
        /// When the webhooks of Discord were used, in microseconds.
        var uses: [String: [Int64]] = [:]
        /// The posts of Discord's forums that are archived.
        var archived: Set<String> = []
        /// Those that a moderator has locked.
        var locked: Set<String> = []
        /// The messages that Discord changes no more for now: too many messages older than an hour were changed.
        var unchangeable: Set<String> = []
        var count = 0
    }

    private let state = Mutex(State())

    init() {}

    static let paths: Set<String> = ["discord", "mattermost", "googlechat", "telegram", "teams", "slack"]

    /// The messages in the chats, in order, each as last edited.
    public var messages: [ChatMessage] { state.withLock { $0.messages } }
    public func messages(in service: String) -> [ChatMessage] { messages.filter { $0.service == service } }

    public func delete(_ id: String) { state.withLock { $0.messages.removeAll { $0.id == id } } }

    /// Archives a post of a forum of Discord, which the next message in it ends.
    public func archive(_ id: String) { state.withLock { _ = $0.archived.insert(id) } }

    /// Locks a post of a forum of Discord, which then takes no message and no change.
    public func lock(_ id: String) { state.withLock { _ = $0.locked.insert(id) } }

    /// Uses up Discord's limit on changes of messages older than an hour, of which this is one.
    public func refuseChanges(of id: String) { state.withLock { _ = $0.unchangeable.insert(id) } }

    /// Adds a fault to those of a chat's next answers, which occur in this order.
    public func answer(of service: String, next fault: ChatFault) {
        state.withLock { $0.faults[service, default: []].append(fault) }
    }

    func answer(_ request: ReceivedRequest) -> Reply {
        let path = request.segments
        let service = path.first ?? ""
        return state.withLock { state in
            let fault = state.faults[service]?.first
            if fault != nil { state.faults[service]?.removeFirst() }
            let call = ChatCall(service: service, request: request, path: Array(path.dropFirst()), fault: fault)
            do throws(Refusal) {
                return switch service {
                case "discord": try state.discord(call)
                case "mattermost": try state.mattermost(call)
                case "googlechat": try state.googleChat(call)
                case "telegram": try state.telegram(call)
                case "teams": try state.teams(call)
                default: try state.slack(call)
                }
            } catch {
                return error.reply
            }
        }
    }
}

/// A message in a chat.
public struct ChatMessage: Sendable, Hashable {
    public var service: String
    /// The channel, space or chat.
    public var place: String
    public var id: String
    /// The message or thread it answers.
    public var thread: String?
    public var body: JSON
    public var edits = 0
}

struct ChatCall {
    var service: String
    var request: ReceivedRequest
    /// After the service's name.
    var path: [String]
    var fault: SimulatedChats.ChatFault?

    func body(or refusal: Refusal) throws(Refusal) -> JSON {
        guard let body = try? JSON.parse(request.body), body.asObject != nil else { throw refusal }
        return body
    }
}

extension SimulatedChats.State {
    mutating func add(_ call: ChatCall, place: String, thread: String? = nil, id: String, _ body: JSON) {
        messages.append(ChatMessage(service: call.service, place: place, id: id, thread: thread, body: body))
    }

    /// Replaces a message's content; false if there is no such message.
    mutating func edit(_ call: ChatCall, place: String, id: String, _ body: JSON) -> Bool {
        guard let at = find(call.service, place, id) else { return false }
        messages[at].body = body
        messages[at].edits += 1
        return true
    }

    func find(_ service: String, _ place: String, _ id: String) -> Int? {
        messages.firstIndex { $0.service == service && $0.place == place && $0.id == id }
    }

    mutating func next() -> Int {
        count += 1
        return count
    }
}
