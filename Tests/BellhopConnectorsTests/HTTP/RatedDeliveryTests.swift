import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite(.timeLimit(.minutes(5))) struct `Deliveries at a rate` {
    private let clock = TestClock(settlingYields: 10)
    private let store: any Store

    init() throws { store = try Stores.inMemory() }

    /// Waits for its turn like a request.
    private struct Post: Action {
        let limiter: RateLimiter

        func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
            do { try await limiter.wait() } catch { throw Failure(.interrupted, .retry(after: nil), "cancelled") }
            return Receipt("200")
        }
    }

    /// - Parameter requests: the requests that are reserved for a delivery, which sends one.
    private func run(
        _ rate: Rate, count: Int, requests: Int = 1, then body: (Dispatcher) async throws -> Void
    ) async throws {
        let limiter = RateLimiter(rate, clock: clock)
        let post = Post(limiter: limiter)
        let deliveries = (0..<count).map { Delivery.comment("\($0)", on: "t\($0)", occasion: "event/\($0)") }
        try await store.route(Routing(deliveries: deliveries))
        let context = EngineContext(store: store, clock: clock, signals: Signals())
        let dispatcher = Dispatcher(
            context, receivers: { _ in ReceiverLimits(rate: limiter.attempts(of: requests)) }, actions: { _ in post })
        try await body(dispatcher)
    }

    @Test func `a delivery beyond the rate does not begin`() async throws {
        try await run(Rate(count: 10, per: .seconds(3600)), count: 16) { (dispatcher: Dispatcher) async throws in
            #expect(try await dispatcher.dispatchPending() == 10)
            await clock.advance(by: .seconds(600))
            #expect(try await dispatcher.dispatchPending() == 0)
            let left = try await store.deliveries(DeliveryQuery(states: [.available]))
            #expect(left.count == 6)
            let areUntouched = left.allSatisfy { $0.attempts == 0 && $0.failure == nil }
            #expect(areUntouched)
            await clock.advance(by: .seconds(3000))
            #expect(try await dispatcher.dispatchPending() == 6)
        }
    }

    @Test func `requests that are reserved for a delivery and not sent are used by later ones`() async throws {
        try await run(Rate(count: 6, per: .seconds(3600)), count: 10, requests: 3) { (dispatcher: Dispatcher) async throws in
            // Four requests are sent; the two that are left are too few for another delivery.
            #expect(try await dispatcher.dispatchPending() == 4)
            await clock.advance(by: .seconds(3600))
            #expect(try await dispatcher.dispatchPending() == 4)
        }
    }

    @Test func `deliveries with a rate of two a minute are performed at that rate`() async throws {
        try await run(Rate(count: 2, per: .seconds(60)), count: 20) { (dispatcher: Dispatcher) async throws in
            for _ in 0..<10 {
                #expect(try await dispatcher.dispatchPending() == 2)
                await clock.advance(by: .seconds(30))
                #expect(try await dispatcher.dispatchPending() == 0)
                await clock.advance(by: .seconds(30))
            }
        }
        let records = try await store.deliveries(DeliveryQuery())
        #expect(records.allSatisfy { $0.state == .done && $0.attempts == 1 })
    }
}
