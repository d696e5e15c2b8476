import BellhopCore
import Testing

@testable import BellhopStore

@Suite struct `The stored form of deliveries` {
    static let messages = [Message(title: []), Sample.message]

    @Test(arguments: messages)
    func `a message is equal after storing and reading`(_ message: Message) throws {
        #expect(try Message(stored: JSON.parse(message.stored.encoded())) == message)
    }

    @Test(arguments: Failure.Reason.allCases)
    func `a failure is equal after storing and reading`(_ reason: Failure.Reason) throws {
        let remedies: [Failure.Remedy] = [
            .retry(after: nil), .retry(after: .milliseconds(1500)), .giveUp, .unknownOutcome, .hold, .pauseConnection,
        ]
        for remedy in remedies {
            let failure = Failure(reason, remedy, "It said \"no\".")
            #expect(try Failure(stored: failure.stored) == failure)
        }
    }

    @Test func `a delivery is equal after storing and reading`() throws {
        for message in Self.messages {
            for initial in [Delivery.InitialState.available, .shadow, .dead(Sample.failure)] {
                var delivery = Sample.delivery(1, initial: initial)
                delivery.arguments = .message(message)
                let body = DeliveryBody(delivery)
                #expect(try DeliveryBody(stored: JSON.parse(body.stored.encoded())) == body)
                delivery.task = nil
                delivery.after = [Sample.delivery(2).id, Sample.delivery(3, rule: "other", receiver: "mail").id]
                delivery.arguments = .values([:])
                delivery.retry = RetryPolicy(attempts: 2, base: .milliseconds(3), cap: .seconds(4))
                #expect(try DeliveryBody(stored: DeliveryBody(delivery).stored) == DeliveryBody(delivery))
            }
        }
    }

    @Test(arguments: [
        #"{"v": 2, "arguments": "of another form"}"#, #"{"v": 1}"#, "[]", "{",
        #"{"v":1,"revision":"","retry":[1,2,3],"message":{}}"#,
    ])
    func `a delivery in an unknown form becomes dead and visible, and its lane goes on`(_ body: String) async throws {
        let tested = try SQLiteUnderTest()
        let bench = Bench(tested: tested)
        try await bench.store.route(Routing(deliveries: [Sample.delivery(1, lane: "a"), Sample.delivery(2, lane: "a")]))
        try await tested.setBody(of: Sample.delivery(1).id, to: body)
        #expect(try await bench.claim().isEmpty)
        let record = try await bench.store.deliveries(DeliveryQuery(states: [.dead]))[0]
        #expect(record.delivery.id == Sample.delivery(1).id)
        #expect(record.failure?.reason == .badArguments)
        #expect(record.failure?.message.contains("cannot be read from the store") == true)
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(2).id])
    }

    @Test func `the error for an unknown form names it`() throws {
        let error = #expect(throws: DamagedValue.self) { try DeliveryBody(stored: ["v": 2]) }
        #expect(error?.problem == "it was written in form 2, and this version of Bellhop reads form 1")
    }
}
