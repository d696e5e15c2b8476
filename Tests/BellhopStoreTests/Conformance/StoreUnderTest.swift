import BellhopCore
import BellhopTesting
import Testing

/// A kind of store that keeps every promise of ``Store``; each is tested on all kinds.
struct StoreUnderTest: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var makeStore: @Sendable () throws -> any TestedStore

    static let allCases: [StoreUnderTest] = SQLiteUnderTest.kinds

    func make() throws -> Bench { Bench(tested: try makeStore()) }
}

/// A new store that tests can inspect and damage.
protocol TestedStore: Sendable {
    var store: any Store { get }
    /// All that is stored, as text.
    func dump() async throws -> String
    /// Makes the data of these events unreadable.
    func corruptEvents(_ places: [Int64]) async throws
    /// Makes the content of a delivery unreadable.
    func corrupt(_ delivery: Delivery.ID) async throws
    /// Forgets which scopes were opened, like the next process.
    func forgetOpenScopes()
    /// Makes the n-th statement from now fail, once. Statements that only read count if `includingReads` is true.
    func fail(statement count: Int, includingReads: Bool)
    /// Ends this; whether a statement failed.
    @discardableResult
    func stopFailing() -> Bool
}

/// A new store with a clock.
struct Bench {
    let tested: any TestedStore
    let clock = TestClock()

    var store: any Store { tested.store }
    var now: Timestamp { clock.now }
    func after(_ seconds: Int) -> Timestamp { clock.now + .seconds(seconds) }

    /// The states of all deliveries, in the order of creation.
    func states() async throws -> [DeliveryState] { try await store.deliveries(DeliveryQuery(limit: 1000)).map(\.state) }

    func claim(_ limit: Int = 10, excluding: Set<String> = [], for seconds: Int = 60) async throws -> [Claim] {
        try await store.claim(limit: limit, excluding: excluding, until: after(seconds), at: now)
    }

    /// The first claim of `Sample.delivery(number)`, if deliveries with all smaller numbers were stored before it.
    func firstClaim(of number: Int) -> Claim {
        let delivery = Sample.delivery(number)
        return Claim(
            delivery: delivery, lease: Lease(token: 1, until: now, row: Int64(number), name: delivery.id.text),
            attempt: Attempt(number: 1, now: now))
    }

    /// Records the outcome of a claim.
    @discardableResult
    func finish(_ claim: Claim, _ next: RetryPolicy.Next, uncertain: Bool = false, events: [Event] = []) async throws -> Bool {
        let finish = Finish(
            claim, at: now, next: next, uncertain: uncertain, events: events)
        return try await store.finish([finish])[0]
    }
}

extension Claim {
    /// The same claim with another lease.
    func changing(_ change: (inout Lease) -> Void) -> Claim {
        var lease = lease
        change(&lease)
        return Claim(delivery: delivery, lease: lease, attempt: attempt)
    }
}

extension TestClock {
    /// Advances without yielding: in store tests no task sleeps on this clock.
    func pass(_ seconds: Int) async { await advance(by: .seconds(seconds)) }
}
