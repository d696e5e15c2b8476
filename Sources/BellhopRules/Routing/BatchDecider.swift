import BellhopCore
import CEL

/// Decides a batch, one run after the other: each run sees the state that the one before left.
struct BatchDecider {
    let book: RuleBook
    let matches: Matches
    let facts: RoutingFacts
    let now: Timestamp
    let frame: RunFrame
    let activation: Activation
    var memory: RuleMemory
    var silenceFilter: SilenceFilter?
    var quiet: QuietFilter
    /// The number of the current run in the batch, and whether its deliveries are only recorded.
    var (runNumber, isShadow) = (0, false)
    /// The alerts that the current run opened and closed at pagers.
    var (opened, closed): ([OpenAlert], [OpenAlert]) = ([], [])
    /// The rules that have received a digest in this batch.
    var digested: Set<Int> = []
    /// The elements of the lists of rules whose waits this batch ends, by the place of the rule.
    var listed: [Int: Set<TaskObject.ID>] = [:]
    /// The rules that may wait for a key, by their places; nil if no event of the batch may end a wait.
    private var waits: [String: Set<Int>]?
    /// The facts that turned out to be needed, apart from state.
    var needs = RoutingNeeds()
    private(set) var timers: [TimerChange] = []
    /// The first of the timers that this batch has set: when it is due, and the place of its rule.
    private var firstSet = (Timestamp.distantFuture, Int.max)
    /// The earliest due time of the timers that this batch has set for a time after the event or timer that set them.
    private var firstDue = Timestamp.distantFuture
    var bytes = 0
    /// The work of this batch's expressions, and what the current run may do.
    private var (work, granted): (Int64, Int64) = (0, 0)
    private let (workPerRun, workPerBatch): (Int64, Int64)
    /// Whether the agent stops before an event or a timer is decided completely.
    private(set) var isCancelled = false
    var deliveries: [Delivery] = []
    var events: [Event] = []
    /// The errors of rules, in the order in which they came.
    private(set) var errors: [String] = []
    private var tallies: [Int: RuleTally] = [:]
    var decisions = BatchDecisions()

    init(
        _ book: RuleBook, _ matches: Matches, _ facts: RoutingFacts, silences: SilenceBook = .empty,
        at now: Timestamp, work: Int64 = RuleBook.workPerRun, workPerBatch: Int64 = RuleBook.workPerBatch
    ) {
        silenceFilter = SilenceFilter(silences, events: matches.events, at: now)
        quiet = QuietFilter(book, at: now)
        (workPerRun, self.workPerBatch) = (work, workPerBatch)
        (self.book, self.matches, self.facts) = (book, matches, facts)
        memory = RuleMemory(facts, at: now)
        if !matches.endings.isEmpty {
            var waits: [String: Set<Int>] = [:]
            for key in facts.state.waits {
                if let rule = book.byWait[key.rule] { waits[key.key, default: []].insert(rule) }
            }
            self.waits = waits
        }
        self.now = now
        frame = RunFrame(book.facts, events: matches.events, now: now, snapshots: facts.tasks)
        frame.replay = matches.replay?.occasion
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
            // An event first ends waits and escalations, and then begins new ones.
            if answers.first == place {
                answers.removeFirst()
                metered { $0.answer(at: place) }
            }
            let first = next
            while next < matches.runs.count, matches.runs[next].place == place {
                // The decisions about an event can only be stored together.
                if next > first { endIfCancelled() }
                if isCancelled { return .routing(Routing()) }
                if next == first || !book.compiled[matches.runs[next - 1].rule].time.isEmpty {
                    frame.move(to: place)
                    activation.begin(frame)
                }
                let run = matches.runs[next]
                metered { $0.decide(run) }
                next += 1
            }
        }
        if isCancelled { return .routing(Routing()) }
        needs.state.formUnion(memory.missing)
        guard needs.isEmpty else { return .needs(needs) }
        var routing = Routing(
            routed: matches.replay == nil ? matches.events.prefix(end).map(\.sequence) : [],
            fired: Array(matches.timers.prefix(end)),
            deliveries: deliveries, state: memory.changes, timers: lastTimers, events: events,
            tallies: tallies.sorted { $0.key < $1.key }.map(\.value), decisions: decisions.latest, at: now)
        routing.replayed = matches.replay?.id
        return .routing(routing)
    }

    func mayWait(for key: String) -> Set<Int>? { waits?[key] }

    mutating func noteWait(_ rule: Int, for key: String) { waits?[key, default: []].insert(rule) }

    /// Whether a timer that this batch has set comes before the next one of the batch.
    private func isOvertaken(at place: Int) -> Bool { !matches.timers.isEmpty && firstSet < order(of: matches.timers[place]) }

    /// What orders timers that were not set by the same rule: when they are due, then the places of their rules.
    private func order(of timer: RuleTimer) -> (Timestamp, Int) { (timer.due, book.byName[timer.id.rule] ?? 0) }

    /// Whether a timer that this batch has set is due before this event, or at its moment.
    private func comesTooLate(_ place: Int) -> Bool {
        matches.timers.isEmpty && firstDue <= matches.events[place].event.time
    }

    /// - Parameter time: the moment that the run is at.
    mutating func set(_ timer: RuleTimer, at time: Timestamp) {
        var timer = timer
        if !timer.id.kind.isOfSchedule, timer.begun == nil { timer.begun = now }
        timers.append(.set(timer))
        if order(of: timer) < firstSet { firstSet = order(of: timer) }
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
    var isFull: Bool {
        bytes >= Self.maxBytes || work >= workPerBatch || RuleBook.isCancelled(after: work)
    }

    /// The bytes of deliveries and events in one transaction; the last event's rules may exceed it.
    private static let maxBytes = 4 << 20
    /// The approximate sizes in bytes of a schedule's event, a decision record, and a gathered run.
    static let (eventBytes, recordBytes) = (256, 200)
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

    /// Bounds the work of the expressions of one run, and counts it.
    private mutating func metered(_ run: (inout BatchDecider) -> Void) {
        granted = workPerRun
        activation.workLeft = granted
        run(&self)
        work += granted - activation.workLeft
    }

    /// Gives the run of the next list element or task its own limit of work, until a limit of the batch is reached.
    /// - Parameter most: that limit; nil for the limit of a transaction, because all elements of a list must fit into one.
    mutating func renewWork(upTo most: Int64? = nil) {
        work += granted - activation.workLeft
        granted = min(workPerRun, max(0, (most ?? workPerBatch) - work))
        activation.workLeft = granted
    }

    /// Checks whether the agent stops.
    mutating func endIfCancelled() { isCancelled = isCancelled || RuleBook.isCancelled(after: work) }

    private mutating func decide(_ run: Matches.Run) {
        let rule = book.compiled[run.rule]
        guard rule.time.isEmpty else { return begin(run, rule) }
        if rule.readsDigest, !giveDigest(to: run, of: rule) { return }
        switch run.condition ?? rule.judge(activation) {
        case .holds:
            if perform(rule, run.rule, run.keys), rule.readsDigest, matches.replay == nil { endDigest(of: rule, at: run.place) }
        case .doesNotHold: break
        case .failed(let stop): record(stop, of: run.rule)
        }
    }

    /// Runs the rule, unless its own writes led here, or `throttle` or `once` stop it; returns whether it ran.
    /// - Parameter candidate: the run on its way through the parts of its rule; nil for a rule without such parts.
    @discardableResult
    mutating func perform(_ rule: Rule, _ number: Int, _ keys: RunKeys, _ candidate: Candidate? = nil) -> Bool {
        var stop = keys.stop ?? loop(rule)
        // A run that fails uses up neither `once` nor `throttle`. If they let a forced run pass, they record it, too.
        if stop == nil {
            let passed = memory.pass(keys, rule, frame.occasion.id, at: momentOfRun)
            stop = matches.replay?.isForced == true ? nil : passed
        }
        if let stop {
            record(stop, of: number)
            return false
        }
        tally(number) { $0.runs += 1 }
        let made = deliveries.count
        perform(rule.steps, of: rule, number, isShadow: keys.isShadow)
        // `explain` finds the reasons of other runs in the rule's text.
        let isRecorded = candidate != nil && rule.time.delays || matches.replay != nil
        if isRecorded, deliveries.count == made { recordNoStep(rule.steps, of: number) }
        if let escalation = rule.escalation { begin(escalation, of: rule, number, candidate, isShadow: keys.isShadow) }
        return true
    }

    /// When the run counts as made. A schedule that is less than a minute late counts as on time; otherwise a `throttle` of several of
    /// its intervals would skip one whenever a run is a moment less late than the run before.
    private var momentOfRun: Timestamp {
        guard frame.event?.type == .scheduleDue, let text = frame.data(.due)?.asString, let due = Timestamp(rfc3339: text),
            due <= now, now - due < RuleSchedule.grace
        else { return now }
        return due
    }

    /// The stop of a run that too many writes of Bellhop have caused, one after the other.
    private func loop(_ rule: Rule) -> Stop? {
        guard rule.mayCauseEvents, frame.hop >= Event.lastHop else { return nil }
        let writes = "\(Event.lastHop) writes or events of rules led to this event, each causing the next"
        return .failed(.loop, "stopped: \(writes); rules trigger each other")
    }

    /// The task of a run as it is now. Nil for a run without a task, and if only the run's event shows its task: the source has a new
    /// account or query in bellhop.yaml, and no baseline yet. Notes what must be read first.
    mutating func present(_ task: TaskKey?, in source: String) -> RoutingFacts.Known<Snapshot>? {
        guard let task, let scope = book.facts.scope(of: source) else { return nil }
        let present = facts.task(task, in: scope)
        switch present {
        case .found, .departed: return present
        case .unread:
            needs.tasks[scope, default: []].insert(task)
            return present
        case .missing:
            guard let lacksBaseline = facts.lacksBaseline(scope) else {
                needs.scopes.insert(scope)
                return .unread
            }
            return lacksBaseline ? nil : present
        }
    }

    /// The failure of a wait or an escalation for a task of a source that bellhop.yaml does not have, because the state of the task is not
    /// known; nil for any other.
    func removedSource(of began: Gathered, _ verdict: DecisionRecord.Verdict, _ what: String) -> Stop? {
        guard began.task != nil, !book.facts.isConfigured(began.source) else { return nil }
        // Only events about tasks come from the source of their task.
        if let place = began.event {
            guard let type = event(at: place).value?.event.type, book.facts.events[type]?.hasTask == true else { return nil }
        }
        return .failed(verdict, "\(what) has ended, because bellhop.yaml no longer has the source \(began.source) of its task")
    }

    // MARK: Counting

    mutating func count(error message: String, of rule: Int) {
        errors.append(message)
        tally(rule) {
            $0.errors += 1
            $0.lastError = message
        }
    }

    private mutating func tally(_ rule: Int, _ change: (inout RuleTally) -> Void) {
        change(&tallies[rule, default: RuleTally(rule: book.compiled[rule].name, runs: 0, errors: 0, at: now)])
    }
}
