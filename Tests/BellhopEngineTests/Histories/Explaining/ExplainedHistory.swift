import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// A random history of an agent with restarts, downtime and reloads of its rules, beside a model of what its rules do.
struct ExplainedHistory<Model: ExplanationModel> {
    private var random: SeededRandom
    private let seed: UInt64
    private let agent: TestAgent
    private let begin: Timestamp
    private var model = Model()
    private var present: [String: [String: TaskChange.Fields]] = [:]
    private var gone: [String: Set<String>] = [:]
    private var (minute, version) = (0, 0)
    private var changes: [TaskChange] = []
    /// The number of steps in each minute. The order of changes in different steps of one minute is undefined.
    private var steps: [Int: Int] = [:]
    /// The changes that were replayed, with the minute.
    private var replays: Set<[Int]> = []

    private static var ids: [String] { ["a", "b", "c"] }
    private static var calls: [FaultyStore.Call] { [.commit, .route, .unrouted, .state, .dueTimers, .register] }

    /// Lets forty steps pass, then compares every explanation with the model.
    /// - Parameter others: the names of further sources.
    static func check(_ seed: UInt64, others: [String] = []) async throws {
        var history = try await Self(seed: RandomRuns.seed(seed), others: others)
        for number in 0..<40 { try await history.step(number) }
        try await history.compare()
    }

    private init(seed: UInt64, others: [String]) async throws {
        random = SeededRandom(seed: seed)
        self.seed = seed
        agent = try await TestAgent(Model.rules(0), [task("always", "x", ["priority": 9])], others: others)
        begin = agent.bench.now
        for silence in Model.silences(from: begin) {
            _ = try await agent.bench.store.add(silence.identified, at: begin)
        }
    }

    private mutating func step(_ number: Int) async throws {
        let pause = random.oneIn(4) ? Int.random(in: 2...7, using: &random) : Int.random(in: 0...1, using: &random)
        minute += pause
        steps[minute, default: 0] += 1
        if pause > 0 { await agent.bench.clock.advance(by: .seconds(60 * pause)) }
        if random.oneIn(8) {
            version += 1
            model.load(version, at: minute)
        }
        // A replay that waits when the agent starts comes before due timers.
        let isReplay = Model.hasReplays && !changes.isEmpty && random.oneIn(3)
        if isReplay { try await replay() }
        model.beforeChanges(at: minute)
        if !isReplay { changeTask(number) }
        model.afterChanges(at: minute)
        // Each pass is a new run of the agent; some end in the middle.
        if random.oneIn(4) {
            agent.bench.store.failOnce(
                Self.calls[Int.random(in: 0..<Self.calls.count, using: &random)], random.oneIn(2) ? .before : .after)
            try? await agent.runOnce(with: Model.rules(version))
            agent.bench.store.stopFailing()
        }
        try await agent.runOnce(with: Model.rules(version))
    }

    /// Creates, changes or removes a random task, or does nothing.
    private mutating func changeTask(_ number: Int) {
        let source = agent.sources[Int.random(in: 0..<agent.sources.count, using: &random)]
        let id = Self.ids[Int.random(in: 0..<Self.ids.count, using: &random)]
        let before = present[source.name, default: [:]][id]
        var change = TaskChange(
            number: changes.count, kind: .removed, source: source.name, id: id, fields: fields(), before: before, minute: minute)
        if let before, random.oneIn(5) {
            source.remove(TaskKey(id))
            (change.fields, change.before) = (before, nil)
            present[source.name, default: [:]][id] = nil
            gone[source.name, default: []].insert(id)
        } else if !random.oneIn(4) {
            let isKnown = gone[source.name]?.contains(id) ?? false
            change.kind = before != nil ? .changed : isKnown ? .returned : .created
            // A title that was never there makes it a change.
            source.put(task(id, "title \(number)", change.fields.json))
            present[source.name, default: [:]][id] = change.fields
        } else {
            return
        }
        changes.append(change)
        model.apply(change)
    }

    private mutating func replay() async throws {
        // The order of an event and a replay of the same moment is undefined.
        guard let last = changes.last, last.minute < minute else { return }
        let change = changes[Int.random(in: 0..<changes.count, using: &random)]
        // Two replays of one event have different times. The model knows only tasks that are there.
        guard present[change.source]?[change.id] != nil, replays.insert([change.number, minute]).inserted else { return }
        let store = agent.bench.store
        let events = try await store.events(EventQuery(limit: 100_000)).filter(\.isOfSource)
        let isForced = random.oneIn(3)
        try await store.replay([events[change.number]], rule: nil, isForced: isForced, at: agent.bench.now)
        model.replay(change, isForced: isForced, at: minute)
    }

    private mutating func fields() -> TaskChange.Fields {
        TaskChange.Fields(priority: random.oneIn(3) ? 2 : 1, state: random.oneIn(4) ? nil : Int.random(in: 0...3, using: &random))
    }

    private func compare() async throws {
        let store = agent.bench.store
        let history = try await store.history(HistoryQuery(through: .max / 2, limit: .max / 2))
        let context = try RuleContext.test(sources: agent.sources)
        let book = try RuleBook.loadToExplain([.test(Model.rules(version))], context: context)
        let explanation = Explanation(ExplanationFacts(history), by: book, at: agent.bench.now)
        let accounts = explanation.events.filter(\.event.isOfSource)
        var own = explanation.events.filter { $0.event.event.type == Model.own }
        if Model.own == .scheduleDue {
            own.sort { ($0.event.event.source, $0.event.sequence) < ($1.event.event.source, $1.event.sequence) }
        }
        compare(accounts, with: model.expected, accounts)
        compare(own, with: model.expectedOfOwn, accounts)
        // Each delivery is shown once.
        let shown = (accounts + own).flatMap(\.rules).flatMap(\.deliveries).map(\.id)
        let deliveries = try await agent.bench.deliveries().map(\.delivery.id)
        func hasEvent(_ occasion: Occasion.ID) -> Bool {
            occasion.event != nil || occasion.begun != nil || occasion.lastBefore != nil
        }
        let made = deliveries.filter { hasEvent($0.occasion) }.map(\.text)
        #expect(deliveries.count - made.count == model.deliveriesWithoutEvent, "seed \(seed)")
        #expect(shown.sorted() == made.sorted(), "seed \(seed)")
        // A random history may have few; the usual ones are known to have enough.
        #expect(RandomRuns.seed != nil || deliveries.count > 5, "seed \(seed)")
        try await compareStories(accounts, by: book)
    }

    private func compare(
        _ found: [Explanation.EventAccount], with expectations: [[String: Expected]], _ accounts: [Explanation.EventAccount]
    ) {
        #expect(found.count == expectations.count, "seed \(seed)")
        for (number, (account, expected)) in zip(found, expectations).enumerated() {
            #expect(Set(account.rules.map(\.rule)) == Set(expected.keys), "seed \(seed), event \(number)")
            for rule in account.rules {
                let differences =
                    expected[rule.rule].map { self.differences(rule, $0, accounts, at: account.event.event.time) } ?? []
                #expect(differences == [], "seed \(seed), event \(number), \(rule.rule): \(account.event.event.line)")
            }
        }
    }

    private func differences(
        _ found: Explanation.Account, _ expected: Expected, _ accounts: [Explanation.EventAccount], at time: Timestamp
    ) -> [String] {
        let expected = expected.explained(at: minute)
        var differences: [String] = []
        let isCrowded = steps[Int((time - begin).components.seconds / 60), default: 0] > 1
        let mayBeBefore = isCrowded && Set([expected.verdict, found.verdict]) == [.once, .waiting]
        if found.verdict != expected.verdict, !mayBeBefore {
            differences.append("\(found.verdict) (\(found.reason)), not \(expected.verdict)")
        }
        if found.deliveries.count != expected.deliveries {
            differences.append("\(found.deliveries.count) deliveries, not \(expected.deliveries)")
        }
        var parts = [expected.reason]
        if let earlier = expected.names.map({ accounts[$0].event.event }) {
            parts.append(String(earlier.id.text.prefix(12)))
            if expected.at == nil { parts.append(earlier.time.formatted(in: .utc)) }
        }
        if let minute = expected.at { parts.append((begin + .seconds(60 * minute)).formatted(in: .utc)) }
        for part in parts where !part.isEmpty && !found.reason.contains(part) {
            differences.append("`\(found.reason)` lacks `\(part)`")
        }
        if !expected.note.isEmpty, !found.notes.contains(where: { $0.contains(expected.note) }) {
            differences.append("no note of \(found.notes) has `\(expected.note)`")
        }
        return differences
    }

    /// The explanation of one task says the same as that of all tasks, however many of its events it shows.
    private func compareStories(_ accounts: [Explanation.EventAccount], by book: RuleBook) async throws {
        for source in agent.sources {
            for id in Self.ids {
                let part = accounts.filter { $0.event.event.task?.key.text == id && $0.event.event.source == source.name }
                guard let subject = part.first?.event.event.subject else { continue }
                for limit in [1, 3, 1000] {
                    let own = try await agent.bench.store.history(HistoryQuery(task: subject, limit: limit))
                    let story = Explanation(ExplanationFacts(own), by: book, at: agent.bench.now).events
                        .filter(\.event.isOfSource)
                    if limit == 1000 { #expect(story.count == part.count) }
                    // Deaths of deliveries are events about the task, too.
                    let expected = part.suffix(story.count).map {
                        $0.rules.map { "\($0.rule) \($0.verdict) \($0.reason) \($0.notes)" }
                    }
                    #expect(
                        story.map { $0.rules.map { "\($0.rule) \($0.verdict) \($0.reason) \($0.notes)" } } == expected,
                        "seed \(seed), \(limit) of \(id)")
                }
            }
        }
    }
}

extension StoredEvent {
    /// Whether a source reported it.
    fileprivate var isOfSource: Bool { [.taskCreated, .taskChanged, .taskRemoved, .taskReturned].contains(event.type) }
}

extension TaskChange.Fields {
    fileprivate var json: JSON.Object {
        var json: JSON.Object = ["priority": .int(Int64(priority))]
        if let state { json["state"] = .int(Int64(state)) }
        return json
    }
}
