import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Logging
import Simulator
import Synchronization
import Testing

@testable import BellhopConnectors

/// Many comments at once on a slow instance.
@Suite(.timeLimit(.minutes(5)), .closing) struct `Bursts of comments` {
    private let practice = Practice()

    @Test(
        arguments: [(60, .milliseconds(500), 100), (200, .milliseconds(500), 330), (1000, .milliseconds(50), 150)]
            as [(Int, Duration, Int)], [SimulatedUser.Reading.allowed, .forbidden])
    func `a burst of comments takes no longer than its requests, with one attempt each`(
        _ burst: (count: Int, latency: Duration, seconds: Int), _ journal: SimulatedUser.Reading
    ) async throws {
        let (count, latency, seconds) = burst
        practice.instance.changeUser("john.doe") { $0.journal = journal }
        let store = try Stores.inMemory()
        let tasks = try await practice.addDueComments(count, to: store)
        let (sent, base, clock) = (Recording<HTTPRequest>(), InProcessExchange(practice.simulation), practice.clock)
        let exchange = GivenExchange { request async throws(TransportError) in
            sent.add(request)
            await clock.advance(by: latency)
            return try await base.send(request)
        }
        let connection = try practice.connection(over: exchange).untilTestEnds()
        let warnings = Mutex(0)
        let signals = Signals([{ signal in if signal.level >= .warning { warnings.withLock { $0 += 1 } } }])
        let dispatcher = Dispatcher(
            EngineContext(store: store, clock: practice.clock, signals: signals), receivers: { _ in connection.limits },
            actions: { _ in CommentAction(connection: connection) })
        let start = practice.clock.now
        #expect(try await dispatcher.dispatchPending() == count)
        let records = try await store.deliveries(DeliveryQuery(limit: 10_000))
        #expect(records.allSatisfy { $0.state == .done && $0.attempts == 1 })
        #expect(tasks.allSatisfy { practice.instance.journal(of: $0.id, .workNotes).count == 1 })
        #expect(practice.clock.now - start <= .seconds(seconds))
        let requests = sent.all
        #expect(requests.count <= count * 2 + count / 20 + 8, "\(requests.count) requests")
        #expect(warnings.withLock { $0 } == 0)
        // No other request comes between a write and its proof.
        for (write, proof) in zip(requests, requests.dropFirst()) where write.method == "POST" {
            let task = try #require(tasks.first { write.address.target.contains($0.id) })
            #expect(proof.method == "GET" && proof.address.target.contains(task.id))
        }
    }

    @Test func `a comment whose proof waits for a short rest is proved in the same attempt`() async throws {
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        practice.simulation.faults.add(
            .tooManyRequests(.seconds(7)), "GET", path: "/api/now/v2/table/sys_journal_field", times: 2)
        let clock = practice.clock
        let start = clock.now
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        async let receipt = CommentAction(connection: connection).perform(
            .comment("Thanks", on: task.id), attempt: practice.attempt(1))
        for _ in 0..<2 {
            try await clock.waitForSleepers(1)
            await clock.advance(by: .seconds(7))
        }
        #expect(try await receipt.reference == practice.instance.journal(of: task.id, .workNotes).first?.id)
        #expect(clock.now - start == .seconds(14))
    }

    @Test func `each writing session serves one write at a time`() async throws {
        let connection = try ServiceNowConnection(
            name: "snow", settings: practice.settings("http://127.0.0.1:9", ["sessions": 3]), in: practice.environment(),
            over: InProcessExchange(practice.simulation)
        ).untilTestEnds()
        #expect(connection.limits.concurrency == 3)
        let inUse = InUse()
        await withTaskGroup { group in
            for _ in 0..<12 { group.addTask { await inUse.use(connection.writers) } }
        }
        #expect(inUse.names.withLock { $0.most } <= 3)
    }
}

/// Checks that no session is lent twice at once.
private final class InUse: Sendable {
    let names = Mutex<(now: [String], most: Int)>(([], 0))

    func use(_ writers: WritingSessions) async {
        do throws(Failure) {
            try await writers.lend { (session) async throws(Failure) in
                let name = await session.name
                names.withLock { names in
                    #expect(!names.now.contains(name))
                    names.now.append(name)
                    names.most = max(names.most, names.now.count)
                }
                for _ in 0..<20 { await Task.yield() }
                names.withLock { $0.now.removeAll { $0 == name } }
            }
        } catch { Issue.record(error) }
    }
}
