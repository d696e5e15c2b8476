import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Random histories of an agent that is restarted, is away, and reloads its rules: what is explained is what happened.
@Suite(.timeLimit(.minutes(10))) struct `Histories and their explanations` {
    /// The rules; a reload changes what they do, and not when.
    private static func rules(_ version: Int) -> String {
        """
        rule: h
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 3m
        do: [{log: "h\(version) ${{ task.id }}"}]
        ---
        rule: c
        on: [task_created, task_changed]
        count: {at_least: 3, within: 6m, by: task.priority}
        do: [{log: "c\(version)"}]
        ---
        rule: g
        on: [task_created, task_changed, task_removed, task_returned]
        group: {by: task.priority, wait: 2m}
        do: [{notify: {to: [chat, pager], title: "g\(version)"}}]
        """
    }

    /// What each rule does, written from what the format says of them. An event is named by its number.
    private struct Model {
        enum Kind { case created, changed, removed, returned }

        var verdicts: [[String: Explanation.Verdict]] = []
        private var holds: [String: (due: Int, event: Int, hasRun: Bool)] = [:]
        private var counted: [Int: [Int]] = [:]
        private var groups: [Int: (due: Int, first: Int)] = [:]

        /// Groups that are due, and waits that are over at this very moment, come before the events of a look.
        mutating func arrive(at now: Int) {
            flush(at: now)
            end { $0 == now }
        }

        mutating func leave(at now: Int) {
            end { $0 <= now }
            flush(at: now)
        }

        mutating func happen(_ kind: Kind, _ id: String, _ priority: Int, at now: Int) {
            let number = verdicts.count
            let fits = kind == .created || kind == .changed
            let isHeld = holds[id].map { !$0.hasRun } ?? false
            var verdict: [String: Explanation.Verdict] = ["h": .type, "c": .type, "g": .gathering]
            if kind == .removed || priority != 1 {
                if fits { verdict["h"] = .conditionFalse }
                if isHeld { verdict["h"] = .cancelled }
                holds[id] = nil
            } else if fits {
                verdict["h"] = .waiting
                if holds[id] == nil { holds[id] = (now + 3, number, false) }
            }
            if fits {
                let window = counted[priority, default: []].filter { now < $0 + 6 } + [now]
                verdict["c"] = window.count == 3 ? .ran : .counting
                counted[priority] = window.count == 3 ? [] : window
            }
            if groups[priority] == nil { groups[priority] = (now + 2, number) }
            verdicts.append(verdict)
        }

        private mutating func end(_ isDue: (Int) -> Bool) {
            for (id, hold) in holds where !hold.hasRun && isDue(hold.due) {
                holds[id]?.hasRun = true
                verdicts[hold.event]["h"] = .ran
            }
        }

        private mutating func flush(at now: Int) {
            for (priority, group) in groups where group.due <= now {
                verdicts[group.first]["g"] = .ran
                groups[priority] = nil
            }
        }
    }

    @Test(arguments: 0..<40)
    func `explain agrees with a model about every event and rule, and shows each delivery once`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let office = try await Office(Self.rules(0), [task("always", "x", ["priority": 9])])
        let calls: [FaultyStore.Call] = [.commit, .route, .unrouted, .state, .dueTimers, .register]
        var model = Model()
        var present: [String: Int] = [:]
        var gone: Set<String> = []
        var (minute, version) = (0, 0)
        for number in 0..<40 {
            let pause = random.oneIn(4) ? Int.random(in: 2...7, using: &random) : Int.random(in: 0...1, using: &random)
            minute += pause
            if pause > 0 { await office.bench.clock.advance(by: .seconds(60 * pause)) }
            if random.oneIn(8) { version += 1 }
            let id = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
            let priority = random.oneIn(3) ? 2 : 1
            model.arrive(at: minute)
            if let before = present[id], random.oneIn(5) {
                office.source.remove(TaskKey(id))
                model.happen(.removed, id, before, at: minute)
                (present[id], _) = (nil, gone.insert(id))
            } else if !random.oneIn(4) {
                office.source.put(task(id, "title \(number)", ["priority": .int(Int64(priority))]))
                let kind: Model.Kind = present[id] != nil ? .changed : gone.contains(id) ? .returned : .created
                model.happen(kind, id, priority, at: minute)
                present[id] = priority
            }
            model.leave(at: minute)
            // Each look is a new run of the agent; some end in the middle.
            if random.oneIn(4) {
                office.bench.store.failOnce(
                    calls[Int.random(in: 0..<calls.count, using: &random)], random.oneIn(2) ? .before : .after)
                try? await office.look(with: Self.rules(version))
                office.bench.store.work()
            }
            try await office.look(with: Self.rules(version))
        }
        let history = try await office.bench.store.history(HistoryQuery(through: .max / 2, limit: .max / 2))
        let surroundings = try RuleSurroundings.test(sources: [office.source])
        let book = try RuleBook.loadToExplain([.test(Self.rules(version))], surroundings: surroundings)
        let explanation = Explanation(ExplanationFacts(history), by: book)
        let accounts = explanation.events.filter { $0.event.event.task != nil }
        #expect(accounts.count == model.verdicts.count)
        for (number, (account, expected)) in zip(accounts, model.verdicts).enumerated() {
            let found = Dictionary(uniqueKeysWithValues: account.rules.map { ($0.rule, $0.verdict) })
            #expect(found == expected, "seed \(seed), event \(number): \(account.event.event.line)")
            for rule in account.rules { #expect((rule.verdict == .ran) == !rule.deliveries.isEmpty) }
        }
        let told = accounts.flatMap(\.rules).flatMap(\.deliveries).map(\.id)
        let made = try await office.bench.deliveries().map(\.delivery.id.text)
        #expect(told.count > 5 && told.sorted() == made.sorted())
        // A story of one task says the same as the story of all.
        for id in ["a", "b", "c"] {
            let own = try await office.bench.store.history(HistoryQuery(task: id, limit: 1000))
            let story = Explanation(ExplanationFacts(own), by: book).events
            let part = accounts.filter { $0.event.event.task?.key.text == id }
            #expect(story.map { $0.rules.map(\.verdict) } == part.map { $0.rules.map(\.verdict) }, "seed \(seed) of \(id)")
        }
    }
}
