import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Random histories of an agent that runs all the time, with silences and failures of its source: a back-test of its rules over the
/// stored events makes its deliveries.
@Suite(.timeLimit(.minutes(10))) struct `Back-tests of random histories` {
    private static let rules =
        WaitingModel.plainRules + "\n" + """
            ---
            rule: o
            on: [task_created, task_returned]
            once: task.id
            do: [{log: "o ${{ task.id }}"}]
            ---
            rule: w
            on: task_changed
            throttle: {by: task.priority, every: 5m}
            do: [{log: "w ${{ task.id }} ${{ task.title }}"}, {emit: {type: ping, data: {task: "${{ task.id }}"}}}]
            ---
            rule: r
            on: ping
            do: [{log: "r ${{ event.data.task }}"}]
            ---
            rule: l
            on: {every: 7m}
            do: [{log: "l ${{ events.map(e, e.type).join(' ') }}"}]
            ---
            rule: u
            on: {every: 4m}
            each: tasks.filter(t, t.priority == 1)
            do: [{log: "u ${{ task.id }} ${{ task.title }}"}]
            ---
            rule: k
            on: [task_created, task_changed]
            do: [{notify: {to: chat, title: "k ${{ task.title }}"}}]
            ---
            rule: signs
            on: [silence_started, silence_ended, source_failing, source_recovered]
            do: [{log: "signs ${{ event.type }}"}]
            """

    @Test(arguments: 0..<UInt64(RandomRuns.count(20)))
    func `a back-test of the present rules makes exactly the real deliveries`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: RandomRuns.seed(seed))
        let sources = ScriptedSource(clock: TestClock())
        let book = try RuleBook.test(Self.rules, sources: [sources])
        let agent = try await TestAgent(Self.rules, [], isRunning: true)
        let begin = agent.bench.now
        var silence: Silence?
        for number in 0..<60 {
            for _ in 0..<(random.oneIn(5) ? Int.random(in: 2...12, using: &random) : Int.random(in: 0...1, using: &random)) {
                try await agent.wait(1)
            }
            if random.oneIn(8) {
                let failure = Failure(.gateway, .retry(after: nil), "502 Bad Gateway")
                agent.source.edit {
                    $0.lists = Array(repeating: .failure(failure), count: Int.random(in: 1...6, using: &random))
                }
            }
            if random.oneIn(10) {
                silence = try await Self.silence(number, in: agent, for: Int.random(in: 2...9, using: &random))
            } else if let given = silence, random.oneIn(4) {
                await agent.bench.clock.advance(by: .seconds(60))
                _ = try await agent.bench.store.endSilence(given.id, at: agent.bench.now)
                try await agent.runOnce()
                silence = nil
            }
            let id = ["a", "b", "c", "d"][Int.random(in: 0..<4, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0: agent.source.remove(TaskKey(id))
            case 1, 2: try await agent.put(id, "title \(number)", priority: Int.random(in: 1...2, using: &random))
            default: break
            }
            try await agent.runOnce()
        }
        // Once more, so that everything that is due is done.
        try await agent.runOnce()
        let store = agent.bench.store
        var test = BackTest(book, from: begin, silences: try await store.silences())
        let events = Array(try await store.events(EventQuery(limit: 100_000)))
        var made: [Delivery.ID: Delivery] = [:]
        func take(_ found: BackTest.MadeDeliveries) {
            for delivery in found.deliveries { made[delivery.id] = delivery }
            for delivery in found.released where delivery.initial != .available { made[delivery.id] = delivery }
        }
        // Pages end at any place.
        var rest = events[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...9, using: &random)
            take(test.feed(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        take(test.finish(at: agent.bench.now))
        func lines(_ deliveries: [Delivery]) -> [String] {
            deliveries.map {
                "\($0.createdAt.rfc3339) \($0.id.rule) \($0.id.step.text) \($0.id.receiver) \($0.initial.name) \($0.text)"
            }.sorted()
        }
        let (found, real) = (lines(Array(made.values)), lines(try await agent.bench.deliveries().map(\.delivery)))
        // The usual histories are known to have these.
        if RandomRuns.seed == nil {
            #expect(real.count > 50)
            if seed == 0 {
                #expect(real.contains { $0.contains(" silenced ") } && real.contains { $0.contains("signs source_failing") })
            }
        }
        guard found != real else { return }
        let difference = found.difference(from: real)
        let surplus = difference.insertions.prefix(10).map { "+ \($0)" }
        let lost = difference.removals.prefix(10).map { "- \($0)" }
        #expect((surplus + lost).joined(separator: " | ") == "", "seed \(seed)")
    }

    /// Lets a minute pass and silences some tasks, before anything else happens at that moment.
    private static func silence(_ number: Int, in agent: TestAgent, for minutes: Int) async throws -> Silence {
        await agent.bench.clock.advance(by: .seconds(60))
        let silence = Silence(
            when: number.isMultiple(of: 2) ? "task.priority == 1" : nil, starts: agent.bench.now,
            ends: agent.bench.now + .seconds(60 * minutes), reason: "x", by: "ann"
        ).identified
        _ = try await agent.bench.store.add(silence, at: agent.bench.now)
        try await agent.runOnce()
        return silence
    }
}
