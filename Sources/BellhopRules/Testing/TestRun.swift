import BellhopCore

/// A running test: its steps, played to a trial of the rules.
struct TestRun {
    var trial: Trial<TestNotes>
    /// When the agent is back, if it is away, and what happened meanwhile.
    private var back: Timestamp?
    private var unseen: [TestCase.Step] = []
    private var shown = 0
    /// Whether something other than tasks was given.
    private var hasBegun = false

    var book: RuleBook { trial.book }
    var deliveries: [Delivery] { trial.deliveries }
    var errors: [TestNotes.RuleError] { trial.witness.errors }
    var refusals: [RuleRefusal] { trial.witness.refusals }
    var ran: [String: Set<StepPath>] { trial.witness.ran }
    var isCutShort: Bool { trial.isCutShort }

    /// A test in which schedules are due more often than this is stopped.
    static let mostFirings = 10_000

    init(_ book: RuleBook, at start: Timestamp, silences: [Silence] = []) {
        trial = Trial(book, at: start, silences: silences, witness: TestNotes(), mostFirings: Self.mostFirings)
    }

    mutating func perform(_ step: TestCase.Step) {
        // Tasks that stand first are known when the rules are loaded.
        if case .tasks = step, !hasBegun { return show([step]) }
        hasBegun = true
        switch step {
        case .wait(let duration): goOn(to: trial.now + duration)
        case .until(let moment): goOn(to: moment)
        case .silence(var silence, let span):
            (silence.starts, silence.ends) = (trial.now, trial.now + span)
            trial.silence(silence)
            goOn(to: trial.now)
        case .restart:
            goOn(to: trial.now)
            trial.reload()
        case .down(let duration):
            goOn(to: trial.now)
            back = max(back ?? .distantPast, trial.now + duration)
        case .tasks, .event:
            if back != nil { return unseen.append(step) }
            // What is due at a moment comes before the events of that moment.
            goOn(to: trial.now)
            show([step])
        }
    }

    /// Lets an absence of the agent pass that lasts at the end of the test.
    mutating func finish() { if let back { goOn(to: back) } }

    /// Shows the sources' tasks and events, those of one poll.
    private mutating func show(_ steps: [TestCase.Step]) {
        var events: [Event] = []
        for step in steps {
            switch step {
            case .tasks(let given): for (scope, list) in given { trial.set(list, of: scope) }
            case .event(let type, let source, let subject, let data, let place):
                shown += 1
                let event = Event(
                    id: Event.ID("test-\(shown)"), type: type, source: source, subject: subject, time: trial.now, data: data)
                events.append(event)
                trial.witness.lines[event.id] = place.line
                trial.remember(event)
            case .until, .wait, .silence, .restart, .down: break
            }
        }
        trial.route(made: events)
    }

    /// Lets time pass, also that in which the agent is away.
    private mutating func goOn(to moment: Timestamp) {
        if let back {
            trial.now = max(trial.now, min(moment, back))
            guard moment >= back else { return }
            self.back = nil
            trial.reload()
            let book = book
            trial.fire(until: trial.now) { !$0.id.kind.isJudged && book.scopesRead(by: $0.id.rule).isEmpty }
            let steps = unseen
            unseen = []
            show(steps)
        }
        trial.advance(to: moment)
    }
}
