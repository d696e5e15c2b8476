import BellhopCore

/// A test as it runs: a clock that jumps, the rules' memory, the sources' snapshots. Nothing is done; what would be done is kept.
struct TestRun {
    private let book: RuleBook
    private var now: Timestamp
    private var state: [StateKey: JSON] = [:]
    private var tasks: [Scope.ID: [Snapshot]] = [:]
    private var timers: [RuleTimer] = []
    private var sequence: Int64 = 0
    private(set) var deliveries: [Delivery] = []
    /// What rules failed with, and when.
    private(set) var errors: [RuleTally] = []

    /// A test in which a rule comes due more often than this is stopped.
    static let mostFirings = 10_000
    private var firings = 0
    var isCutShort: Bool { firings >= Self.mostFirings }

    init(_ book: RuleBook, at start: Timestamp) {
        self.book = book
        now = start
        for case .tasks(let group) in book.facts.readers { for source in group.sources { tasks[source.scope] = [] } }
        timers = book.registrations(at: start).compactMap { rule in
            rule.schedule.map { RuleTimer(rule: rule.name, due: $0.next) }
        }
    }

    mutating func perform(_ step: TestCase.Step) {
        switch step {
        case .wait(let duration): goOn(to: now + duration)
        case .until(let moment): goOn(to: moment)
        case .tasks(let given): for (scope, list) in given { tasks[scope] = list }
        case .event(let type, let source, let subject, let data, _):
            let event = Event(
                id: Event.ID("test-\(sequence + 1)"), type: type, source: source, subject: subject, time: now, data: data)
            remember(event)
            route([event])
        }
    }

    /// Fires the schedules that come due on the way, each at its own time.
    private mutating func goOn(to moment: Timestamp) {
        while let next = timers.min(by: { $0.due < $1.due }), next.due <= moment, firings < Self.mostFirings {
            firings += 1
            now = max(now, next.due)
            timers.removeAll { $0 == next }
            let firing = book.fire(next, at: now)
            if let due = firing.next, due > next.due { timers.append(RuleTimer(rule: next.rule, due: due)) }
            route(firing.events)
        }
        now = max(now, moment)
    }

    private mutating func route(_ first: [Event]) {
        var events = first
        // What routing itself causes is routed too; the hop count ends it.
        while !events.isEmpty {
            var stored = events.map { event in
                sequence += 1
                return StoredEvent(sequence: sequence, event: event)
            }
            events = []
            while !stored.isEmpty {
                let routing = book.decide(book.match(stored, since: [:]), state: state, tasks: tasks, at: now)
                for write in routing.state { state[write.key] = write.value }
                deliveries += routing.deliveries
                errors += routing.tallies.filter { $0.errors > 0 }
                events += routing.events
                stored.removeFirst(routing.routed.count)
            }
        }
    }

    /// The source shows what the event tells.
    private mutating func remember(_ event: Event) {
        guard event.type.hasTask, let task = event.task else { return }
        for scope in book.scopes(of: event.source) {
            var list = tasks[scope] ?? []
            let place = list.firstIndex { $0.key == task.key }
            if event.type == .taskRemoved {
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

extension RuleBook {
    /// The scopes that rules read of a source.
    func scopes(of source: String) -> Set<Scope.ID> {
        var scopes: Set<Scope.ID> = []
        for case .tasks(let group) in facts.readers {
            for member in group.sources where member.name == source { scopes.insert(member.scope) }
        }
        return scopes
    }
}
