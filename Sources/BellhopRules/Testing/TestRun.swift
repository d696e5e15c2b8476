import BellhopCore
import CEL

/// A running test: a simulated clock, the rules' state, the sources' snapshots. Nothing is sent; deliveries are recorded.
struct TestRun {
    let book: RuleBook
    var now: BellhopCore.Timestamp
    var state: RuleState = [:]
    var tasks: [Scope.ID: [Snapshot]] = [:]
    private var departed: [Scope.ID: [TaskKey: Snapshot]] = [:]
    var timers: [RuleTimer] = []
    /// When the agent is back, if it is away, and what happened meanwhile.
    var back: BellhopCore.Timestamp?
    var unseen: [TestCase.Step] = []
    private var sequence: Int64 = 0
    /// The test's events by their places.
    private var events: [Int64: StoredEvent] = [:]
    private(set) var deliveries: [Delivery] = []
    private var holding = TestHolding()
    /// Why tasks left.
    private var reasons: [Scope.ID: [TaskKey: RemovalReason]] = [:]
    private var silences: [Silence]
    private var silenceBook: SilenceBook
    /// The silences whose begin and end the rules were told, and how many deliveries each kept back.
    private var (begun, ended): (Set<String>, Set<String>) = ([], [])
    private var kept: [String: Int] = [:]
    /// The steps of each rule that made a delivery, also one that is kept back.
    private(set) var ran: [String: Set<StepPath>] = [:]
    /// Errors of rules, each once.
    private(set) var errors: [RuleError] = []
    /// Why rules and their steps did nothing for the test's events, in order.
    private(set) var refusals: [RuleRefusal] = []

    struct RuleError: Hashable {
        var rule: String
        var message: String
    }

    /// A test in which schedules are due more often than this is stopped.
    static let mostFirings = 10_000
    private var firings = 0
    var isCutShort: Bool { firings >= Self.mostFirings }

    init(_ book: RuleBook, at start: BellhopCore.Timestamp, silences: [Silence] = []) {
        self.book = book
        self.silences = silences.map(\.identified)
        silenceBook = book.silences(self.silences)
        now = start
        for case .tasks(let group) in book.facts.readers { for source in group.sources { tasks[source.scope] = [] } }
        for rule in book.registrations(at: start) {
            if let next = rule.schedule?.next { timers.append(RuleTimer(.init(rule: rule.name, kind: .schedule), due: next)) }
            if rule.beginsByItself { timers.append(RuleTimer(.init(rule: rule.name, kind: .existing), due: start)) }
        }
    }

    mutating func perform(_ step: TestCase.Step) {
        switch step {
        case .wait(let duration): goOn(to: now + duration)
        case .until(let moment): goOn(to: moment)
        case .silence(var silence, let span):
            (silence.starts, silence.ends) = (now, now + span)
            silences.append(silence.identified)
            silenceBook = book.silences(silences)
            goOn(to: now)
        case .restart:
            goOn(to: now)
            reload()
        case .down(let duration):
            goOn(to: now)
            back = max(back ?? .distantPast, now + duration)
        case .tasks, .event:
            if back != nil { return unseen.append(step) }
            // What is due at a moment comes before the events of that moment.
            goOn(to: now)
            show([step])
        }
    }

    /// Lets an absence of the agent pass that lasts at the end of the test.
    mutating func finish() { if let back { goOn(to: back) } }

    /// Shows the sources' tasks and events, those of one poll.
    mutating func show(_ steps: [TestCase.Step]) {
        var events: [Event] = []
        var lines: [Int?] = []
        for step in steps {
            switch step {
            case .tasks(let given): for (scope, list) in given { tasks[scope] = list }
            case .event(let type, let source, let subject, let data, let place):
                let id = Event.ID("test-\(sequence + Int64(events.count) + 1)")
                events.append(Event(id: id, type: type, source: source, subject: subject, time: now, data: data))
                lines.append(place.line)
                remember(events[events.count - 1])
            case .until, .wait, .silence, .restart, .down: break
            }
        }
        route(events, from: lines)
    }

    /// Lets time pass. What becomes due on the way happens at its own time; at one time silences begin and end first, then come the
    /// timers, by the place of the rule, then by when they were set.
    private mutating func goOn(to moment: BellhopCore.Timestamp) {
        if let back {
            now = max(now, min(moment, back))
            guard moment >= back else { return }
            self.back = nil
            reload()
            let book = book
            fire(until: now) { !$0.id.kind.isJudged && book.scopesRead(by: $0.id.rule).isEmpty }
            let steps = unseen
            unseen = []
            show(steps)
        }
        fire(until: moment) { _ in true }
        now = max(now, moment)
    }

    /// Lets happen what is due until a moment, of the timers only those that may fire.
    private mutating func fire(until moment: BellhopCore.Timestamp, _ mayFire: (RuleTimer) -> Bool) {
        let places = book.byName
        while firings < Self.mostFirings {
            let timer = timers.filter(mayFire).min { ($0.due, places[$0.id.rule] ?? 0) < ($1.due, places[$1.id.rule] ?? 0) }
            let next = timer?.due ?? .distantFuture
            if let edge = nextEdge, edge <= min(moment, next, holding.next ?? .distantFuture) {
                now = max(now, edge)
                turnSilences()
                continue
            }
            if let end = holding.next, end <= min(moment, next) {
                release(until: end)
                continue
            }
            guard let timer, timer.due <= moment else { return }
            firings += 1
            now = max(now, timer.due)
            let routing = decide(book.match([timer]))
            for record in routing.decisions where !timer.id.kind.isOfSchedule { note(record, for: timer) }
            keep(routing)
            route(routing.events + emitted(by: routing))
        }
    }

    /// When the next silence begins or ends.
    private var nextEdge: BellhopCore.Timestamp? {
        let begins = silences.filter { !begun.contains($0.id) }.map(\.starts)
        return (begins + silences.filter { begun.contains($0.id) && !ended.contains($0.id) }.map(\.ends)).min()
    }

    /// Tells the rules which silences have begun and ended.
    private mutating func turnSilences() {
        var events: [Event] = []
        for silence in silences where silence.starts <= now {
            if begun.insert(silence.id).inserted { events.append(.silenceStarted(silence, at: now)) }
            guard silence.ends <= now, ended.insert(silence.id).inserted else { continue }
            events.append(.silenceEnded(SilenceRecord(silence, kept: kept[silence.id] ?? 0, ended: now), at: now))
        }
        route(events)
    }

    /// Releases what quiet times no longer hold.
    private mutating func release(until end: BellhopCore.Timestamp) {
        now = max(now, end)
        var facts = ReleaseFacts(events: events)
        for (scope, list) in tasks {
            for task in list { facts.tasks[scope, default: [:]][task.key] = RememberedTask(snapshot: task, generation: 0) }
        }
        for (scope, list) in departed {
            for (key, task) in list where facts.tasks[scope]?[key] == nil {
                facts.tasks[scope, default: [:]][key] = RememberedTask(
                    snapshot: task, generation: 0, removed: now, reason: reasons[scope]?[key])
            }
        }
        deliveries += holding.release(until: end, by: book, facts, silences: silenceBook, at: now)
    }

    /// Decides a batch; everything is known.
    private func decide(_ matches: Matches) -> Routing {
        book.decide(
            matches, RoutingFacts(state: state, tasks: tasks, events: events, departed: departed), silences: silenceBook, at: now
        ).complete
    }

    private mutating func keep(_ routing: Routing) {
        state.apply(routing.state)
        for delivery in routing.deliveries { ran[delivery.id.rule, default: []].insert(delivery.id.step) }
        let made = holding.keep(routing.deliveries)
        deliveries += made
        for case .silenced(let silence) in made.map(\.initial) { kept[silence, default: 0] += 1 }
        timers.removeAll(where: routing.fired.contains)
        for change in routing.timers {
            switch change {
            case .set(let timer):
                timers.removeAll { $0.id == timer.id }
                timers.append(timer)
            case .cancel(let id): timers.removeAll { $0.id == id }
            }
        }
    }

    /// The events that are emitted once earlier steps are done, which succeed in tests.
    private func emitted(by routing: Routing) -> [Event] {
        routing.deliveries.compactMap { delivery in
            let action = book.facts.actions[delivery.action]
            return action?.emitsEvent == true && delivery.initial == .available ? delivery.emittedEvent(at: now) : nil
        }
    }

    /// - Parameter lines: where the test gives the events, if it does.
    private mutating func route(_ first: [Event], from lines: [Int?] = []) {
        var events = first
        var lines = lines
        // Events caused by routing are routed too; the hop count ends the loop.
        while !events.isEmpty {
            var stored = events.map { event in
                sequence += 1
                let stored = StoredEvent(sequence: sequence, event: event)
                self.events[sequence] = stored
                return stored
            }
            events = []
            while !stored.isEmpty {
                let matches = book.match(stored, since: [:])
                let routing = decide(matches)
                for (place, event) in matches.events.prefix(routing.routed.count).enumerated() {
                    note(event, routing.decisions, from: place < lines.count ? lines[place] : nil)
                }
                lines.removeFirst(min(routing.routed.count, lines.count))
                keep(routing)
                events += routing.events + emitted(by: routing)
                stored.removeFirst(routing.routed.count)
            }
        }
    }

    /// Records why the rule of a timer stopped when it was due.
    private mutating func note(_ record: DecisionRecord, for timer: RuleTimer) {
        guard let rule = book.rule(named: record.rule) else { return }
        if let message = record.error {
            let error = RuleError(rule: rule.name, message: message)
            if !errors.contains(error) { errors.append(error) }
        } else if record.verdict.isOfRun || record.verdict == .ended {
            refusals.append(RuleRefusal(rule: rule, reason: .stopped(record), now: now, tasks: tasks))
        }
    }

    /// Records why each rule stopped at an event. Conditions are evaluated again for this.
    private mutating func note(_ event: StoredEvent, _ decisions: [DecisionRecord], from line: Int?) {
        let records = decisions.filter { $0.occasion == Occasion.event(event.event.id).id }
        let frame = RunFrame(book.facts, events: [event], now: now, snapshots: tasks)
        let activation = Activation(book.slots)
        activation.begin(frame)
        for rule in book.compiled {
            func refuse(_ reason: RuleRefusal.Reason) {
                refusals.append(RuleRefusal(rule: rule, event: event, line: line, reason: reason, now: now, tasks: tasks))
            }
            let own = records.filter { $0.rule == rule.name }
            guard rule.isFor(event.event) || !own.isEmpty else {
                refuse(.trigger)
                continue
            }
            for record in own {
                if let message = record.error {
                    let error = RuleError(rule: rule.name, message: message)
                    if !errors.contains(error) { errors.append(error) }
                } else if record.verdict.isOfRun || record.verdict == .ended || record.verdict == .answered {
                    refuse(.stopped(record))
                }
            }
            if own.contains(where: \.verdict.isOfRun) { continue }
            if let pattern = rule.time.pattern {
                if !pattern.fits(event.event, activation) { refuse(.trigger) }
                continue
            }
            if !rule.isFor(event.event) { continue }
            if rule.condition.map({ $0.isRefused(activation) }) ?? false {
                refuse(.condition)
                continue
            }
            for (number, step) in rule.steps.enumerated() where step.condition.map({ $0.isRefused(activation) }) ?? false {
                refuse(.step(number))
            }
        }
    }

    /// Updates the source's snapshot from the event.
    private mutating func remember(_ event: Event) {
        guard book.facts.events[event.type]?.hasTask == true, let task = event.task else { return }
        for scope in book.scopes(of: event.source) {
            var list = tasks[scope] ?? []
            let place = list.firstIndex { $0.key == task.key }
            if event.type == .taskRemoved {
                departed[scope, default: [:]][task.key] = task
                reasons[scope, default: [:]][task.key] = event.data[.reason]?.asString.flatMap(RemovalReason.init)
                if let place { list.remove(at: place) }
            } else if let place {
                list[place] = task
            } else {
                list.append(task)
            }
            tasks[scope] = list
        }
    }
}

extension RuleExpression {
    /// Whether this condition is false or unknown.
    fileprivate func isRefused(_ activation: Activation) -> Bool {
        switch program.verdict(activation) {
        case .no, .unknown: true
        case .yes, .failed: false
        }
    }
}

extension RuleBook {
    /// The scopes of a source that rules read.
    func scopes(of source: String) -> Set<Scope.ID> {
        var scopes: Set<Scope.ID> = []
        for case .tasks(let group) in facts.readers {
            for member in group.sources where member.name == source { scopes.insert(member.scope) }
        }
        if let scope = facts.scope(of: source) { scopes.insert(scope) }
        return scopes
    }
}
