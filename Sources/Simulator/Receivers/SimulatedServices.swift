public import BellhopCore
import Synchronization

/// Pagers, ntfy and Matrix, with their real limits, errors and answers: under `/pagerduty`, `/opsgenie`, `/ntfy` and `/matrix`.
///
/// A class over a lock, because the server's tasks change it while others read it.
public final class SimulatedServices: Sendable {
    struct State {
        var alerts: [SimulatedAlert] = []
        var notifications: [SimulatedNotification] = []
        var events: [SimulatedRoomEvent] = []
        /// Events that were deleted: Matrix keeps them without their content.
        var redacted: [SimulatedRoomEvent] = []
        /// Keys and tokens that are no longer accepted.
        var revoked: Set<String> = []
        /// The topics of ntfy that need a token.
        var protectedTopics: Set<String> = []
        /// The rooms that the account has not joined.
        var closedRooms: Set<String> = []
        var count = 0
    }

    private let state = Mutex(State())

    init() {}

    /// The alerts of both pagers, in the order in which they were opened.
    public var alerts: [SimulatedAlert] { state.withLock { $0.alerts } }
    public var notifications: [SimulatedNotification] { state.withLock { $0.notifications } }
    /// The events in the rooms of Matrix, in order, without redacted ones.
    public var events: [SimulatedRoomEvent] { state.withLock { $0.events } }

    public func revoke(_ credential: String) { state.withLock { _ = $0.revoked.insert(credential) } }
    public func protectTopic(_ topic: String) { state.withLock { _ = $0.protectedTopics.insert(topic) } }
    /// Removes the account from a room.
    public func closeRoom(_ room: String) { state.withLock { _ = $0.closedRooms.insert(room) } }
    /// Deletes a message from its room.
    public func redact(_ event: String) {
        state.withLock { state in
            state.redacted += state.events.filter { $0.id == event }
            state.events.removeAll { $0.id == event }
        }
    }

    static let paths: Set<String> = ["pagerduty", "opsgenie", "ntfy", "matrix"]

    func answer(_ request: ReceivedRequest) -> Reply {
        state.withLock { state in
            let path = request.segments
            do throws(Refusal) {
                switch (path.first, path.dropFirst().joined(separator: "/")) {
                case ("pagerduty", "v2/enqueue"): return try state.pagerDuty(request)
                case ("opsgenie", _): return try state.opsgenie(request, Array(path.dropFirst()))
                case ("ntfy", ""): return try state.ntfy(request)
                case ("matrix", _): return try state.matrix(request, Array(path.dropFirst()))
                default: return .text(404, "Not Found")
                }
            } catch {
                return error.reply
            }
        }
    }
}

/// An alert at a pager.
public struct SimulatedAlert: Sendable, Hashable {
    public enum Condition: String, Sendable { case open, acknowledged, closed }

    /// `pagerduty` or `opsgenie`.
    public var pager: String
    /// Its deduplication key or alias.
    public var key: String
    public var condition = Condition.open
    public var messages: [JSON]
}

/// A notification of ntfy.
public struct SimulatedNotification: Sendable, Hashable {
    public var id: String
    public var message: JSON
    /// Whether the text was too long and became a file.
    public var isAttachment: Bool
}

/// An event in a room of Matrix.
public struct SimulatedRoomEvent: Sendable, Hashable {
    public var id: String
    public var room: String
    public var transaction: String
    public var content: JSON
}

extension SimulatedServices.State {
    /// Opens an alert, or adds a message to the open one with this key.
    mutating func trigger(_ pager: String, _ key: String, _ message: JSON) {
        if let place = openAlert(pager, key) {
            alerts[place].messages.append(message)
        } else {
            alerts.append(SimulatedAlert(pager: pager, key: key, messages: [message]))
        }
    }

    /// Sets the condition of an open alert. Both pagers accept a request for an alert that does not exist.
    mutating func set(_ pager: String, _ key: String, _ condition: SimulatedAlert.Condition) {
        if let place = openAlert(pager, key) { alerts[place].condition = condition }
    }

    private func openAlert(_ pager: String, _ key: String) -> Int? {
        alerts.lastIndex { $0.pager == pager && $0.key == key && $0.condition != .closed }
    }

    mutating func next(_ prefix: String) -> String {
        count += 1
        return prefix + String(count)
    }
}

extension JSON {
    /// A member's text of at most so many code points; nil if it is missing.
    func text(_ name: String, upTo limit: Int, or refusal: @autoclosure () -> Refusal) throws(Refusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.asString, text.unicodeScalars.count <= limit else { throw refusal() }
        return text
    }
}
