import BellhopCore
import BellhopTesting
import Synchronization
import Testing

/// A kind of store that keeps every promise of ``Store``; each is tested on all kinds.
enum StoreUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case inMemory = "SQLite in memory"
    case onDisk = "SQLite on disk"

    var testDescription: String { rawValue }
}

/// The argument of a test: a bench for each kind of store. Each reading makes a new one, which is gone after its test.
struct Benches: RandomAccessCollection, Sendable {
    var startIndex: Int { 0 }
    var endIndex: Int { StoreUnderTest.allCases.count }
    subscript(place: Int) -> Bench { Bench(StoreUnderTest.allCases[place]) }
}

/// A new store with a clock. A class with a mutex, because the store is opened when the test first uses it.
final class Bench: Sendable, CustomTestStringConvertible {
    let clock = TestClock()
    private let kind: StoreUnderTest
    private let opened = Mutex<SQLiteUnderTest?>(nil)

    init(_ kind: StoreUnderTest) { self.kind = kind }

    var testDescription: String { kind.testDescription }

    var tested: SQLiteUnderTest {
        get throws {
            try opened.withLock { opened in
                let tested = try opened ?? SQLiteUnderTest(kind)
                opened = tested
                return tested
            }
        }
    }

    var store: any Store { get throws { try tested.store } }

    /// Opens the scope of the samples.
    func openScope() async throws { _ = try await store.open(Sample.scope, source: "tasks", at: now) }

    var now: Timestamp { clock.now }
    func after(_ seconds: Int) -> Timestamp { clock.now + .seconds(seconds) }

    /// The states of all deliveries, in the order of creation.
    func states() async throws -> [DeliveryState] { try await store.deliveries(DeliveryQuery(limit: 1000)).map(\.state) }

    func enqueue(_ deliveries: [Delivery]) async throws { try await store.route(Routing(deliveries: deliveries)) }

    func claim(_ limit: Int = 10, excluding: Set<String> = [], for seconds: Int = 60) async throws -> [Claim] {
        try await store.claim(limit: limit, excluding: excluding, until: after(seconds), at: now)
    }

    /// Claims with a quota for each named receiver, and one for all others together.
    func claim(
        limit: Int, quotas: [String: ClaimQuota] = [:], others: Int, by node: NodeID = .only, for seconds: Int = 60
    ) async throws -> Claimed {
        try await store.claim(limit: limit, quotas: quotas, others: others, by: node, until: after(seconds), at: now)
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
        try await store.finish([Finish(claim, at: now, next: next, uncertain: uncertain, events: events)])[0]
    }

    /// Does the work with the first statement failing, then with the second, and so on, until none fails.
    /// - Returns: what the work returned at last, and how often it failed.
    func failingEachStatement<Value>(
        includingReads: Bool = false, _ work: () async throws -> Value,
        afterFailure check: (_ count: Int) async throws -> Void = { _ in }
    ) async throws -> (value: Value, failures: Int) {
        let tested = try tested
        var count = 1
        while true {
            tested.fail(statement: count, includingReads: includingReads)
            do {
                let value = try await work()
                #expect(!tested.stopFailing(), "statement \(count) failed without an error")
                return (value, count - 1)
            } catch {
                tested.stopFailing()
                #expect((error as? StoreError)?.kind == .full)
                try await check(count)
            }
            count += 1
        }
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
