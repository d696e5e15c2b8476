import BellhopCore
import BellhopTesting
import Synchronization

@testable import BellhopConnectors

/// The way to a simulated instance: requests and answers are lost, writes take effect after their answer was awaited, and the process
/// dies at any request or note.
///
/// A class with a mutex, because a history and its connections share it.
final class UnreliableExchange: HTTPExchange {
    private enum Fate {
        case passes, isLost
        /// The request takes effect, but its answer is lost.
        case losesAnswer
        /// The request takes effect after this time.
        case isLate(Duration)
        /// The process dies, after the request was sent or before.
        case kills(isSent: Bool)
    }

    private struct State {
        var random: SeededRandom
        var isFaulty = true
        /// Whether the process has died. Then nothing is sent, answered or stored until its restart.
        var isDead = false
        /// The requests on which the server still works.
        var late: [(at: Timestamp, request: HTTPRequest)] = []

        mutating func fate(of request: HTTPRequest) -> Fate {
            guard isFaulty else { return .passes }
            let isWrite = request.changesSomething
            switch Int.random(in: 0..<(isWrite ? 16 : 120), using: &random) {
            case 0...1: return .isLost
            case 2...3: return .losesAnswer
            case 4...5: return .kills(isSent: random.oneIn(2))
            case 6...8:
                return isWrite ? .isLate(.seconds(Int.random(in: 1...UnreliableExchange.longestRun, using: &random))) : .passes
            default: return .passes
            }
        }

        mutating func takeLate(until end: Timestamp) -> (at: Timestamp, request: HTTPRequest)? {
            guard let place = late.indices.min(by: { late[$0].at < late[$1].at }), late[place].at <= end else { return nil }
            return late.remove(at: place)
        }
    }

    /// How many seconds a request may run on the server.
    private static let longestRun = 60
    private static let cut = TransportError(.cut, mayHaveArrived: true, "The connection was cut.")

    private let base: InProcessExchange
    private let clock: TestClock
    private let state: Mutex<State>

    init(_ base: InProcessExchange, clock: TestClock, seed: UInt64) {
        self.base = base
        self.clock = clock
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    var isDead: Bool { state.withLock { $0.isDead } }

    /// Lets the process die at this point, sometimes. True if it is dead.
    func mayDie() -> Bool {
        state.withLock { state in
            if state.isFaulty, state.random.oneIn(30) { state.isDead = true }
            return state.isDead
        }
    }

    func revive() { state.withLock { $0.isDead = false } }

    /// From now on nothing fails.
    func calm() { state.withLock { $0.isFaulty = false } }

    /// Moves the clock. Late requests take effect on the way.
    func advance(to end: Timestamp) async {
        while let next = state.withLock({ $0.takeLate(until: end) }) {
            await clock.advance(to: next.at)
            _ = try? await base.send(next.request)
        }
        await clock.advance(to: end)
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let delay = state.withLock { Int.random(in: 0...1500, using: &$0.random) }
        await advance(to: clock.now + .milliseconds(delay))
        if isDead { throw Self.cut }
        if let notAfter = request.notAfter, clock.now > notAfter {
            throw TransportError(.timeout, mayHaveArrived: false, "The request had to wait too long.")
        }
        switch state.withLock({ $0.fate(of: request) }) {
        case .passes: return try await base.send(request)
        case .isLost: break
        case .losesAnswer: _ = try await base.send(request)
        case .isLate(let wait):
            let at = clock.now + wait
            state.withLock { $0.late.append((at, request)) }
        case .kills(let isSent):
            if isSent { _ = try await base.send(request) }
            state.withLock { $0.isDead = true }
        }
        throw Self.cut
    }
}

/// The notes of a store, as long as the process lives.
struct MortalNotebook: Notebook {
    struct Dead: Error {}

    let store: any Store
    let exchange: UnreliableExchange

    func note(_ key: String) async throws -> JSON? {
        if exchange.isDead { throw Dead() }
        return try await store.note(key)
    }

    func setNote(_ key: String, to value: JSON?) async throws {
        if exchange.mayDie() { throw Dead() }
        try await store.setNote(key, to: value)
        if exchange.mayDie() { throw Dead() }
    }
}
