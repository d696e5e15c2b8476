import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Random histories of an agent that runs all the time: a back-test of its rules over the stored events makes its deliveries.
@Suite(.timeLimit(.minutes(10))) struct `Histories and their back-tests` {
    private static let rules =
        WaitingModel.rules + "\n" + """
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
            rule: k
            on: [task_created, task_changed]
            do: [{notify: {to: chat, title: "k ${{ task.title }}"}}]
            """

    @Test(arguments: 0..<20)
    func `a back-test of the rules in force makes exactly the deliveries that were made`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let sources = ScriptedSource(clock: TestClock())
        let book = try RuleBook.test(Self.rules, sources: [sources])
        let bench = try Bench()
        let begin = bench.now
        let office = try await Office(Self.rules, [])
        for number in 0..<60 {
            for _ in 0..<(random.oneIn(5) ? Int.random(in: 2...12, using: &random) : Int.random(in: 0...1, using: &random)) {
                try await office.wait(1)
            }
            let id = ["a", "b", "c", "d"][Int.random(in: 0..<4, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0: office.source.remove(TaskKey(id))
            case 1, 2: try await office.put(id, "title \(number)", priority: Int.random(in: 1...2, using: &random))
            default: break
            }
            try await office.look()
        }
        // Once more, so that everything that is due is done.
        try await office.look()
        let store = office.bench.store
        var test = BackTest(book, from: begin)
        let events = Array(try await store.events(EventQuery(limit: 100_000)))
        var made: [Delivery] = []
        // Pages end at any place.
        var rest = events[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...9, using: &random)
            made += test.feed(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        made += test.finish(at: office.bench.now)
        func lines(_ deliveries: [Delivery]) -> [String] {
            deliveries.map {
                "\($0.createdAt.rfc3339) \($0.id.rule) \($0.id.step.text) \($0.id.receiver) \($0.initial.name) \($0.text)"
            }.sorted()
        }
        let (found, real) = (lines(made), lines(try await office.bench.deliveries().map(\.delivery)))
        #expect(real.count > 50)
        guard found != real else { return }
        let difference = found.difference(from: real)
        let surplus = difference.insertions.prefix(10).map { "+ \($0)" }
        let lost = difference.removals.prefix(10).map { "- \($0)" }
        #expect((surplus + lost).joined(separator: " | ") == "", "seed \(seed)")
    }
}
