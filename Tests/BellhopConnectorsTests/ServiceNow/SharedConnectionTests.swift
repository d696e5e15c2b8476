import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Synchronization
import Testing

@testable import BellhopConnectors

/// Polls and deliveries share their connection's rate, and the rests that the instance asks for.
@Suite(.timeLimit(.minutes(5)), .closing) struct `Polls and deliveries of one connection` {
    private let practice = Practice()
    private let store: any Store

    init() throws { store = try Stores.inMemory() }

    /// The instance behind a connection's rate.
    private final class Rated: HTTPExchange {
        private let base: InProcessExchange
        private let way = Mutex<HTTPConnection?>(nil)

        init(_ base: InProcessExchange) { self.base = base }

        func use(_ http: HTTPConnection) { way.withLock { $0 = http } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            try await way.withLock { $0 }?.waitForTurn(request)
            return try await base.send(request)
        }
    }

    /// True while an attempt is running.
    private final class Attempts: Sendable {
        private let count = Mutex(0)
        var areUnderWay: Bool { count.withLock { $0 > 0 } }
        func change(by step: Int) { count.withLock { $0 += step } }
    }

    private struct Watched: Action {
        let action: CommentAction
        let attempts: Attempts

        func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
            attempts.change(by: 1)
            defer { attempts.change(by: -1) }
            return try await action.perform(delivery, attempt: attempt)
        }
    }

    /// The engine's signals.
    private final class SignalRecorder: Sendable {
        private let kept = Mutex<[Signal]>([])
        var signals: Signals { Signals([{ signal in self.kept.withLock { $0.append(signal) } }]) }
        /// The number of successful polls.
        var polls: Int {
            kept.withLock { signals in
                signals.count { if case .polled = $0 { true } else if case .unchanged = $0 { true } else { false } }
            }
        }
    }

    private func source(_ connection: ServiceNowConnection) throws -> BoundSource {
        let settings = Settings(["table": "incident", "query": "active=true"])
        return BoundSource(try TableSource(name: "incidents", settings: settings, connection: connection), connection: "snow")
    }

    private func dispatcher(_ context: EngineContext, _ connection: ServiceNowConnection) -> Dispatcher {
        Dispatcher(context, receivers: { _ in connection.limits }, actions: { _ in CommentAction(connection: connection) })
    }

    // MARK: Rates

    @Test(arguments: [1, 2])
    func `comments are written and polls continue, even if one comment needs more requests than the rate allows a minute`(
        _ count: Int
    ) async throws {
        let tasks = try await practice.addDueComments(4, to: store)
        let exchange = Rated(InProcessExchange(practice.simulation))
        let rate: JSON = ["count": .int(Int64(count)), "microseconds": 60_000_000]
        let connection = try ServiceNowConnection(
            name: "snow", settings: practice.settings("http://127.0.0.1:9", ["rate": rate]), in: practice.environment(),
            over: exchange
        ).untilTestEnds()
        exchange.use(connection.http)
        let recorder = SignalRecorder()
        let context = EngineContext(store: store, clock: practice.clock, signals: recorder.signals)
        let poller = Poller(try source(connection), plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        let attempts = Attempts()
        let dispatcher = Dispatcher(
            context, receivers: { _ in connection.limits },
            actions: { _ in Watched(action: CommentAction(connection: connection), attempts: attempts) })
        let clock = practice.clock
        let loops = Task {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    repeat { _ = try? await dispatcher.dispatchPending() } while (try? await clock.sleep(for: .seconds(1))) != nil
                }
                group.addTask {
                    var poller = poller
                    repeat { _ = try? await poller.pollOnce() } while (try? await clock.sleep(for: .seconds(60))) != nil
                }
            }
        }
        for _ in 0..<480 {
            // Until the poll, the attempt and its time limit are all asleep.
            var turns = 5_000
            while clock.sleeperCount < (attempts.areUnderWay ? 3 : 2), turns > 0 {
                turns -= 1
                await Task.yield()
            }
            await clock.advance(by: .seconds(5))
        }
        loops.cancel()
        await loops.value
        let records = try await store.deliveries(DeliveryQuery())
        #expect(records.count == 4)
        let ends = records.map { "\($0.state), \($0.attempts) attempts: \($0.failure?.message ?? "")" }
        #expect(records.allSatisfy { $0.state == .done && $0.attempts == 1 }, "\(ends)")
        for task in tasks { #expect(practice.instance.journal(of: task.id, .workNotes).count == 1) }
        #expect(recorder.polls >= 8, "\(recorder.polls) polls")
        #expect(practice.simulation.requests.count() <= 41 * count)
    }

    // MARK: Rests

    private static let refusals: [Fault] = [.tooManyRequests(.seconds(90)), .unavailable(.seconds(90))]

    @Test(arguments: refusals) func `comments wait for the rest that a refused poll was given`(_ refusal: Fault) async throws {
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        let context = EngineContext(store: store, clock: practice.clock, signals: SignalRecorder().signals)
        var poller = Poller(try source(connection), plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        let dispatcher = dispatcher(context, connection)
        _ = try await poller.pollOnce()
        let task = try await practice.addDueComments(1, to: store)[0]
        practice.simulation.faults.add(refusal, "GET", path: "/api/now/v2/table/incident", times: 1)
        _ = try await poller.pollOnce()
        let asked = practice.simulation.requests.count()
        #expect(try await dispatcher.dispatchPending() == 0)
        await practice.clock.advance(by: .seconds(80))
        #expect(try await dispatcher.dispatchPending() == 0)
        #expect(practice.simulation.requests.count() == asked)
        await practice.clock.advance(by: .seconds(10))
        #expect(try await dispatcher.dispatchPending() == 1)
        #expect(practice.instance.journal(of: task.id, .workNotes).count == 1)
    }

    @Test func `polls wait for the rest that a refused comment was given`() async throws {
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        let context = EngineContext(store: store, clock: practice.clock, signals: SignalRecorder().signals)
        var poller = Poller(try source(connection), plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        let dispatcher = dispatcher(context, connection)
        _ = try await poller.pollOnce()
        let task = try await practice.addDueComments(1, to: store)[0]
        practice.simulation.faults.add(.tooManyRequests(.seconds(90)), "POST", times: 1)
        #expect(try await dispatcher.dispatchPending() == 1)
        let asked = practice.simulation.requests.count()
        await practice.clock.advance(by: .seconds(80))
        guard case .failed(let failure) = try await poller.pollOnce() else {
            Issue.record("the poll was not refused")
            return
        }
        #expect(failure.remedy == .rest(.seconds(10)))
        #expect(practice.simulation.requests.count() == asked)
        await practice.clock.advance(by: .seconds(10))
        if case .failed = try await poller.pollOnce() { Issue.record("the poll failed") }
        #expect(try await dispatcher.dispatchPending() == 1)
        #expect(practice.instance.journal(of: task.id, .workNotes).count == 1)
    }
}
