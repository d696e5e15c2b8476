import BellhopConnectors
public import BellhopCore
import BellhopEngine

extension StoredEvent {
    /// The event as a CloudEvent, with its place on the bus as an extension attribute.
    public var json: JSON {
        var json = event.cloudEvent
        json["sequence"] = .int(sequence)
        return json
    }
}

extension DeliveryRecord {
    /// The delivery with its history. Arguments are as rendered; they hold no secrets.
    public var json: JSON {
        let delivery = delivery
        var object: JSON.Object = [
            "id": .string(delivery.id.text), "state": .string(state.rawValue), "rule": .string(delivery.id.rule),
            "step": .string(delivery.id.step.text), "action": .string(delivery.action), "receiver": .string(delivery.id.receiver),
            "occasion": .string(delivery.id.occasion.text), "revision": .string(delivery.revision),
            "attempts": .int(Int64(attempts)), "created": .string(delivery.createdAt.rfc3339), "next": .string(runAt.rfc3339),
            "finished": finishedAt.json,
        ]
        if let name = delivery.name { object["name"] = .string(name) }
        if let task = delivery.task {
            object["task"] = [
                "id": .string(task.key.text), "number": .string(task.number), "title": .string(task.title),
                "url": .string(task.url),
            ]
        }
        if case .silenced(let silence) = delivery.initial { object["silence"] = .string(silence) }
        if state == .quiet { object["quiet_until"] = .string(runAt.rfc3339) }
        if let firstStarted { object["first_attempt"] = .string(firstStarted.rfc3339) }
        if let lastStarted { object["last_attempt"] = .string(lastStarted.rfc3339) }
        if let expires = delivery.expires { object["expires"] = .string(expires.rfc3339) }
        if !delivery.edits.isEmpty {
            object["edits"] = .array(delivery.edits.map { ["by": .string($0.by), "at": .string($0.at.rfc3339)] })
        }
        if !delivery.after.isEmpty { object["after"] = .array(delivery.after.map { .string($0.text) }) }
        if let receipt { object["receipt"] = .string(joined?.summary ?? receipt.summary) }
        if let joined { object["joined"] = joined.json }
        if let failure {
            object["error"] = ["reason": .string(failure.reason.rawValue), "message": .string(failure.message)]
        }
        switch delivery.arguments {
        case .values(let values): object["arguments"] = .object(values)
        case .message(let message):
            object["message"] = ["title": .string(message.title.plainText), "text": .string(PlainRenderer.text(message))]
        }
        return .object(object)
    }

    /// The record with the body of the request for its message, without the address and other secrets.
    /// - Parameter connection: the connection that receives the delivery.
    func json(sentTo connection: Configuration.ConnectionEntry?) -> JSON {
        var json = json
        guard case .message(let message) = delivery.arguments, let connection,
            let body = Catalogue.body(of: message, for: delivery, kind: connection.kind, connection.settings)
        else { return json }
        json["request"] = [
            "method": "POST", "to": .string("the address of connection \(delivery.id.receiver) (kind \(connection.kind))"),
            "body": body,
        ]
        return json
    }
}

extension Delivery {
    /// The contents of the delivery, without its state and its times.
    /// - Parameter connection: the connection that receives it.
    public func rendered(to connection: Configuration.ConnectionEntry?) -> JSON {
        let record = DeliveryRecord(delivery: self, state: .available, attempts: 0, runAt: createdAt).json(sentTo: connection)
        var rendered: JSON.Object = [:]
        for name in ["step", "name", "action", "receiver", "task", "arguments", "message", "request"] {
            if let value = record[name] { rendered[name] = value }
        }
        return .object(rendered)
    }
}

extension StoreStatus {
    /// A summary of the store. Leaves out the sources, because a running agent knows more about them.
    var json: JSON {
        func json(_ counts: [DeliveryState: Int]) -> JSON {
            .object(DeliveryState.allCases.reduce(into: [:]) { $0[$1.rawValue] = .int(Int64(counts[$1] ?? 0)) })
        }
        return [
            "rules": .array(rules.map(\.json)), "deliveries": json(deliveries), "joined": json(joined),
            "undecided": .array(undecided.map(\.json)), "quiet": .array(quiet.map(\.json)),
            "events": .int(Int64(events)), "unrouted": .int(Int64(unrouted)), "damaged": .int(Int64(damaged)),
        ]
    }
}

extension StoreStatus.SourceStatus {
    /// - Parameters:
    ///   - underway: the running agent's present activity for the source, if any.
    ///   - polled: its last successful poll by the running agent.
    ///   - notices: the current ones about it.
    func json(underway: SourceActivity?, polled: String?, notices: [JSON], at now: Timestamp) -> JSON {
        let (state, since) = state(underway, at: now)
        return [
            "source": .string(source), "scope": .string(scope.id.text), "instance": .string(scope.instance),
            "user": .string(scope.user),
            "kind": .string(scope.kind),
            "baseline": .bool(hasBaseline), "tasks": .int(Int64(tasks)), "last_change": lastCommit.json,
            "last_poll": polled.map(JSON.string) ?? health.lastSuccess.json,
            "failures": .int(Int64(health.failures)), "failing_since": health.failingSince.json,
            "error": .optional(health.lastError), "held": .bool(health.held != nil),
            "state": .string(state.rawValue), "since": since.json, "notices": .array(notices),
        ]
    }

    /// The source's state, as named in status, logs and documentation.
    private func state(_ underway: SourceActivity?, at now: Timestamp) -> (SourceState, since: Timestamp?) {
        if health.failures > 0 { return (.failing, health.failingSince) }
        if let held = health.held { return (.held, held.since) }
        switch underway?.kind {
        case .preparing: return (.preparing, underway?.since)
        case .polling where underway.map { now - $0.since >= Self.longPoll } ?? false: return (.polling, underway?.since)
        case .polling, nil: return (hasBaseline ? .fine : .new, nil)
        }
    }

    /// A poll that takes longer is shown in the status.
    private static let longPoll = Duration.seconds(5)
}

public enum SourceState: String, Sendable, Hashable, CaseIterable {
    /// It has not been polled yet.
    case new
    /// It is reading the fields of its tasks, and has not been polled since the agent's start.
    case preparing
    /// A poll has been under way for seconds: the remote system is slow, or does not answer.
    case polling
    case fine
    /// Its latest poll failed.
    case failing
    /// Its latest result is held back until the next poll shows the same.
    case held
}

extension StoreStatus.RuleStatus {
    var json: JSON {
        [
            "rule": .string(rule), "runs": .int(Int64(runs)), "errors": .int(Int64(errors)),
            "error": .optional(lastError), "last_run": lastRun.json, "next": nextDue.json, "off": .bool(isOff),
            "dropped_keys": .int(Int64(droppedKeys)),
        ]
    }
}

extension StoreStatus {
    /// The longest stop in force of each receiver.
    func stopped(at now: Timestamp) -> [StopStatus] {
        let longest = ReceiverStop.longest(of: stops.map(\.stop), at: now)
        return stops.filter { longest[$0.stop.receiver] == $0.stop }.sorted { $0.stop.receiver < $1.stop.receiver }
    }
}

extension StoreStatus.WaitStatus {
    func json(at now: Timestamp) -> JSON {
        [
            "rule": .string(rule), "part": .string(part.rawValue), "count": .int(Int64(count)), "gathered": .int(Int64(gathered)),
            "next": next.json, "overdue": .bool(next.map { $0 <= now } ?? false),
        ]
    }
}

extension StoreStatus.UpcomingStatus {
    var json: JSON {
        let name = JSON.optional(subject)
        return [
            "due": .string(timer.due.rfc3339), "rule": .string(timer.id.rule), "kind": .string(timer.id.kind.part),
            "key": .string(timer.id.key), "subject": name, "number": .optional(number),
            "gathered": gathered.map { .int(Int64($0)) } ?? .null,
        ]
    }
}

extension RuleTimer.Kind {
    fileprivate var part: String {
        switch self {
        case .hold: "for"
        case .absence: "none"
        case .escalation: "escalate"
        default: rawValue
        }
    }
}

extension StoreStatus.CountStatus {
    var json: JSON { ["rule": .string(rule), "key": .string(key), "count": .int(Int64(count))] }
}

extension StoreStatus.StopStatus {
    var json: JSON {
        var json = stop.json
        json["receiver"] = .string(stop.receiver)
        json["waiting"] = .int(Int64(waiting))
        return json
    }
}

extension ReceiverStop {
    /// The longest stop in force of each receiver, by the receiver. Of two pauses this is the refusal, whose cause must be repaired.
    static func longest(of stops: [ReceiverStop], at now: Timestamp) -> [String: ReceiverStop] {
        func isLess(_ one: ReceiverStop, _ other: ReceiverStop) -> Bool {
            (one.until ?? .distantFuture, one.cause == .refusal ? 1 : 0)
                < (other.until ?? .distantFuture, other.cause == .refusal ? 1 : 0)
        }
        return Dictionary(stops.filter { $0.lasts(at: now) }.map { ($0.receiver, $0) }) { isLess($0, $1) ? $1 : $0 }
    }

    /// The stop without its receiver.
    var json: JSON {
        ["cause": .string(cause.rawValue), "since": .string(since.rfc3339), "until": until.json, "reason": .string(reason)]
    }
}

extension StoreStatus.QuietStatus {
    var json: JSON { ["receiver": .string(receiver), "until": .string(until.rfc3339), "count": .int(Int64(count))] }
}

extension StoreStatus.UndecidedStatus {
    var json: JSON {
        [
            "state": .string(state.rawValue), "receiver": .string(receiver),
            "reason": .optional(reason?.rawValue), "count": .int(Int64(count)),
        ]
    }
}

extension StoreWatch.Problem {
    var json: JSON {
        [
            "doing": .string(doing), "message": .string(error.message), "time": .string(time.rfc3339),
            "times": .int(Int64(times)), "curable": .bool(isCurable),
        ]
    }
}

extension Timestamp? {
    fileprivate var json: JSON { map { .string($0.rfc3339) } ?? .null }
}
