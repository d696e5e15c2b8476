import BellhopCore
import Testing

@testable import BellhopRules

/// The limits on one rule: the size of a delivery, the cost of expressions, and the size of a transaction.
@Suite struct `Limits of routing` {
    private static func tasks(_ count: Int) -> [Scope.ID: [Snapshot]] {
        [
            Fixture.scope: (0..<count).map {
                Fixture.task(
                    "t\($0)", number: "INC\($0)", fields: ["short_description": .string(String(repeating: "x", count: 200))])
            }
        ]
    }

    private static func events(_ count: Int) -> [StoredEvent] {
        (0..<count).map { number in StoredEvent(sequence: Int64(number + 1), event: Fixture.event(id: "e\(number)")) }
    }

    private static func routing(_ rules: String, events: [StoredEvent], tasks: [Scope.ID: [Snapshot]] = [:]) throws -> Routing {
        try Fixture.book(rules).decide(events, tasks: tasks)
    }

    /// The routings of so many events, one batch after the other.
    private static func batches(_ rules: String, _ count: Int) throws -> [Routing] {
        let (book, tasks) = (try Fixture.book(rules), Self.tasks(300))
        var rest = events(count)
        var batches: [Routing] = []
        while !rest.isEmpty {
            let routing = book.decide(rest, tasks: tasks)
            #expect(routing.routed == rest.prefix(routing.routed.count).map(\.sequence))
            try #require(!routing.routed.isEmpty)
            batches.append(routing)
            rest.removeFirst(routing.routed.count)
        }
        return batches
    }

    /// A rule of which some dozens of deliveries fill one transaction.
    private static let large = """
        rule: large
        on: task_created
        from: my-work
        do: [{webhook: {url: "https://example.com/", json: "${{ tasks }}"}}]
        """

    /// A condition that takes long.
    private static let heavy: String = {
        let numbers = "[" + (1...50).map(String.init).joined(separator: ", ") + "]"
        return "\(numbers).all(a, \(numbers).all(b, \(numbers).all(c, a + b + c + task.number.size() > 0)))"
    }()

    @Test(arguments: ["json: {all: \"${{ tasks }}\"}", "text: \"${{ tasks }}\"", "json: [1, \"${{ tasks }}\", 2]"])
    func `a delivery larger than allowed is dead, with that reason`(_ body: String) throws {
        let rule = """
            rule: all
            on: task_created
            from: my-work
            do:
              - webhook: {url: "https://example.com/", \(body)}
              - log: small
            """
        let large = try Self.routing(rule, events: Self.events(1), tasks: Self.tasks(2000))
        let reason = try #require(large.deliveries.first?.death).message
        #expect(reason.contains("more than 256 KB") && reason.contains("max_delivery"), "\(reason)")
        #expect(large.tallies.first?.errors == 1)
        #expect(large.events.map(\.type) == [.deliveryDead])
        let small = try Self.routing(rule, events: Self.events(1), tasks: Self.tasks(20))
        #expect(small.deliveries.count == 2 && small.deliveries.allSatisfy { $0.initial == .available })
    }

    @Test func `a message larger than allowed is replaced by one that says so`() throws {
        let rule = """
            rule: all
            on: task_created
            from: my-work
            do: [{notify: {to: ops, title: All, text: "${{ tasks }}"}}]
            """
        let routing = try Self.routing(rule, events: Self.events(1), tasks: Self.tasks(2000))
        #expect(routing.deliveries.first?.arguments.message?.isFallback == true)
        #expect(routing.tallies.first?.lastError?.contains("more than 256 KB") == true)
    }

    @Test func `a batch ends when its deliveries fill one transaction, and the other events follow in the next`() throws {
        let batches = try Self.batches(Self.large, 200)
        let sizes = batches.map(\.routed.count)
        #expect(batches.map(\.deliveries.count) == sizes)
        #expect(sizes.count > 2 && sizes.allSatisfy { $0 < 100 }, "\(sizes)")
    }

    @Test func `an error for an event that is left to the next batch is counted once`() throws {
        let broken = """
            rule: broken
            on: task_created
            when: 1 / int(task.number.size() - task.number.size()) == 1
            do: [{log: never}]
            """
        let tallies = try Self.batches(Self.large + "\n---\n" + broken, 100).flatMap(\.tallies)
        #expect(tallies.filter { $0.rule == "broken" }.map(\.errors).reduce(0, +) == 100)
    }

    @Test func `a batch that computes ends behind its event when the agent stops`() async throws {
        let conditions = try Fixture.book(
            "rule: a\non: task_created\nfrom: my-work\nwhen: \"\(Self.heavy)\"\ndo: [{log: done}]\n")
        let steps = try Fixture.book("rule: a\non: task_created\nfrom: my-work\ndo:\n  - log: \"${{ \(Self.heavy) }}\"\n")
        func matched() -> Int { conditions.match(Self.events(3), since: [:]).events.count }
        func decided() -> Int { steps.decide(Self.events(3)).routed.count }
        #expect((matched(), decided()) == (3, 3))
        let stopped = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (matched(), decided())
        }.value
        #expect(stopped == (1, 1))
    }

    @Test func `a stopping agent does not wait for the other rules of an event, and leaves the whole event for later`()
        async throws
    {
        func book(_ body: String) throws -> RuleBook {
            try Fixture.book((0..<3).map { "rule: r\($0)\non: task_created\nfrom: my-work\n\(body)" }.joined(separator: "---\n"))
        }
        let conditions = try book("when: \"\(Self.heavy)\"\ndo: [{log: done}]\n")
        let steps = try book("do:\n  - log: \"${{ \(Self.heavy) }}\"\n")
        let elements = try Fixture.book(
            "rule: e\non: {every: 1h}\neach: tasks\nfrom: my-work\nwhen: \"\(Self.heavy)\"\ndo: [{log: done}]\n")
        let tasks = Self.tasks(100)
        let due = [StoredEvent(sequence: 1, event: Fixture.event(.scheduleDue, nil, source: "e", id: "due"))]
        func matched() -> Int { conditions.match(Self.events(2), since: [:]).events.count }
        #expect(matched() == 2)
        #expect(steps.decide(Self.events(2), tasks: tasks).deliveries.count == 6)
        let stopped = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (matched(), steps.decide(Self.events(2), tasks: tasks), elements.decide(due, tasks: tasks))
        }.value
        #expect(stopped.0 == 0)
        for routing in [stopped.1, stopped.2] {
            #expect(routing.routed.isEmpty && routing.deliveries.isEmpty && routing.decisions.isEmpty)
        }
    }

    @Test func `the steps of one rule share one budget of computation for each event`() throws {
        let step = "  - log: \"${{ tasks.all(a, tasks.all(b, a.number.size() + b.number.size() > 0)) }}\"\n"
        let rule = "rule: heavy\non: task_created\nfrom: my-work\ndo:\n" + String(repeating: step, count: 30)
        let book = try Fixture.book(rule)
        let matches = book.match(Self.events(1), since: [:])
        var decider = BatchDecider(
            book, matches, RoutingFacts(state: [:], tasks: Self.tasks(50)), at: Fixture.start, work: 40_000)
        let routing = decider.decided().complete
        #expect(routing.deliveries.first?.initial == .available)
        #expect(routing.deliveries.last?.death?.message.contains("it costs more than its limit") == true)
    }

    @Test func `with existing, each known task has a budget of computation of its own`() throws {
        let rule = """
            rule: known
            on: task_created
            from: my-work
            when: tasks.all(t, t.number.size() > 0)
            for: {time: 10m, existing: true}
            do: [{log: done}]
            """
        let book = try Fixture.book(rule)
        let matches = book.match([RuleTimer(.init(rule: "known", kind: .existing), due: Fixture.start)])
        var decider = BatchDecider(
            book, matches, RoutingFacts(state: [:], tasks: Self.tasks(50)), at: Fixture.start, work: 2_000)
        let routing = decider.decided().complete
        #expect(routing.timers.count == 50)
        #expect(routing.tallies.isEmpty)
    }

    /// What `existing` takes up in one transaction: the keys of the waits that begin, and the timer for the rest.
    private static func takeUp(
        _ timer: RuleTimer, _ book: RuleBook, _ tasks: [Scope.ID: [Snapshot]], work: Int64 = RuleBook.workPerRun,
        workPerBatch: Int64 = RuleBook.workPerBatch
    ) -> (keys: [String], rest: RuleTimer?) {
        var decider = BatchDecider(
            book, book.match([timer]), RoutingFacts(state: [:], tasks: tasks), at: Fixture.start, work: work,
            workPerBatch: workPerBatch)
        let routing = decider.decided().complete
        #expect(routing.fired == [timer])
        var (keys, rest): ([String], RuleTimer?) = ([], nil)
        for case .set(let other) in routing.timers {
            if other.id == timer.id { rest = other } else { keys.append(other.id.key) }
        }
        return (keys, rest)
    }

    private static let beginning = RuleTimer(.init(rule: "known", kind: .existing), due: Fixture.start)

    private static func existing(when condition: String, from sources: String, isOpen: Bool = false) throws -> RuleBook {
        let rule = "rule: known\non: task_created\nfrom: [\(sources)]\nwhen: \(condition)\n"
        return try Fixture.book(rule + "for: {time: 10m, existing: true}\ndo: [{log: done}]\n", isOpen: isOpen)
    }

    /// The keys of the waits that begin in each transaction.
    private static func takeUp(
        _ count: Int, when condition: String, work: Int64 = RuleBook.workPerRun, workPerBatch: Int64 = RuleBook.workPerBatch
    ) throws -> [[String]] {
        let (book, tasks) = (try existing(when: condition, from: "my-work"), Self.tasks(count))
        var timer: RuleTimer? = beginning
        var batches: [[String]] = []
        while let next = timer {
            let taken = takeUp(next, book, tasks, work: work, workPerBatch: workPerBatch)
            batches.append(taken.keys)
            timer = taken.rest
        }
        return batches
    }

    @Test func `with existing, a transaction takes up only as many tasks as fit, and the next ones the others`() throws {
        let batches = try Self.takeUp(20_000, when: "task.number.size() > 0")
        #expect(batches.count > 1)
        #expect(batches.map(\.count).reduce(0, +) == 20_000 && Set(batches.joined()).count == 20_000)
    }

    @Test func `with existing, the last task of a transaction that is full of computation has its whole budget, too`() throws {
        // A task costs less than the budget of one, and no divisor of the limit of a transaction.
        let batches = try Self.takeUp(50, when: "tasks.all(t, t.number.size() > 0)", work: 2_000, workPerBatch: 1_009)
        #expect(batches.count > 1)
        #expect(Set(batches.joined()).count == 50)
    }

    @Test func `with existing, a source that leaves bellhop.yaml between two transactions takes no other with it`() throws {
        func book(_ sources: String) throws -> RuleBook {
            try Self.existing(when: "task.number.size() > 0", from: sources, isOpen: true)
        }
        let three = (0..<3).map { Fixture.task("t\($0)", number: "INC\($0)") }
        let tasks = Dictionary(uniqueKeysWithValues: ["a", "b", "c"].map { (RuleContext.assumedScope($0), three) })
        let first = Self.takeUp(Self.beginning, try book("a, b, c"), tasks, workPerBatch: 1)
        #expect(first.keys == ["a/t0"])
        let rest = Self.takeUp(try #require(first.rest), try book("c, b"), tasks)
        #expect(rest.keys == ["b/t0", "b/t1", "b/t2", "c/t0", "c/t1", "c/t2"] && rest.rest == nil)
    }
}
