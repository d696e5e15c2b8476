import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// A random history of an agent that is restarted, is away, and reloads its rules, beside a model of what its rules do.
struct ExplainedHistory<Model: ExplanationModel> {
    private var random: SeededRandom
    private let seed: UInt64
    private let office: Office
    private let begin: Timestamp
    private var model = Model()
    private var present: [String: [String: Happening.Fields]] = [:]
    private var gone: [String: Set<String>] = [:]
    private var (minute, version) = (0, 0)
    private var happenings: [Happening] = []
    /// How many steps each minute had. Of what happens in different steps of one minute, nothing says the order.
    private var steps: [Int: Int] = [:]
    /// The changes that were replayed, with the minute.
    private var replays: Set<[Int]> = []

    private static var ids: [String] { ["a", "b", "c"] }
    private static var calls: [FaultyStore.Call] { [.commit, .route, .unrouted, .state, .dueTimers, .register] }

    /// - Parameter others: the names of further sources.
    init(seed: UInt64, others: [String] = []) async throws {
        random = SeededRandom(seed: seed)
        self.seed = seed
        office = try await Office(Model.rules(0), [task("always", "x", ["priority": 9])], others: others)
        begin = office.bench.now
        for silence in Model.silences(from: begin) {
            _ = try await office.bench.store.add(silence.identified, at: begin)
        }
    }

    /// Lets this many steps pass, then compares every explanation with the model.
    mutating func run(steps: Int) async throws {
        for number in 0..<steps { try await step(number) }
        try await compare()
    }

    private mutating func step(_ number: Int) async throws {
        let pause = random.oneIn(4) ? Int.random(in: 2...7, using: &random) : Int.random(in: 0...1, using: &random)
        minute += pause
        steps[minute, default: 0] += 1
        if pause > 0 { await office.bench.clock.advance(by: .seconds(60 * pause)) }
        if random.oneIn(8) {
            version += 1
            model.load(version, at: minute)
        }
        // A replay that waits when the agent looks comes before what is due.
        let isReplay = Model.hasReplays && !happenings.isEmpty && random.oneIn(3)
        if isReplay { try await replay() }
        model.arrive(at: minute)
        if !isReplay { change(number) }
        model.leave(at: minute)
        // Each look is a new run of the agent; some end in the middle.
        if random.oneIn(4) {
            office.bench.store.failOnce(
                Self.calls[Int.random(in: 0..<Self.calls.count, using: &random)], random.oneIn(2) ? .before : .after)
            try? await office.look(with: Model.rules(version))
            office.bench.store.work()
        }
        try await office.look(with: Model.rules(version))
    }

    /// Lets a task come, change or leave, or does nothing.
    private mutating func change(_ number: Int) {
        let source = office.sources[Int.random(in: 0..<office.sources.count, using: &random)]
        let id = Self.ids[Int.random(in: 0..<Self.ids.count, using: &random)]
        let before = present[source.name, default: [:]][id]
        var happening = Happening(
            number: happenings.count, kind: .removed, source: source.name, id: id, fields: fields(), before: before,
            minute: minute)
        if let before, random.oneIn(5) {
            source.remove(TaskKey(id))
            (happening.fields, happening.before) = (before, nil)
            present[source.name, default: [:]][id] = nil
            gone[source.name, default: []].insert(id)
        } else if !random.oneIn(4) {
            let isKnown = gone[source.name]?.contains(id) ?? false
            happening.kind = before != nil ? .changed : isKnown ? .returned : .created
            // A title that was never there makes it a change.
            source.put(task(id, "title \(number)", happening.fields.json))
            present[source.name, default: [:]][id] = happening.fields
        } else {
            return
        }
        happenings.append(happening)
        model.happen(happening)
    }

    private mutating func replay() async throws {
        // Of an event and a replay of the same moment, nothing says which came first.
        guard let last = happenings.last, last.minute < minute else { return }
        let happening = happenings[Int.random(in: 0..<happenings.count, using: &random)]
        // Two replays of one event have different times. The model knows only tasks that are there.
        guard present[happening.source]?[happening.id] != nil, replays.insert([happening.number, minute]).inserted else { return }
        let store = office.bench.store
        let events = try await store.events(EventQuery(limit: 100_000)).filter(\.isOfSource)
        let isForced = random.oneIn(3)
        try await store.replay([events[happening.number]], rule: nil, isForced: isForced, at: office.bench.now)
        model.replay(happening, isForced: isForced, at: minute)
    }

    private mutating func fields() -> Happening.Fields {
        Happening.Fields(
            priority: random.oneIn(3) ? 2 : 1, state: random.oneIn(4) ? nil : Int.random(in: 0...3, using: &random))
    }

    private func compare() async throws {
        let store = office.bench.store
        let history = try await store.history(HistoryQuery(through: .max / 2, limit: .max / 2))
        let surroundings = try RuleSurroundings.test(sources: office.sources)
        let book = try RuleBook.loadToExplain([.test(Model.rules(version))], surroundings: surroundings)
        let explanation = Explanation(ExplanationFacts(history), by: book, at: office.bench.now)
        let accounts = explanation.events.filter(\.event.isOfSource)
        var own = explanation.events.filter { $0.event.event.type == Model.own }
        if Model.own == .scheduleDue {
            own.sort { ($0.event.event.source, $0.event.sequence) < ($1.event.event.source, $1.event.sequence) }
        }
        compare(accounts, with: model.told, accounts)
        compare(own, with: model.toldOfOwn, accounts)
        // Each delivery is shown once.
        let told = (accounts + own).flatMap(\.rules).flatMap(\.deliveries).map(\.id)
        let deliveries = try await office.bench.deliveries().map(\.delivery.id)
        func hasEvent(_ occasion: Occasion.ID) -> Bool {
            occasion.event != nil || occasion.begun != nil || occasion.lastBefore != nil
        }
        let made = deliveries.filter { hasEvent($0.occasion) }.map(\.text)
        #expect(deliveries.count - made.count == model.deliveriesWithoutEvent, "seed \(seed)")
        #expect(deliveries.count > 5 && told.sorted() == made.sorted(), "seed \(seed)")
        try await compareStories(accounts, by: book)
    }

    private func compare(
        _ found: [Explanation.EventAccount], with told: [[String: Told]], _ accounts: [Explanation.EventAccount]
    ) {
        #expect(found.count == told.count, "seed \(seed)")
        for (number, (account, expected)) in zip(found, told).enumerated() {
            #expect(Set(account.rules.map(\.rule)) == Set(expected.keys), "seed \(seed), event \(number)")
            for rule in account.rules {
                let differences =
                    expected[rule.rule].map { self.differences(rule, $0, accounts, at: account.event.event.time) } ?? []
                #expect(differences == [], "seed \(seed), event \(number), \(rule.rule): \(account.event.event.line)")
            }
        }
    }

    private func differences(
        _ found: Explanation.Account, _ expected: Told, _ accounts: [Explanation.EventAccount], at time: Timestamp
    ) -> [String] {
        let expected = expected.told(at: minute)
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

    /// A story of one task says the same as the story of all, however many of its events it shows.
    private func compareStories(_ accounts: [Explanation.EventAccount], by book: RuleBook) async throws {
        for source in office.sources {
            for id in Self.ids {
                let part = accounts.filter { $0.event.event.task?.key.text == id && $0.event.event.source == source.name }
                guard let subject = part.first?.event.event.subject else { continue }
                for limit in [1, 3, 1000] {
                    let own = try await office.bench.store.history(HistoryQuery(task: subject, limit: limit))
                    let story = Explanation(ExplanationFacts(own), by: book, at: office.bench.now).events
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
    /// Whether a source told of it.
    fileprivate var isOfSource: Bool {
        [.taskCreated, .taskChanged, .taskRemoved, .taskReturned].contains(event.type)
    }
}

extension Happening.Fields {
    fileprivate var json: JSON.Object {
        var json: JSON.Object = ["priority": .int(Int64(priority))]
        if let state { json["state"] = .int(Int64(state)) }
        return json
    }
}
