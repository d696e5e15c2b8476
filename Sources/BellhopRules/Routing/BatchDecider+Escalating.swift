import BellhopCore
import CEL

/// `escalate` and `until`: the steps that follow a run until a person acts.
extension BatchDecider {
    /// How long after the last step an answer still closes the alerts.
    private static let closing = Duration.days(7)
    /// How long the text of the steps is kept after the last step.
    private static let reserve = Duration.days(30)

    // MARK: Beginning

    /// Begins the escalation of a run, unless the rule escalates for its task already.
    mutating func begin(
        _ escalation: Escalation, of rule: Rule, _ number: Int, _ candidate: Candidate?, isShadow: Bool
    ) {
        guard let task = frame.reference else { return }
        let key = StateKey.escalations(of: task.key, in: frame.source)
        guard memory.isKnown(key), memory.isKnown(escalation.key(of: rule)) else { return }
        let piece = key.at(rule.name)
        let (opened, closed) = (opened, closed)
        var alerts: [OpenAlert] = []
        if var other = memory.value(piece).flatMap(ActiveEscalation.init) {
            // An escalation in shadow mode must not stop a live one.
            if let next = other.next, isShadow || !other.isShadow {
                let before = other.alerts
                other.note(opened: opened, closed: closed, isShadow: isShadow)
                if other.alerts != before { memory.set(piece, to: other.json) }
                return record(escalating(other, key.key, until: next.turn.due), of: number)
            }
            guard forgetEvents(of: other, key.key, rule.name) else { return }
            if other.isShadow == isShadow, other.closes.map({ now < $0 }) ?? true { alerts = other.alerts }
        }
        let start = candidate?.start(at: now) ?? matches.replay?.at ?? frame.event?.time ?? now
        var turns: [ActiveEscalation.Turn?] = []
        for step in escalation.steps {
            let due = step.after.end(from: start)
            if due == nil { record(.failed(.keyFailed, step.after.neverEnds), of: number) }
            turns.append(due.map { ActiveEscalation.Turn(due: $0) })
        }
        let latest = candidate?.latest ?? gathered(task.key, at: start, number)
        var underWay = ActiveEscalation(
            began: latest, run: frame.occasion.id, version: escalation.version, key: candidate?.key, since: candidate?.since,
            turns: turns, isShadow: isShadow, alerts: alerts)
        underWay.note(opened: opened, closed: closed, isShadow: isShadow)
        guard let next = underWay.next else { return }
        if escalation.needs.contains(.gathered), let others = candidate?.gathered.filter({ $0.name != latest.name }),
            !others.isEmpty
        {
            underWay.hasMore = true
            for one in others {
                memory.set(Self.events(of: key.key, rule.name).at(one.name), to: one.json)
                bytes += Self.gatheredBytes
            }
        }
        memory.set(piece, to: underWay.json)
        keep(escalation, of: rule, from: start)
        let timer = RuleTimer(
            RuleTimer.ID(rule: rule.name, kind: .escalation, key: key.key), due: next.turn.due,
            payload: ["run": .string(underWay.run.text)])
        set(timer, at: start)
        bytes += Self.gatheredBytes
        record(escalating(underWay, key.key, until: next.turn.due), of: number)
    }

    /// The run for an event of the batch.
    func gathered(_ task: TaskKey, at time: Timestamp, _ number: Int) -> Gathered {
        let run = Candidate(rule: number, occasion: frame.occasion, time: time, source: frame.source, subject: frame.subject)
        return Gathered(run, event: frame.sequence, task: task)
    }

    private func escalating(_ underWay: ActiveEscalation, _ key: String, until due: Timestamp) -> Stop {
        var detail: JSON.Object = ["key": .string(key), "until": .string(due.rfc3339)]
        if underWay.run != frame.occasion.id { detail["by"] = .string(underWay.run.text) }
        return Stop(verdict: .escalating, detail: detail)
    }

    /// Stores the rule's present text for as long as the escalation may last, so that the escalation survives changes of the
    /// rule.
    private mutating func keep(_ escalation: Escalation, of rule: Rule, from start: Timestamp) {
        let (key, begun) = (escalation.key(of: rule), max(start, now))
        let end = escalation.end(from: begun)
        if let kept = memory.value(key)?["until"]?.asInt, Timestamp(microseconds: kept) >= end + Self.reserve { return }
        // Twice as long, so that it is not written for each escalation.
        let until = end + (end - begun) + Self.reserve * 2
        memory.set(key, to: ["text": .string(escalation.text), "until": .int(until.microseconds)], expires: until)
    }

    // MARK: Steps

    /// Makes the step whose time has come, unless `until` ends the escalation.
    mutating func escalate(_ timer: RuleTimer, _ number: Int) {
        let key = timer.id.key
        guard memory.isKnown(.escalations(key)),
            var underWay = memory.value(.escalations(key).at(timer.id.rule)).flatMap(ActiveEscalation.init),
            let (place, turn) = underWay.next, turn.due == timer.due
        else { return }
        var candidate = Candidate(
            rule: number, occasion: .escalation(of: underWay.run, step: place, repetition: turn.repetition), time: turn.due,
            source: underWay.began.source, subject: underWay.began.subject)
        guard let rule = book.rule(number, of: underWay.version), let steps = rule.escalation?.steps, place < steps.count
        else {
            guard move(to: candidate), end(underWay, key, number, closing: false) else { return }
            let lost = "the steps of an escalation no longer fit bellhop.yaml, so it has ended"
            return record(.failed(.stepFailed, lost), of: number)
        }
        guard isReady(rule.scopesRead) else { return }
        var isGone = false
        switch present(underWay.began.task, in: candidate.source) {
        case .found(let task)?: candidate.task = task
        case .departed?, .missing?: isGone = true
        case .unread?: return
        case nil: break
        }
        guard move(to: &candidate, of: underWay, key, rule.name) else { return }
        if let stop = removedSource(of: underWay.began, .stepFailed, "the escalation") {
            if end(underWay, key, number, closing: false) { record(stop, of: number) }
            return
        }
        if isGone {
            if end(underWay, key, number, closing: true) { record(ended(key, "the task has left"), of: number) }
            return
        }
        if let reason = isOver(rule, underWay, number) {
            let isAnswered = underWay.isAnswered
            if end(underWay, key, number, closing: isAnswered) { record(ended(key, reason, isAnswered), of: number) }
            return
        }
        let task = underWay.began.task?.text
        let made = deliveries.count
        perform(
            steps[place].actions, of: rule, number, isShadow: underWay.isShadow || book.compiled[number].isShadow(for: task))
        if deliveries.count == made { recordNoStep(steps[place].actions, of: number) }
        underWay.note(opened: opened, closed: closed, isShadow: isShadow)
        underWay.take(steps[place].repetition, at: now)
        if let next = underWay.next {
            memory.set(.escalations(key).at(rule.name), to: underWay.json)
            set(RuleTimer(timer.id, due: next.turn.due, payload: timer.payload), at: timer.due)
        } else if underWay.alerts.isEmpty {
            _ = end(underWay, key, number, closing: false)
        } else {
            // The step may be late by more than this span.
            let closes = max(turn.due, now) + Self.closing
            underWay.closes = closes
            memory.set(.escalations(key).at(rule.name), to: underWay.json, expires: closes)
            let events = underWay.hasMore ? memory.window(Self.events(of: key, rule.name)) : [:]
            for (event, json) in events { memory.set(event, to: json, expires: closes) }
        }
    }

    /// Why `until` ends the frame's current escalation; nil if the escalation goes on. An unknown condition does not
    /// hold; an error is recorded.
    private mutating func isOver(_ rule: Rule, _ underWay: ActiveEscalation, _ number: Int) -> String? {
        switch rule.escalation?.until {
        case .standard?:
            switch rule.condition?.program.verdict(activation) {
            case .no?: return "`when` does not hold any more"
            case .failed(let error)?: record(.failed(.conditionFailed, "`when` failed: \(error.message)"), of: number)
            case .yes?, .unknown?, nil: break
            }
        case .expression(let until, _)?:
            switch until.program.verdict(activation) {
            case .yes: return "`until` holds"
            case .failed(let error): record(.failed(.conditionFailed, "`until` failed: \(error.message)"), of: number)
            case .no, .unknown: break
            }
        case .answered?, nil: break
        }
        return nil
    }

    /// Moves the frame to the run that began the escalation; false if one of its events must be read first.
    private mutating func move(
        to candidate: inout Candidate, of underWay: ActiveEscalation, _ key: String, _ rule: String
    ) -> Bool {
        candidate.gathered = [underWay.began]
        candidate.gathered[0].name = candidate.occasion.id.text
        (candidate.key, candidate.since) = (underWay.key, underWay.since)
        candidate.isAnswered = underWay.isAnswered
        if underWay.hasMore {
            let events = Self.events(of: key, rule)
            guard memory.isKnown(events) else { return false }
            let others = memory.window(events).compactMap { Gathered(name: $0.element, json: $1) }
            candidate.gathered.insert(contentsOf: others.sorted(by: Gathered.isBefore), at: 0)
        }
        return move(to: candidate)
    }

    // MARK: Ending

    /// Ends the escalations of the task of the event at this place of the batch: all if the task has left, otherwise those
    /// that an answer ends.
    mutating func answer(at place: Int) {
        let event = matches.events[place].event
        guard let key = book.escalations(endedBy: event), memory.isKnown(key) else { return }
        for (piece, json) in memory.window(key).sorted(by: { $0.key.element < $1.key.element }) {
            guard let number = book.byName[piece.element], let underWay = ActiveEscalation(json),
                underWay.closes.map({ event.time < $0 }) ?? true
            else { continue }
            if event.type == .taskRemoved {
                finish(underWay, key.key, number, place, ended(key.key, "the task has left"))
                continue
            }
            let rule = book.rule(number, of: underWay.version)
            switch rule?.escalation?.until {
            case .standard?, .answered?, nil: finish(underWay, key.key, number, place, ended(key.key, event.type.name, true))
            case .expression(_, readsAnswer: false)?: break
            case .expression?: if let rule { judgeAnswer(underWay, key.key, rule, number, place) }
            }
        }
    }

    /// Ends the escalation with an event of the batch, and closes what it opened.
    private mutating func finish(
        _ underWay: ActiveEscalation, _ key: String, _ number: Int, _ place: Int, _ stop: Stop
    ) {
        frame.move(to: place)
        activation.begin(frame)
        if end(underWay, key, number, closing: true) { record(stop, of: number) }
    }

    /// Judges an `until` that uses `answered`, for the task as the event shows it.
    private mutating func judgeAnswer(
        _ underWay: ActiveEscalation, _ key: String, _ rule: Rule, _ number: Int, _ place: Int
    ) {
        guard isReady(rule.scopesRead) else { return }
        var answered = underWay
        answered.isAnswered = true
        let event = matches.events[place].event
        var candidate = Candidate(
            rule: number, occasion: .event(event.id), time: event.time, source: underWay.began.source,
            subject: underWay.began.subject, task: event.task)
        guard move(to: &candidate, of: answered, key, rule.name) else { return }
        if isOver(rule, answered, number) != nil {
            finish(answered, key, number, place, ended(key, event.type.name, true))
        } else if !underWay.isAnswered, underWay.next != nil {
            memory.set(.escalations(key).at(rule.name), to: answered.json)
        }
    }

    /// Ends the escalation, and with `closing` what it opened; false if more must be read first.
    private mutating func end(_ underWay: ActiveEscalation, _ key: String, _ number: Int, closing: Bool) -> Bool {
        let rule = book.compiled[number]
        guard forgetEvents(of: underWay, key, rule.name) else { return false }
        memory.delete(.escalations(key).at(rule.name))
        if underWay.next != nil { cancel(RuleTimer.ID(rule: rule.name, kind: .escalation, key: key)) }
        if closing { close(underWay, rule) }
        return true
    }

    /// False if more must be read first.
    private mutating func forgetEvents(of underWay: ActiveEscalation, _ key: String, _ rule: String) -> Bool {
        guard underWay.hasMore else { return true }
        let events = Self.events(of: key, rule)
        guard memory.isKnown(events) else { return false }
        for event in memory.window(events).keys { memory.delete(event) }
        return true
    }

    /// Closes what the escalation opened at pagers.
    mutating func close(_ underWay: ActiveEscalation, _ rule: Rule) {
        let task = frame.reference
        let isShadow = underWay.isShadow || rule.isShadow(for: underWay.began.task?.text)
        for (number, alert) in underWay.alerts.enumerated() {
            var message = Message(title: [.value(task.map { "\($0.number) \($0.title)" } ?? underWay.began.subject)])
            message.text = [.paragraph([.text("The escalation of rule "), .value(rule.name), .text(" has ended.")])]
            (message.thread, message.resolve) = (alert.thread, true)
            let notify = book.facts.actions.values.first(where: \.isMessage)
            var delivery = Delivery(
                id: Delivery.ID(
                    occasion: Occasion.escalationEnd(of: underWay.run).id, rule: rule.name,
                    step: StepPath("\(Delivery.escalationEnd).\(number)"), receiver: alert.receiver),
                revision: rule.summary.revision, action: notify?.kind ?? "notify", arguments: .message(message), task: task,
                lane: alert.lane, createdAt: now, expires: notify?.expires.map { now + $0 }, hop: frame.hop,
                initial: isShadow ? .shadow : .available)
            delivery.closes = alert.opened
            delivery.settles = !isShadow
            add(delivery)
            bytes += Self.gatheredBytes
        }
    }

    private func ended(_ key: String, _ reason: String, _ isAnswered: Bool = false) -> Stop {
        Stop(verdict: isAnswered ? .answered : .ended, detail: ["key": .string(key), "reason": .string(reason)])
    }

    /// The events of the escalation's run before its latest.
    private static func events(of key: String, _ rule: String) -> StateKey { StateKey(rule: rule, kind: .escalated, key: key) }
}

extension Delivery {
    /// The step of messages that close what an escalation opened.
    fileprivate static let escalationEnd = "escalate.end"

    var closesEscalation: Bool { id.step.text.hasPrefix(Self.escalationEnd) }
}
