import BellhopCore
import BellhopTesting
import Testing

/// Finding, counting and editing deliveries that failed.
@Suite struct `Deliveries that need a person` {
    private func edit(_ number: Int, to text: String, from before: String? = nil, at time: Timestamp = Sample.now) -> DeliveryEdit
    {
        DeliveryEdit(
            id: Sample.delivery(number).id, before: .values(["text": .string(before ?? "number \(number)")]),
            after: .values(["text": .string(text)]), edit: Delivery.Edit(by: "ada", at: time))
    }

    /// Creates a dead, a held and an available delivery.
    private func failed(_ bench: Bench) async throws {
        try await bench.enqueue((1...3).map { Sample.delivery($0) })
        let claims = try await bench.claim(2)
        try await bench.finish(claims[0], .dead(Sample.failure))
        try await bench.finish(claims[1], .held(Failure(.cut, .hold, "Half an answer came.")))
    }

    @Test(arguments: Benches())
    func `only a dead or held delivery can be edited, and the edit has the person and the time`(_ bench: Bench) async throws {
        try await failed(bench)
        #expect(try await bench.store.edit(edit(1, to: "one")))
        #expect(try await bench.store.edit(edit(2, to: "two")))
        #expect(try await bench.store.edit(edit(3, to: "three")) == false)
        #expect(try await bench.store.edit(edit(4, to: "unknown")) == false)
        let later = Sample.now + .seconds(60)
        #expect(try await bench.store.edit(edit(1, to: "one again", from: "one", at: later)))
        let deliveries = try await bench.store.deliveries(DeliveryQuery()).map(\.delivery)
        #expect(deliveries.map(\.arguments) == ["one again", "two", "number 3"].map { .values(["text": .string($0)]) })
        #expect(deliveries[0].edits == [Delivery.Edit(by: "ada", at: Sample.now), Delivery.Edit(by: "ada", at: later)])
        #expect(deliveries[2].edits.isEmpty)
    }

    @Test(arguments: Benches())
    func `an edit is refused if the arguments or the state have changed meanwhile`(_ bench: Bench) async throws {
        try await failed(bench)
        #expect(try await bench.store.edit(edit(1, to: "one")))
        #expect(try await bench.store.edit(edit(1, to: "another")) == false)
        _ = try await bench.store.apply(.retry, to: [Sample.delivery(2).id], at: bench.now)
        #expect(try await bench.store.edit(edit(2, to: "two")) == false)
        let sent = try await bench.claim().map(\.delivery.arguments)
        #expect(sent.contains(.values(["text": "number 2"])))
        #expect(try await bench.store.edit(edit(2, to: "two")) == false)
    }

    @Test(arguments: Benches())
    func `an edited delivery that is retried sends what the person wrote`(_ bench: Bench) async throws {
        try await failed(bench)
        #expect(try await bench.store.edit(edit(1, to: "one")))
        _ = try await bench.store.apply(.retry, to: [Sample.delivery(1).id], at: bench.now)
        let claim = try #require(try await bench.claim().first { $0.delivery.id == Sample.delivery(1).id })
        #expect(claim.delivery.arguments == .values(["text": "one"]))
        #expect(claim.attempt.number == 1)
    }

    @Test(arguments: Benches())
    func `the status counts dead and held deliveries by state, receiver and reason`(_ bench: Bench) async throws {
        let deliveries =
            [Sample.delivery(1, receiver: "b"), Sample.delivery(2, receiver: "a"), Sample.delivery(3, receiver: "a")]
            + [4, 5, 6].map { Sample.delivery($0, receiver: "a") }
        try await bench.enqueue(deliveries)
        let refused = Failure(.refused, .giveUp, "No.")
        for claim in try await bench.claim(9) {
            let number = deliveries.firstIndex { $0.id == claim.delivery.id }!
            if number < 5 { try await bench.finish(claim, number < 2 ? .dead(Sample.failure) : .dead(refused)) }
            if number == 5 { try await bench.finish(claim, .held(Sample.failure)) }
        }
        #expect(
            try await bench.store.status().undecided == [
                .init(state: .dead, receiver: "a", reason: .refused, count: 3),
                .init(state: .dead, receiver: "a", reason: .timeout, count: 1),
                .init(state: .dead, receiver: "b", reason: .timeout, count: 1),
                .init(state: .held, receiver: "a", reason: .timeout, count: 1),
            ])
    }

    @Test(arguments: Benches())
    func `dead and held deliveries are found by receiver, age, reason and whole id`(_ bench: Bench) async throws {
        let late = bench.after(100)
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2, receiver: "mail"), Sample.delivery(3, at: late),
            Sample.delivery(4, initial: .dead(Failure(.unrenderable, .giveUp, "No text."))),
        ])
        func found(_ query: DeliveryQuery) async throws -> [Delivery.ID] {
            try await bench.store.deliveries(query).map(\.delivery.id)
        }
        #expect(try await found(DeliveryQuery(receiver: "mail")) == [Sample.delivery(2, receiver: "mail").id])
        #expect(try await found(DeliveryQuery(since: late)) == [Sample.delivery(3).id])
        #expect(try await found(DeliveryQuery(reason: .unrenderable)) == [Sample.delivery(4).id])
        #expect(try await found(DeliveryQuery(receiver: "mail", reason: .unrenderable)).isEmpty)
        let id = Sample.delivery(3).id.text
        let query = DeliveryQuery(id: id)
        #expect(try await found(query) == [Sample.delivery(3).id])
        #expect(try await found(DeliveryQuery(states: [.dead], id: id)).isEmpty)
        let span = try #require(try await bench.store.span(of: query))
        #expect(span.through == span.after + 1)
        var page = query
        page.after = span.after
        page.through = span.through
        #expect(try await found(page) == [Sample.delivery(3).id])
        page.after = span.through
        #expect(try await found(page).isEmpty)
        #expect(try await bench.store.span(of: DeliveryQuery(id: String(repeating: "0", count: 32))) == nil)
    }
}
