import BellhopCore
import Synchronization

/// Performs a test's script and records its attempts. A class with a mutex, because attempts run in tasks of their own.
final class ScriptedAction: Action {
    typealias Script = @Sendable (Delivery, Attempt) async throws(Failure) -> Receipt

    private struct State {
        var performed: [(delivery: Delivery, attempt: Attempt)] = []
        var atOnce: [String: Int] = [:]
        var maxAtOnce: [String: Int] = [:]
        var script: Script
    }

    private let state: Mutex<State>

    init(_ script: @escaping Script = { _, _ in Receipt("done") }) { state = Mutex(State(script: script)) }

    /// Fails with this failure the attempts for which the condition holds.
    convenience init(failing failure: Failure, if fails: @escaping @Sendable (Delivery, Attempt) -> Bool = { _, _ in true }) {
        self.init { delivery, attempt throws(Failure) in
            if fails(delivery, attempt) { throw failure }
            return Receipt("done")
        }
    }

    /// Lets attempts wait at a gate until it opens. One that is cancelled before fails.
    convenience init(waitingAt gate: Gate) {
        self.init { _, _ throws(Failure) in
            if await gate.pass() { return Receipt("done") }
            throw Failure(.cut, .retry(after: nil), "cancelled")
        }
    }

    /// All attempts that began, in order.
    var performed: [(delivery: Delivery, attempt: Attempt)] { state.withLock { $0.performed } }
    var count: Int { state.withLock { $0.performed.count } }
    /// The most concurrent attempts for each receiver.
    var maxAtOnce: [String: Int] { state.withLock { $0.maxAtOnce } }
    /// The texts of deliveries, in the order in which their attempts began.
    var texts: [String] { performed.map(\.delivery.text) }

    func script(_ script: @escaping Script) { state.withLock { $0.script = script } }

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let receiver = delivery.id.receiver
        let script = state.withLock { state in
            state.performed.append((delivery, attempt))
            let count = state.atOnce[receiver, default: 0] + 1
            state.atOnce[receiver] = count
            state.maxAtOnce[receiver] = max(state.maxAtOnce[receiver] ?? 0, count)
            return state.script
        }
        defer { state.withLock { $0.atOnce[receiver, default: 1] -= 1 } }
        return try await script(delivery, attempt)
    }
}

extension Delivery {
    /// The text argument; of a message its receiver and its title; of what closes or acknowledges a conversation this.
    var text: String {
        if case .message(let message) = arguments {
            return message.resolve
                ? "\(id.receiver) closes \(message.thread ?? "")" : "\(id.receiver): \(message.title.plainText)"
        }
        guard case .values(let values) = arguments else { return "" }
        if case .string(let thread)? = values["thread"] { return "\(id.receiver) acknowledges \(thread)" }
        return values["text"]?.asString ?? ""
    }
}

/// A gate at which tasks wait until a test opens it. A class with a mutex, because they share it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Returns true once the gate is open; false if the task was cancelled first.
    func pass() async -> Bool {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
        return state.withLock { $0.isOpen }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }
}
