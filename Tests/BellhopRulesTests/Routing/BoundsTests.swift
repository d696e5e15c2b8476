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

    private static func death(of delivery: Delivery?) -> String? {
        guard case .dead(let failure)? = delivery?.initial else { return nil }
        return failure.message
    }

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
        let reason = try #require(Self.death(of: large.deliveries.first))
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
        let rule = """
            rule: large
            on: task_created
            from: my-work
            do: [{webhook: {url: "https://example.com/", json: "${{ tasks }}"}}]
            """
        let (book, tasks) = (try Fixture.book(rule), Self.tasks(300))
        var events = Self.events(200)
        var batches: [Int] = []
        var made = 0
        while !events.isEmpty {
            let routing = book.decide(events, tasks: tasks)
            #expect(routing.routed == events.prefix(routing.routed.count).map(\.sequence))
            #expect(routing.deliveries.count == routing.routed.count)
            batches.append(routing.routed.count)
            made += routing.deliveries.count
            try #require(!routing.routed.isEmpty)
            events.removeFirst(routing.routed.count)
        }
        #expect(made == 200)
        #expect(batches.count > 2 && batches.allSatisfy { $0 < 100 }, "\(batches)")
    }

    @Test func `an error for an event that is left to the next batch is counted once`() throws {
        let rules = """
            rule: large
            on: task_created
            from: my-work
            do: [{webhook: {url: "https://example.com/", json: "${{ tasks }}"}}]
            ---
            rule: broken
            on: task_created
            when: 1 / int(task.number.size() - task.number.size()) == 1
            do: [{log: never}]
            """
        let (book, tasks) = (try Fixture.book(rules), Self.tasks(300))
        var events = Self.events(100)
        var errors = 0
        while !events.isEmpty {
            let routing = book.decide(events, tasks: tasks)
            errors += routing.tallies.first { $0.rule == "broken" }?.errors ?? 0
            try #require(!routing.routed.isEmpty)
            events.removeFirst(routing.routed.count)
        }
        #expect(errors == 100)
    }

    @Test func `a batch that computes ends behind its event when the agent stops`() async throws {
        let numbers = "[" + (1...50).map(String.init).joined(separator: ", ") + "]"
        let heavy = "\(numbers).all(a, \(numbers).all(b, \(numbers).all(c, a + b + c + task.number.size() > 0)))"
        let conditions = try Fixture.book("rule: a\non: task_created\nfrom: my-work\nwhen: \"\(heavy)\"\ndo: [{log: done}]\n")
        let steps = try Fixture.book("rule: a\non: task_created\nfrom: my-work\ndo:\n  - log: \"${{ \(heavy) }}\"\n")
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
        let numbers = "[" + (1...50).map(String.init).joined(separator: ", ") + "]"
        let heavy = "\(numbers).all(a, \(numbers).all(b, \(numbers).all(c, a + b + c + task.number.size() > 0)))"
        func book(_ body: String) throws -> RuleBook {
            try Fixture.book((0..<3).map { "rule: r\($0)\non: task_created\nfrom: my-work\n\(body)" }.joined(separator: "---\n"))
        }
        let conditions = try book("when: \"\(heavy)\"\ndo: [{log: done}]\n")
        let steps = try book("do:\n  - log: \"${{ \(heavy) }}\"\n")
        let elements = try Fixture.book(
            "rule: e\non: {every: 1h}\neach: tasks\nfrom: my-work\nwhen: \"\(heavy)\"\ndo: [{log: done}]\n")
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
        #expect(Self.death(of: routing.deliveries.last)?.contains("it costs more than its limit") == true)
    }
}
