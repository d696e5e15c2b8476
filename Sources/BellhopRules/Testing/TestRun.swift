import BellhopCore
import CEL

/// A running test: a simulated clock, the rules' state, the sources' snapshots. Nothing is sent; deliveries are recorded.
struct TestRun {
    let book: RuleBook
    private var now: BellhopCore.Timestamp
    private var state: RuleState = [:]
    private var tasks: [Scope.ID: [Snapshot]] = [:]
    private var departed: [Scope.ID: [TaskKey: Snapshot]] = [:]
    private var timers: [RuleTimer] = []
    private var sequence: Int64 = 0
    /// The test's events by their places.
    private var events: [Int64: StoredEvent] = [:]
    private(set) var deliveries: [Delivery] = []
    private var holding = TestHolding()
    /// Why tasks left.
    private var reasons: [Scope.ID: [TaskKey: RemovalReason]] = [:]
    private var silences: [Silence]
    private var silenceBook: SilenceBook
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
            if rule.startsWithExisting { timers.append(RuleTimer(.init(rule: rule.name, kind: .existing), due: start)) }
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
        case .tasks(let given): for (scope, list) in given { tasks[scope] = list }
        case .event(let type, let source, let subject, let data, let place):
            // What is due at a moment comes before the events of that moment.
            goOn(to: now)
            let event = Event(
                id: Event.ID("test-\(sequence + 1)"), type: type, source: source, subject: subject, time: now, data: data)
            remember(event)
            route([event], from: place.line)
        }
    }

    /// Fires the timers that become due on the way, each at its own time; those of one time by the place of the rule, then by
    /// when they were set.
    private mutating func goOn(to moment: BellhopCore.Timestamp) {
        let places = book.byName
        release(before: moment)
        while let next = timers.min(by: { ($0.due, places[$0.id.rule] ?? 0) < ($1.due, places[$1.id.rule] ?? 0) }),
            next.due <= moment, firings < Self.mostFirings
        {
            firings += 1
            now = max(now, next.due)
            let routing = decide(book.match([next]))
            for record in routing.decisions where !next.id.kind.isOfSchedule { note(record, for: next) }
            keep(routing)
            route(routing.events + emitted(by: routing))
            release(before: moment)
        }
        now = max(now, moment)
    }

    /// Releases what quiet times no longer hold at a moment, up to the next timer: what is released at its time comes before it.
    private mutating func release(before moment: BellhopCore.Timestamp) {
        let last = min(moment, timers.map(\.due).min() ?? .distantFuture)
        while let end = holding.next, end <= last {
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
    }

    /// Decides a batch; everything is known.
    private func decide(_ matches: Matches) -> Routing {
        book.decide(
            matches, RoutingFacts(state: state, tasks: tasks, events: events, departed: departed), silences: silenceBook, at: now
        ).complete
    }

    private mutating func keep(_ routing: Routing) {
        state.apply(routing.state)
        deliveries += routing.deliveries
        holding.keep(routing.deliveries)
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

    /// - Parameter line: where the test gives the event; nil for any other event.
    private mutating func route(_ first: [Event], from line: Int? = nil) {
        var events = first
        var line = line
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
                for event in matches.events.prefix(routing.routed.count) { note(event, routing.decisions, from: line) }
                keep(routing)
                events += routing.events + emitted(by: routing)
                stored.removeFirst(routing.routed.count)
            }
            line = nil
        }
    }

    /// Records why the rule of a timer stopped when it was due.
    private mutating func note(_ record: DecisionRecord, for timer: RuleTimer) {
        guard let rule = book.rule(named: record.rule) else { return }
        if let message = record.error {
            let error = RuleError(rule: rule.name, message: message)
            if !errors.contains(error) { errors.append(error) }
        } else if record.verdict.isOfRun {
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
                } else if record.verdict.isOfRun {
                    refuse(.stopped(record))
                }
            }
            if own.contains(where: \.verdict.isOfRun) { continue }
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
