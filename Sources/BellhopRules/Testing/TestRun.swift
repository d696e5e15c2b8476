import BellhopCore

/// A running test: performs its steps in a trial of the rules.
struct TestRun {
    var trial: Trial<TestNotes>
    /// The time when the agent runs again, if it is down, and the steps given while it is down.
    private var returnTime: Timestamp?
    private var pending: [TestCase.Step] = []
    private var shown = 0
    /// Whether something other than tasks was given.
    private var hasBegun = false

    var book: RuleBook { trial.book }
    var deliveries: [Delivery] { trial.deliveries }
    var errors: [TestNotes.RuleError] { trial.observer.errors }
    var refusals: [RuleRefusal] { trial.observer.refusals }
    var ran: [String: Set<StepPath>] { trial.observer.ran }
    var isCutShort: Bool { trial.isCutShort }

    func next(of rule: Rule) -> RuleTimer? { trial.timers.all.first { $0.id.rule == rule.name } }

    /// A test in which schedules are due more often than this is stopped.
    static let maxFirings = 10_000

    init(_ book: RuleBook, at start: Timestamp, silences: [Silence] = []) {
        trial = Trial(book, at: start, silences: silences, observer: TestNotes(), maxFirings: Self.maxFirings)
        // The rules' own sources have been polled.
        let own = Set(book.compiled.flatMap(\.scopes))
        for scope in Set(book.compiled.flatMap(\.snapshots)).subtracting(own) { trial.tasks.forgetList(of: scope) }
    }

    mutating func perform(_ step: TestCase.Step) {
        // Tasks in the first steps are known when the rules are loaded.
        if case .tasks = step, !hasBegun { return show([step]) }
        hasBegun = true
        switch step {
        case .wait(let duration): advance(to: trial.now + duration)
        case .until(let moment): advance(to: moment)
        case .silence(var silence, let span):
            (silence.starts, silence.ends) = (trial.now, trial.now + span)
            trial.silence(silence)
            advance(to: trial.now)
        case .restart:
            advance(to: trial.now)
            trial.reload()
        case .down(let duration):
            advance(to: trial.now)
            returnTime = max(returnTime ?? .distantPast, trial.now + duration)
        case .tasks, .event:
            if returnTime != nil { return pending.append(step) }
            // Timers that are due at a moment fire before the events of that moment.
            advance(to: trial.now)
            show([step])
        }
    }

    /// Ends a downtime of the agent that lasts beyond the end of the test.
    mutating func finish() { if let returnTime { advance(to: returnTime) } }

    /// Routes the tasks and events of one poll.
    private mutating func show(_ steps: [TestCase.Step]) {
        var events: [Event] = []
        for step in steps {
            switch step {
            case .tasks(let given): for (scope, list) in given { trial.tasks.set(list, of: scope) }
            case .event(let type, let source, let subject, let data, let hop, let place):
                shown += 1
                let event = Event(
                    id: Event.ID("test-\(shown)"), type: type, source: source, subject: subject, time: trial.now, data: data,
                    hop: hop)
                events.append(event)
                trial.observer.places[event.id] = place
                trial.remember(event)
            case .until, .wait, .silence, .restart, .down: break
            }
        }
        trial.route(made: events)
    }

    /// Advances the clock, also while the agent is down.
    private mutating func advance(to moment: Timestamp) {
        if let returnTime {
            trial.now = max(trial.now, min(moment, returnTime))
            guard moment >= returnTime else { return }
            self.returnTime = nil
            trial.reload()
            let book = book
            trial.fire(until: trial.now) { !$0.id.kind.reevaluatesCondition && book.scopesRead(by: $0.id.rule).isEmpty }
            let steps = pending
            pending = []
            show(steps)
        }
        trial.advance(to: moment)
    }
}
