import BellhopCore
import CEL

/// Decides a batch, one run after the other: each run sees the state that the one before left.
struct BatchDecider {
    let book: RuleBook
    let matches: Matches
    let facts: RoutingFacts
    let now: BellhopCore.Timestamp
    let frame: RunFrame
    let activation: Activation
    var memory: RuleMemory
    private var keeper: MessageKeeper?
    private var quiet: QuietKeeper
    /// The current run among those of the batch, and whether its deliveries are only recorded.
    private var (runNumber, isShadow) = (0, false)
    /// What the current run opened and closed at pagers.
    private(set) var (opened, closed): ([Pager], [Pager]) = ([], [])
    /// The rules that this batch has given the events since their run before.
    var digested: Set<Int> = []
    /// The elements of the lists of rules whose waits this batch ends, by the place of the rule.
    var listed: [Int: Set<String>] = [:]
    /// The keys of the waits that events of the batch may end, by the place of the rule; empty if no event may end one.
    private var waits: [Set<String>]
    /// What turned out to be needed, apart from state.
    var needs = RoutingNeeds()
    private(set) var timers: [TimerChange] = []
    /// When the first timer that this batch has set is due, of those that are due later than what set them.
    private var firstDue = Timestamp.distantFuture
    /// The bytes that this batch stores.
    private var bytes = 0
    /// The work of this batch's expressions, and what the current run may do.
    private var (work, granted): (Int64, Int64) = (0, 0)
    private let workPerRun: Int64
    private var deliveries: [Delivery] = []
    private var events: [Event] = []
    private var tallies: [Int: RuleTally] = [:]
    private var decisions: [DecisionRecord] = []
    /// How many records this batch has made of each rule and verdict, including those that are not kept.
    private var stops: [StopKind: Int64] = [:]

    private struct StopKind: Hashable {
        var rule: String
        var verdict: DecisionRecord.Verdict
    }

    init(
        _ book: RuleBook, _ matches: Matches, _ facts: RoutingFacts, silences: SilenceBook = .empty,
        at now: BellhopCore.Timestamp, work: Int64 = RuleBook.workPerRun
    ) {
        keeper = MessageKeeper(silences, events: matches.events, at: now)
        quiet = QuietKeeper(book, at: now)
        workPerRun = work
        self.book = book
        self.matches = matches
        self.facts = facts
        memory = RuleMemory(facts, at: now)
        waits = Array(repeating: [], count: matches.endings.isEmpty ? 0 : book.compiled.count)
        if !waits.isEmpty {
            for key in facts.state.waits {
                if let place = book.byWait[key.rule] { waits[place].insert(key.key) }
            }
        }
        self.now = now
        frame = RunFrame(book.facts, events: matches.events, now: now, snapshots: facts.tasks)
        activation = Activation(book.slots)
    }

    /// Decides the batch, one event or timer after the other, until one transaction is full.
    mutating func decided() -> Decided {
        var end = matches.count
        var (next, ended) = (0, 0)
        var answers = matches.answers[...]
        for place in 0..<matches.count {
            if place > 0, isFull || isOvertaken(at: place) || comesTooLate(place) || isNextDigest(next, at: place) {
                end = place
                break
            }
            if !matches.timers.isEmpty { fire(matches.timers[place]) }
            while ended < matches.endings.count, matches.endings[ended].place == place {
                self.end(matches.endings[ended])
                ended += 1
            }
            // What an event ends comes before what it begins.
            if answers.first == place {
                answers.removeFirst()
                metered { $0.answer(at: place) }
            }
            let first = next
            while next < matches.runs.count, matches.runs[next].place == place {
                if next == first || !book.compiled[matches.runs[next - 1].rule].time.isEmpty {
                    frame.move(to: place)
                    activation.begin(frame)
                }
                run(matches.runs[next])
                next += 1
            }
        }
        needs.state.formUnion(memory.missing)
        guard needs.isEmpty else { return .needs(needs) }
        return .routing(
            Routing(
                routed: matches.events.prefix(end).map(\.sequence), fired: Array(matches.timers.prefix(end)),
                deliveries: deliveries, state: memory.changes, timers: lastTimers, events: events,
                tallies: tallies.sorted { $0.key < $1.key }.map(\.value), decisions: latestDecisions, at: now))
    }

    /// Whether the rule may have a wait for the key.
    func mayWait(_ rule: Int, for key: String) -> Bool { waits[rule].contains(key) }

    mutating func noteWait(_ rule: Int, for key: String) {
        if !waits.isEmpty { waits[rule].insert(key) }
    }

    /// Whether a timer that this batch has set is due before the next one of the batch.
    private func isOvertaken(at place: Int) -> Bool {
        guard !matches.timers.isEmpty else { return false }
        return timers.contains { if case .set(let timer) = $0 { timer.due < matches.timers[place].due } else { false } }
    }

    /// Whether a timer that this batch has set is due before this event, or at its moment.
    private func comesTooLate(_ place: Int) -> Bool {
        matches.timers.isEmpty && firstDue <= matches.events[place].event.time
    }

    /// - Parameter time: the moment that the run is at.
    mutating func set(_ timer: RuleTimer, at time: BellhopCore.Timestamp) {
        timers.append(.set(timer))
        if timer.due > time { firstDue = min(firstDue, timer.due) }
    }

    mutating func cancel(_ timer: RuleTimer.ID) { timers.append(.cancel(timer)) }

    /// The last change of each timer, in the order of these.
    private var lastTimers: [TimerChange] {
        guard timers.count > 1 else { return timers }
        var seen: Set<RuleTimer.ID> = []
        return timers.reversed().filter { seen.insert($0.id).inserted }.reversed()
    }

    /// Whether one transaction is full; the rest of the batch comes with the next.
    private var isFull: Bool {
        bytes >= Self.mostBytes || work >= RuleBook.workPerBatch || RuleBook.isCancelled(after: work)
    }

    /// The bytes of deliveries and events in one transaction; the last event's rules may exceed it.
    private static let mostBytes = 4 << 20
    /// The approximate sizes in bytes of a schedule's event, a decision record, and a gathered run.
    private static let (eventBytes, recordBytes) = (256, 200)
    static let gatheredBytes = 300

    /// Decides what a timer that came due causes.
    private mutating func fire(_ timer: RuleTimer) {
        guard let place = book.byName[timer.id.rule], !book.compiled[place].isOff else { return }
        let rule = book.compiled[place]
        switch timer.id.kind {
        case .schedule:
            // Makes the events of the schedule, as the rule's `missed` says, and sets the next time. If the rule no longer has a
            // schedule, there is no next time.
            guard let schedule = rule.schedule else { return }
            let (occurrences, next) = schedule.fire(due: timer.due, at: now)
            for occurrence in occurrences { events.append(.scheduleDue(rule: rule.name, occurrence, at: now)) }
            bytes += occurrences.count * Self.eventBytes
            if let next { set(RuleTimer(timer.id, due: next), at: timer.due) }
        case .hold: metered { $0.endHold(timer, place) }
        case .absence: metered { $0.endAbsence(timer, place) }
        case .existing: metered { $0.beginByItself(timer, place) }
        case .group: metered { $0.flush(timer, place) }
        case .escalation: metered { $0.escalate(timer, place) }
        }
    }

    private mutating func run(_ run: Matches.Run) {
        metered { $0.decide(run) }
    }

    /// Bounds the work of the expressions of one run, and counts it.
    private mutating func metered(_ run: (inout BatchDecider) -> Void) {
        granted = workPerRun
        activation.workLeft = granted
        run(&self)
        work += granted - activation.workLeft
    }

    /// Gives the next element of a list the work of a run of its own, as long as the batch's lasts.
    mutating func renewWork() {
        work += granted - activation.workLeft
        granted = min(workPerRun, max(0, RuleBook.workPerBatch - work))
        activation.workLeft = granted
    }

    private mutating func decide(_ run: Matches.Run) {
        let rule = book.compiled[run.rule]
        guard rule.time.isEmpty else { return begin(run, rule) }
        if rule.readsDigest, !giveDigest(to: run, of: rule) { return }
        switch run.condition ?? rule.judge(activation) {
        case .holds:
            if perform(rule, run.rule, run.keys), rule.readsDigest { endDigest(of: rule, at: run.place) }
        case .doesNotHold: break
        case .failed(let stop): record(stop, of: run.rule)
        }
    }

    /// Runs the rule, unless its own writes led here, or `throttle` or `once` stop it; returns whether it ran.
    /// - Parameter candidate: the run on its way through the parts of its rule; nil for a rule without such parts.
    @discardableResult
    mutating func perform(_ rule: Rule, _ number: Int, _ keys: RunKeys, _ candidate: Candidate? = nil) -> Bool {
        if let stop = keys.stop ?? loop(rule) ?? memory.pass(keys, rule) {
            record(stop, of: number)
            return false
        }
        tally(number) { $0.runs += 1 }
        perform(rule.steps, of: rule, number, isShadow: keys.isShadow)
        if let escalation = rule.escalation { begin(escalation, of: rule, number, candidate, isShadow: keys.isShadow) }
        return true
    }

    /// The stop of a run to which too many of our own writes led.
    private func loop(_ rule: Rule) -> Stop? {
        guard rule.mayCauseEvents, frame.hop >= Event.lastHop else { return nil }
        let writes = "\(Event.lastHop) writes or events of rules led to this event, each causing the next"
        return .failed(.loop, "stopped: \(writes); rules trigger each other")
    }

    /// Makes the deliveries of these steps.
    mutating func perform(_ steps: [Step], of rule: Rule, _ number: Int, isShadow: Bool) {
        (runNumber, self.isShadow) = (runNumber + 1, isShadow)
        (opened, closed) = ([], [])
        perform(steps, of: rule, number)
    }

    mutating func record(_ stop: Stop, of number: Int) {
        let rule = book.compiled[number].name
        let count = stops[StopKind(rule: rule, verdict: stop.verdict), default: 0] + 1
        stops[StopKind(rule: rule, verdict: stop.verdict)] = count
        let record = DecisionRecord(
            rule: rule, verdict: stop.verdict, occasion: frame.occasion.id, at: now, number: count, detail: stop.detail)
        decisions.append(record)
        bytes += Self.recordBytes
        if let error = record.error { self.count(error: error, of: number) }
    }

    mutating func add(bytes count: Int) { bytes += count }

    /// The records that are kept.
    private var latestDecisions: [DecisionRecord] {
        decisions.filter { record in
            record.number > stops[StopKind(rule: record.rule, verdict: record.verdict), default: 0] - Int64(DecisionRecord.most)
        }
    }

    // MARK: Steps

    private mutating func perform(_ steps: [Step], of rule: Rule, _ number: Int) {
        let owner = frame.reference
        // What the next steps wait for: the latest earlier step that stops the run if it fails.
        var after: [Delivery.ID] = []
        for step in steps {
            let first = deliveries.count
            var isFine = true
            do throws(RenderFailure) {
                guard try applies(step) else { continue }
                isFine = try make(step, rule, number, owner)
            } catch {
                isFine = false
                let message = "step \(step.name ?? step.path.text) (\(step.action.kind)): \(error.message)"
                // Other steps become dead deliveries, which are visible anyway.
                if step.action.isMessage || isShadow {
                    record(.failed(.stepFailed, message), of: number)
                } else {
                    count(error: message, of: number)
                }
                fail(step, rule, number, owner, error)
            }
            for place in deliveries.indices[first...] {
                deliveries[place].after = after
                if step.action.emitsEvent, after.isEmpty, deliveries[place].waits { emit(place) }
            }
            guard step.stopsOnError else { continue }
            if !isFine { return }
            // Shadow mode delivers nothing, so later steps would wait forever.
            let made = deliveries[first...].filter(\.waits)
            if !isShadow, !made.isEmpty { after = made.map(\.id) }
        }
    }

    /// Stores the event of a delivery that waits for nothing together with it.
    private mutating func emit(_ place: Int) {
        guard let event = deliveries[place].emittedEvent(at: now) else { return }
        deliveries[place].initial = .done(Delivery.receipt(for: event))
        events.append(event)
        bytes += Self.eventBytes
    }

    private func applies(_ step: Step) throws(RenderFailure) -> Bool {
        guard let condition = step.condition else { return true }
        switch condition.program.verdict(activation) {
        case .yes: return true
        case .no, .unknown: return false
        case .failed(let error): throw RenderFailure("`if` failed: \(error.message)")
        }
    }

    /// Makes the deliveries of a step; false if one is dead from the start.
    private mutating func make(
        _ step: Step, _ rule: Rule, _ number: Int, _ owner: TaskReference?
    ) throws(RenderFailure) -> Bool {
        let renderer = Renderer(frame: frame, activation: activation, zone: rule.zone)
        var target: WriteTarget?
        if step.action.effect == .writes {
            target = try WriteTargets(frame: frame, activation: activation, zone: rule.zone).target(of: step)
        }
        let arguments: Arguments
        var isEmpty = false
        var staysOpen = true
        switch step.content {
        case .message(let template):
            let message = try renderer.message(template)
            arguments = .message(message)
            staysOpen = template.staysOpen
            if template.skipsEmpty, message.isEmpty { isEmpty = true }
        case .values(let templates):
            var values = JSON.Object()
            for template in templates {
                values[template.name] =
                    try template.name == "data" && step.action.emitsEvent
                    ? renderer.eventData(template.value) : renderer.value(template.value)
            }
            if let target, values["unless_changed"] == true { values["seen"] = .object(try frame.seen(of: target)) }
            if step.hasComputedHost { values[ActionManifest.computedHost] = true }
            if step.action.emitsEvent, values["subject"] == nil { values["subject"] = .string(frame.subject) }
            arguments = .values(values)
        }
        var isFine = true
        for receiver in receivers(step, arguments, target) {
            var state = Delivery.InitialState.available
            var end: BellhopCore.Timestamp?
            if isShadow {
                state = .shadow
            } else if isEmpty {
                state = .done(Receipt(Message.notSent))
            } else if let kept = keptBack(step, rule, number, receiver) {
                (state, end) = kept
            } else if let counted = target ?? unseenTarget(step, rule, receiver, arguments),
                let failure = memory.spend(counted, rule)
            {
                state = .dead(failure)
                isFine = false
                record(
                    Stop(
                        verdict: .budget, detail: ["step": .string(step.path.text), "task": .string(counted.reference.subject)]),
                    of: number)
            }
            bytes += renderer.room.used
            add(delivery(step, rule, receiver, arguments, target?.reference ?? owner, target, state, end))
            if !staysOpen, rule.escalation != nil, state == .available || state == .shadow { notePager(receiver) }
        }
        return isFine
    }

    /// Remembers what the latest delivery opened or closed, if its receiver is a pager.
    private mutating func notePager(_ receiver: String) {
        guard frame.facts.isPager(receiver), let delivery = deliveries.last, case .message(let message) = delivery.arguments
        else { return }
        let pager = Pager(receiver: receiver, thread: message.thread ?? delivery.id.text, lane: delivery.lane)
        if message.resolve { closed.append(pager) } else { opened.append(pager) }
    }

    /// The budget for a request that is not itself a write to a task, but goes to a connection that a source reads.
    private func unseenTarget(_ step: Step, _ rule: Rule, _ receiver: String, _ arguments: Arguments) -> WriteTarget? {
        guard frame.facts.readConnections.contains(receiver) else { return nil }
        if case .values(let values) = arguments, let method = values["method"]?.asString, ["GET", "HEAD"].contains(method) {
            return nil
        }
        return WriteTargets(frame: frame, activation: activation, zone: rule.zone).unseen(by: step)
    }

    private func receivers(_ step: Step, _ arguments: Arguments, _ target: WriteTarget?) -> [String] {
        switch step.receivers {
        case .taskConnection:
            if let target { return [target.connection] }
            return [frame.facts.connection(of: frame.source)]
        case .named(let names): return names
        case .argument(let name):
            if let name, case .values(let values) = arguments, let text = values[name]?.plainText.nonEmpty { return [text] }
            return [step.action.kind]
        }
    }

    /// Handles a step that cannot be rendered: instead of a message, a plain one with the error is sent; any other delivery is
    /// created dead, so that people see it.
    private mutating func fail(_ step: Step, _ rule: Rule, _ number: Int, _ owner: TaskReference?, _ error: RenderFailure) {
        var arguments = Arguments.values([:])
        var state = Delivery.InitialState.dead(Failure(.unrenderable, .giveUp, error.message))
        if step.action.isMessage {
            arguments = .message(Message.fallback(rule: rule.name, task: owner, error: error.message))
            state = .available
        }
        if isShadow { state = .shadow }
        for receiver in receivers(step, arguments, nil) {
            let kept = state == .available ? keptBack(step, rule, number, receiver) : nil
            add(delivery(step, rule, receiver, arguments, owner, nil, kept?.state ?? state, kept?.end))
            if kept == nil, rule.escalation != nil { notePager(receiver) }
        }
    }

    /// The state of a delivery that is kept back, and the end of the quiet time that holds it; nil for one that may be sent.
    private mutating func keptBack(
        _ step: Step, _ rule: Rule, _ number: Int, _ receiver: String
    ) -> (state: Delivery.InitialState, end: BellhopCore.Timestamp?)? {
        if let silenced = keeper?.state(of: step.action, for: runNumber, of: rule.name, to: receiver, at: frame) {
            return (silenced, nil)
        }
        guard step.action.isMessage, rule.quiet != nil || !book.quiet.isEmpty else { return nil }
        var errors: [String] = []
        guard let verdict = quiet.verdict(on: rule, to: receiver, activation, failed: { errors.append($0) }) else { return nil }
        for error in errors { count(error: error, of: number) }
        var detail: JSON.Object = ["step": .string(step.path.text), "receiver": .string(receiver)]
        defer { record(Stop(verdict: .quiet, detail: detail), of: number) }
        switch verdict {
        case .drop(let owner):
            detail["dropped"] = true
            return (.dropped(.quiet(owner)), nil)
        case .hold(let end):
            detail["until"] = .string(end.rfc3339)
            bytes += Self.eventBytes
            return (.quiet(Delivery.KeptBack(task: frame.snapshot, event: frame.sequence)), end)
        }
    }

    private func delivery(
        _ step: Step, _ rule: Rule, _ receiver: String, _ arguments: Arguments, _ task: TaskReference?, _ target: WriteTarget?,
        _ state: Delivery.InitialState, _ end: BellhopCore.Timestamp?
    ) -> Delivery {
        let lane =
            if let target {
                "task/\(target.connection)/\(target.key.text)"
            } else if case .message(let message) = arguments, let conversation = message.conversation {
                "conversation/\(receiver)/\(conversation)"
            } else {
                "\(rule.name)/\(receiver)/\(task?.subject ?? frame.subject)"
            }
        return Delivery(
            id: Delivery.ID(occasion: frame.occasion.id, rule: rule.name, step: step.path, receiver: receiver),
            revision: rule.summary.revision, action: step.action.kind, name: step.name, effect: step.action.effect,
            arguments: arguments,
            task: task,
            lane: lane, createdAt: now, runAt: end,
            expires: step.expires.map { (end ?? now) + $0 }, retry: step.retry, hop: frame.hop, initial: state)
    }

    mutating func add(_ delivery: Delivery) {
        deliveries.append(delivery)
        if case .dead(let failure) = delivery.initial, let notice = delivery.deathNotice(failure, at: now) {
            events.append(notice)
        }
    }

    // MARK: Counting

    mutating func count(error message: String, of rule: Int) {
        tally(rule) {
            $0.errors += 1
            $0.lastError = message
        }
    }

    private mutating func tally(_ rule: Int, _ change: (inout RuleTally) -> Void) {
        change(&tallies[rule, default: RuleTally(rule: book.compiled[rule].name, runs: 0, errors: 0, at: now)])
    }
}

extension Delivery {
    /// Whether it is still to be done.
    fileprivate var waits: Bool { initial == .available }
}

extension Message {
    /// The receipt of a message that `skip_empty` kept back.
    static let notSent = "not sent: every list is empty"

    /// Whether it has no line in any list.
    var isEmpty: Bool { parts.compactMap(\.list).allSatisfy { $0.items.isEmpty && $0.more == 0 } }

    /// The message sent if a rule's own cannot be rendered: the task and the error.
    static func fallback(rule: String, task: TaskReference?, error: String) -> Message {
        let note: [Inline] = [
            .text("The message of rule "), .value(rule), .text(" could not be rendered: "), .value(error),
        ]
        guard let task else { return Message(title: [.text("Rule "), .value(rule)], text: [.paragraph(note)], isFallback: true) }
        let link = task.url.isEmpty ? nil : Link(label: task.number.nonEmpty ?? "Open", address: task.url)
        return Message(
            title: [.value(task.number), .text(" "), .value(task.title)], text: [.paragraph(note)], link: link, isFallback: true)
    }
}
