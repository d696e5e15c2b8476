public import BellhopCore
import BellhopTelemetry
public import Logging

extension Signal {
    /// The signal's name, the same in logs, metrics and documentation.
    public var name: String { line.name }

    public var level: Logger.Level { line.level }

    /// A constant sentence; the facts are metadata.
    public var message: Logger.Message { line.message }

    private var line: (name: String, level: Logger.Level, message: Logger.Message) {
        switch self {
        case .polled: ("source.polled", .info, "The source was polled.")
        case .unchanged: ("source.unchanged", .debug, "Nothing changed in the source.")
        case .baseline: ("source.baseline", .info, "The first poll of a new source is its baseline.")
        case .pollFailed: ("source.poll_failed", .error, "A poll failed.")
        case .recovered: ("source.recovered", .info, "The source works again.")
        case .pollHeld:
            (
                "source.held", .warning,
                "A poll's result differs so much from the last that it is held until a later poll shows the same."
            )
        case .pollSuperseded:
            ("source.superseded", .warning, "Another poll of the same source was stored first; this one is repeated.")
        case .notice: ("source.notice", .warning, "A notice about the source.")
        case .requestRefused: ("inbound.refused", .warning, "A request from another system was refused.")
        case .event: ("event", .info, "An event happened.")
        case .eventDropped: ("event.dropped", .error, "The store did not accept this event, and it is lost.")
        case .routed: ("router.routed", .debug, "Events, timers or replays went through the rules.")
        case .ruleFailed:
            (
                "rule.failed", .warning,
                "A part of a rule failed for some events: the rule or this step did not run for them, or a plain message replaced its message."
            )
        case .keysLost:
            (
                "rule.keys_lost", .warning,
                "A rule had more keys than it may remember: those not used for the longest time were dropped, or the rule was paused."
            )
        case .shadowed: ("delivery.shadow", .info, "A rule in shadow mode would have done this; it was only recorded.")
        case .silenced: ("delivery.silenced", .info, "A silence keeps this delivery back; it was only recorded.")
        case .quiet: ("delivery.quiet", .info, "A quiet time keeps this message back until it ends.")
        case .dropped:
            (
                "delivery.dropped", .info,
                "A quiet time, or a newer message of its conversation, drops this message; it was only recorded."
            )
        case .released: ("delivery.released", .info, "A quiet time has ended; the messages that it kept back are sent.")
        case .silenceRefused:
            (
                "silence.refused", .error,
                "The condition of a silence has a mistake, so it keeps nothing back: end it, and add a corrected one."
            )
        case .delivered: ("delivery.done", .info, "Done.")
        case .retrying: ("delivery.retrying", .warning, "An attempt failed; the delivery is tried again.")
        case .postponed(_, _, _, let isNewRest):
            (
                "delivery.postponed", isNewRest ? .warning : .debug,
                "The receiver is busy; its deliveries wait in order, and no attempt is counted."
            )
        case .dead: ("delivery.dead", .error, "A delivery is dead; only a person can retry it (bellhop deliveries).")
        case .held:
            ("delivery.held", .error, "A delivery is held: it may have been done; a person must decide (bellhop deliveries).")
        case .paused: ("delivery.paused", .warning, "A delivery waits until its connection works again.")
        case .leaseLost: ("delivery.lease_lost", .warning, "An attempt took longer than its lease; its outcome was discarded.")
        case .coalesced: ("delivery.coalesced", .info, "Waiting messages are sent as one.")
        case .breakerOpened:
            (
                "receiver.breaker_opened", .warning,
                "A receiver failed several times in a row; its deliveries wait, then one is tried."
            )
        case .breakerTrial: ("receiver.breaker_trial", .info, "One delivery is tried at the receiver that failed.")
        case .breakerClosed: ("receiver.breaker_closed", .info, "The receiver answers again.")
        case .receiverPaused(let stop):
            (
                "receiver.paused", stop.cause == .person ? .info : .error,
                "The receiver is paused; its deliveries wait until a person resumes it (bellhop resume)."
            )
        case .receiverResumed: ("receiver.resumed", .info, "A person resumed the receiver.")
        case .rescued: ("delivery.rescued", .info, "Attempts interrupted by an earlier stop are continued.")
        case .rulesLoaded: ("rules.loaded", .info, "The rules are loaded.")
        case .waitsEnded:
            (
                "rule.waits_ended", .warning,
                "A rule was changed, turned off or removed: what it waited for has ended without a run."
            )
        case .rulesRefused: ("rules.refused", .error, "The changed rules have errors; the old ones stay in force.")
        case .ruleRefused: ("rule.refused", .error, "A changed rule has a mistake.")
        case .rulesUnwatched:
            (
                "rules.unwatched", .warning,
                "Rule folders cannot be watched (inotify has no watches left); send SIGHUP after a change."
            )
        case .configurationChanged: ("configuration.changed", .warning, "The configuration changed; restart to use it.")
        case .configurationWrong:
            (
                "configuration.wrong", .error,
                "The changed configuration has mistakes; Bellhop goes on with the old one, but cannot start with this one (bellhop check)."
            )
        case .configurationUnreadable:
            (
                "configuration.unreadable", .error,
                "The configuration is missing or cannot be read; Bellhop goes on with the old one, but cannot start without it."
            )
        case .configurationRestored:
            ("configuration.restored", .info, "The configuration is readable and has no mistakes any more.")
        case .storeFailed: ("store.failed", .error, "The store failed.")
        case .pruned: ("store.pruned", .debug, "Old rows were deleted.")
        case .clockJumped:
            (
                "clock.jumped", .warning,
                "The clock was set, or the machine slept: polls and schedules follow the new time; missed runs follow the rules' `missed`."
            )
        case .rebound(_, nil): ("connection.rebound", .info, "The changed secrets are in use.")
        case .rebound: ("connection.rebound", .error, "The changed secrets are not in use.")
        case .telemetryFailed:
            (
                "telemetry.failed", .warning,
                "The OpenTelemetry receiver accepts none of this data, which is dropped until it does."
            )
        case .telemetryRecovered: ("telemetry.recovered", .info, "The OpenTelemetry receiver accepts this data again.")
        case .stopping: ("agent.stopping", .info, "Stopping; deliveries in progress are finished first.")
        }
    }

    var metadata: Logger.Metadata {
        switch self {
        case .polled(let source, let tasks, let events, let took):
            ["source": "\(source)", "tasks": "\(tasks)", "events": "\(events)", "ms": "\(took.milliseconds)"]
        case .unchanged(let source, let tasks, let took):
            ["source": "\(source)", "tasks": "\(tasks)", "ms": "\(took.milliseconds)"]
        case .baseline(let source, let tasks): ["source": "\(source)", "tasks": "\(tasks)"]
        case .pollFailed(let source, let failure, let failures, let next):
            (failures == 1 ? failure.advisedMetadata : failure.metadata)
                .with(["source": "\(source)", "failures": "\(failures)"]).with(next.map { ["next": "\($0)"] } ?? [:])
        case .pollHeld(let source, let held):
            [
                "source": "\(source)", "new": "\(held.new)", "gone": "\(held.gone)", "changed": "\(held.changed)",
                "known": "\(held.known)", "fields": "\(held.fields.joined(separator: ", "))",
            ]
        case .recovered(let source, let failures, let since):
            (["source": "\(source)", "failures": "\(failures)"] as Logger.Metadata)
                .with(since.map { ["since": "\($0)"] as Logger.Metadata } ?? [:])
        case .pollSuperseded(let source): ["source": "\(source)"]
        case .notice(let source, let text): ["source": "\(source)", "notice": "\(text)"]
        case .requestRefused(let source, let status, let reason, let times):
            ["source": "\(source)", "status": "\(status)", "error": "\(reason)", "times": "\(times)"]
        case .event(let event), .eventDropped(let event): event.metadata
        case .routed(let events, let deliveries, let took):
            ["events": "\(events)", "deliveries": "\(deliveries)", "ms": "\(took.milliseconds)"]
        case .ruleFailed(let rule, let error, let times): ["rule": "\(rule)", "error": "\(error)", "times": "\(times)"]
        case .keysLost(let loss):
            ["rule": "\(loss.rule)", "dropped": "\(loss.dropped)", "most": "\(loss.most)", "paused": "\(loss.isStopped)"]
        case .shadowed(let delivery): delivery.metadata
        case .silenced(let delivery, let silence): delivery.metadata.with(["silence": "\(silence)"])
        case .quiet(let delivery, let until): delivery.metadata.with(["until": "\(until)"])
        case .dropped(let delivery, let failure): delivery.metadata.with(failure.metadata)
        case .released(let receiver, let count): ["receiver": "\(receiver)", "count": "\(count)"]
        case .silenceRefused(let id, let problem): ["silence": "\(id)", "error": "\(problem)"]
        case .delivered(let delivery, let receipt, let attempt, let took):
            delivery.metadata.with(["receipt": "\(receipt.summary)", "attempt": "\(attempt)", "ms": "\(took.milliseconds)"])
        case .retrying(let delivery, let failure, let attempt, let at):
            delivery.metadata.with(attempt == 1 ? failure.advisedMetadata : failure.metadata)
                .with(["attempt": "\(attempt)", "next": "\(at)"])
        case .dead(let delivery, let failure), .held(let delivery, let failure):
            delivery.metadata.with(failure.advisedMetadata)
        case .paused(let delivery, let failure, let until):
            delivery.metadata.with(failure.metadata).with(["next": "\(until)"])
        case .postponed(let delivery, let failure, let until, _):
            delivery.metadata.with(failure.metadata).with(until.map { ["next": "\($0)"] } ?? [:])
        case .breakerOpened(let stop):
            ["receiver": "\(stop.receiver)", "error": "\(stop.reason)", "next": "\(stop.until.map(\.description) ?? "")"]
        case .breakerTrial(let receiver), .receiverResumed(let receiver): ["receiver": "\(receiver)"]
        case .breakerClosed(let stop): ["receiver": "\(stop.receiver)", "since": "\(stop.since)"]
        case .receiverPaused(let stop):
            ["receiver": "\(stop.receiver)", "by": "\(stop.cause.rawValue)", "reason": "\(stop.reason)"]
        case .coalesced(let receiver, let count): ["receiver": "\(receiver)", "count": "\(count)"]
        case .leaseLost(let delivery): delivery.metadata
        case .rescued(let count): ["count": "\(count)"]
        case .rulesLoaded(let count, let warnings): ["count": "\(count)", "warnings": "\(warnings)"]
        case .waitsEnded(let ended):
            ["rule": "\(ended.rule)", "waits": "\(ended.waits)", "escalations": "\(ended.escalations)"]
        case .rulesRefused(let problems): ["problems": "\(problems)"]
        case .ruleRefused(let problem): problem.metadata
        case .rulesUnwatched: [:]
        case .configurationChanged(let file), .configurationRestored(let file): ["file": "\(file)"]
        case .configurationWrong(let file, let problem), .configurationUnreadable(let file, let problem):
            ["file": "\(file)", "problem": "\(problem)"]
        case .storeFailed(let doing, let error, let times):
            ["doing": "\(doing)", "error": "\(error.message)", "times": "\(times)"]
        case .pruned(let rows): ["rows": "\(rows)"]
        case .clockJumped(let by): ["by": "\(by.components.seconds) s"]
        case .rebound(let connection, let problem):
            (["connection": "\(connection)"] as Logger.Metadata).with(
                problem.map { ["error": "\($0)"] as Logger.Metadata } ?? [:])
        case .telemetryFailed(let data, let receiver, let error):
            ["data": "\(data.rawValue)", "receiver": "\(receiver)", "error": "\(error)"]
        case .telemetryRecovered(let data): ["data": "\(data.rawValue)"]
        case .stopping(let inFlight): ["in_flight": "\(inFlight)"]
        }
    }
}

extension Logger.Metadata {
    func with(_ other: Logger.Metadata) -> Logger.Metadata { merging(other) { _, new in new } }
}

extension Failure {
    var metadata: Logger.Metadata { ["reason": "\(reason.rawValue)", "error": "\(message)"] }

    /// The metadata with the advice, for the first such failure in a row.
    var advisedMetadata: Logger.Metadata { advice.map { metadata.with(["help": "\($0)"]) } ?? metadata }
}

extension Event {
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["event": "\(shortID)", "type": "\(type.name)", "source": "\(source)"]
        if let task {
            metadata["task"] = "\(task.number.isEmpty ? task.key.text : task.number)"
            metadata["title"] = "\(task.title)"
        }
        if let changes = changesInWords { metadata["changes"] = "\(changes)" }
        if let comment = data[.comment] {
            metadata["author"] = "\(comment[.author]?.asString ?? "")"
            metadata["text"] = "\(comment[.text]?.asString ?? "")"
        }
        return metadata
    }

    /// The start of the id, by which `bellhop events` finds it.
    public var shortID: String { String(id.text.prefix(12)) }

    /// `priority: 3 → 2, state: 1 → 2`; nil if nothing changed.
    public var changesInWords: String? {
        guard let changes, !changes.isEmpty else { return nil }
        func words(_ value: JSON?) -> String {
            switch value {
            case .string(let text)?: text.isEmpty ? "\"\"" : text
            case let value?: value.text
            case nil: "-"
            }
        }
        // A changed title is listed only as `title`, not also under the name that the source has for it.
        return changes.filter { $0.key == "title" || $0.value != changes["title"] }
            .map { "\($0.key): \(words($0.value[.from])) → \(words($0.value[.to]))" }.joined(separator: ", ")
    }
}

extension Diagnostic {
    /// The place, the code and the message for programs, and the text that `bellhop check` shows.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["code": "\(code)", "problem": "\(message)", "shown": "\(rendered())"]
        if let place { metadata["place"] = "\(place.file):\(place.line):\(place.column)" }
        if let help { metadata["help"] = "\(help)" }
        return metadata
    }
}

extension Delivery {
    /// The start of the id, by which `bellhop deliveries` finds it.
    public var shortID: String { String(id.text.prefix(12)) }

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "delivery": "\(shortID)", "rule": "\(id.rule)", "action": "\(action)", "receiver": "\(id.receiver)",
        ]
        if let name { metadata["step"] = "\(name)" }
        if let task {
            metadata["source"] = "\(task.source)"
            metadata["task"] = "\(task.number.isEmpty ? task.key.text : task.number)"
        }
        return metadata
    }
}

extension Duration {
    /// The duration in milliseconds with three decimals, for logs.
    var milliseconds: Double { (seconds * 1e6).rounded() / 1000 }
}
