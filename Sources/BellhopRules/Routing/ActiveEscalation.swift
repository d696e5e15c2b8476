import BellhopCore

/// An escalation of a rule for one task, as it is stored. After its last step it is kept for a while, because an answer still
/// closes what it opened.
struct ActiveEscalation {
    /// The latest event that led to the run, with its task.
    var began: Gathered
    var run: Occasion.ID
    /// The version of the steps that it makes.
    var version: String
    /// The run's `key` and `since`.
    var key: String?
    var since: Timestamp?
    /// The next time of each step of the list; nil for a step that does not come again.
    var turns: [Turn?]
    /// Whether the task was answered, but `until` did not hold then.
    var isAnswered = false
    /// Whether its deliveries are only recorded.
    var isShadow: Bool
    /// Whether the earlier events of the run are stored separately.
    var hasMore = false
    /// The alerts that it and its run opened at pagers.
    var alerts: [OpenAlert] = []
    /// Until when an answer closes these alerts, after the last step.
    var closes: Timestamp?

    struct Turn: Hashable {
        /// How often the step was repeated before.
        var repetition = 0
        var due: Timestamp
    }

    /// The place in the list of the step that comes next, and when it comes: by time, then by the list.
    var next: (place: Int, turn: Turn)? {
        turns.enumerated().compactMap { place, turn in turn.map { (place, $0) } }.min { ($0.1.due, $0.0) < ($1.1.due, $1.0) }
    }

    /// Moves on from the next step, which is made now. Repetitions whose time has also passed are left out.
    mutating func take(_ repetition: Escalation.Repetition?, at now: Timestamp) {
        guard let (place, turn) = next else { return }
        var following: Turn? = turn
        repeat {
            following = following.flatMap { turn in
                guard let repetition, turn.repetition < repetition.times, let due = repetition.every.end(from: turn.due) else {
                    return nil
                }
                return Turn(repetition: turn.repetition + 1, due: due)
            }
        } while following.map { $0.due <= now } ?? false
        turns[place] = following
    }

    /// Records the alerts that a run or a step opened and closed. In shadow mode it neither opens nor closes alerts of a live escalation.
    mutating func note(opened: [OpenAlert], closed: [OpenAlert], isShadow: Bool) {
        guard isShadow == self.isShadow else { return }
        for alert in opened {
            if let place = alerts.firstIndex(where: { $0.isSame(as: alert) }) {
                alerts[place].opened.held += alert.opened.held
                if alert.opened.isOpen { alerts[place].opened.isOpen = true }
            } else {
                alerts.append(alert)
            }
        }
        alerts.removeAll { alert in closed.contains { $0.isSame(as: alert) } }
    }
}

/// An alert that a message opened at a receiver that can close it again.
struct OpenAlert: Sendable, Hashable {
    var receiver: String
    /// The message's thread, or the id of its delivery.
    var thread: String
    /// The lane of the message, in which its end follows it.
    var lane: String
    /// The messages that opened it.
    var opened: Delivery.Closing

    func isSame(as other: OpenAlert) -> Bool { receiver == other.receiver && thread == other.thread }
}

extension ActiveEscalation {
    var json: JSON {
        guard case .object(var members) = began.json else { return began.json }
        members["run"] = .string(run.text)
        members["version"] = .string(version)
        members["turns"] = .array(turns.map { $0.map { [.int(Int64($0.repetition)), .int($0.due.microseconds)] } ?? .null })
        if let key { members["key"] = .string(key) }
        if let since { members["since"] = .int(since.microseconds) }
        if isAnswered { members["answered"] = true }
        if isShadow { members["shadow"] = true }
        if hasMore { members["more"] = true }
        if let closes { members["closes"] = .int(closes.microseconds) }
        if !alerts.isEmpty {
            members["pagers"] = .array(
                alerts.map { alert in
                    var members: JSON.Object = [
                        "receiver": .string(alert.receiver), "thread": .string(alert.thread), "lane": .string(alert.lane),
                    ]
                    if !alert.opened.held.isEmpty { members["held"] = .array(alert.opened.held.map { .string($0) }) }
                    if !alert.opened.isOpen { members["open"] = false }
                    return .object(members)
                })
        }
        return .object(members)
    }

    /// Nil for JSON of another form.
    init?(_ json: JSON) {
        guard let began = Gathered(name: "", json: json), let run = json["run"]?.asString, let turns = json["turns"]?.asArray,
            let version = json["version"]?.asString
        else { return nil }
        self.init(
            began: began, run: Occasion.ID(run), version: version,
            turns: turns.map { turn in
                guard let parts = turn.asArray, parts.count == 2, let repetition = parts[0].asInt, let due = parts[1].asInt else {
                    return nil
                }
                return Turn(repetition: Int(repetition), due: Timestamp(microseconds: due))
            }, isShadow: json["shadow"] == true)
        key = json["key"]?.asString
        since = json["since"]?.asInt.map { Timestamp(microseconds: $0) }
        closes = json["closes"]?.asInt.map { Timestamp(microseconds: $0) }
        (isAnswered, hasMore) = (json["answered"] == true, json["more"] == true)
        alerts = (json["pagers"]?.asArray ?? []).compactMap { alert in
            guard let receiver = alert["receiver"]?.asString, let thread = alert["thread"]?.asString,
                let lane = alert["lane"]?.asString
            else { return nil }
            let held = alert["held"]?.asArray?.compactMap(\.asString) ?? []
            return OpenAlert(
                receiver: receiver, thread: thread, lane: lane, opened: .init(held: held, isOpen: alert["open"] != false))
        }
    }
}
