public import BellhopCore
import Synchronization

/// One path of the server, and the purpose of requests to it.
public struct InboundEndpoint: Sendable {
    public enum Purpose: Sendable {
        /// A request starts a poll of this source.
        case push(source: String)
        case events(EventReading)
        /// Each item of a body is the current state of a task.
        case tasks(TaskReading)
    }

    public var path: String
    public var key: InboundKey
    public var purpose: Purpose
    /// In bytes.
    public var largestBody: Int
    /// The maximum rate of requests.
    public var rate: Rate

    /// The name of the source that its requests concern.
    public var source: String {
        switch purpose {
        case .push(let source): source
        case .events(let reading): reading.source
        case .tasks(let reading): reading.source
        }
    }

    /// The default of `max_body`, in bytes.
    public static let defaultLargestBody = 1_000_000

    public init(
        path: String, key: InboundKey, purpose: Purpose, largestBody: Int = defaultLargestBody, rate: Rate
    ) {
        self.path = path
        self.key = key
        self.purpose = purpose
        self.largestBody = largestBody
        self.rate = rate
    }
}

/// The current secrets, by path.
///
/// A class with a mutex, because all connections share it and a secret can be replaced while requests arrive.
final class InboundKeys: Sendable {
    private let keys: Mutex<[String: InboundKey]>

    init(_ keys: [String: InboundKey]) { self.keys = Mutex(keys) }

    /// Nil if the secret cannot be read.
    subscript(path: String) -> InboundKey? { keys.withLock { $0[path] } }

    /// Returns whether the secret has changed.
    func replace(_ path: String, with key: InboundKey?) -> Bool {
        keys.withLock { keys in
            if keys[path] == key { return false }
            keys[path] = key
            return true
        }
    }
}

/// A token bucket: it holds at most the rate's count of requests and refills evenly. Unlike the `RateLimiter`, which limits a
/// connection, it keeps no time for each request: otherwise strangers could fill the memory with requests.
///
/// A class with a mutex, because all connections share it.
final class RequestBudget: Sendable {
    private struct State {
        var tokens: Double
        var at: Timestamp
    }

    private let count: Double
    private let perSecond: Double
    private let state: Mutex<State>

    init(_ rate: Rate, at now: Timestamp) {
        count = Double(rate.count)
        perSecond = count / max(rate.period.seconds, 1e-6)
        state = Mutex(State(tokens: count, at: now))
    }

    /// Takes a token. Returns nil, or the seconds until the next token if the bucket is empty.
    func take(at now: Timestamp) -> Int? {
        state.withLock { state in
            state.tokens = min(count, state.tokens + max((now - state.at).seconds, 0) * perSecond)
            state.at = now
            if state.tokens >= 1 {
                state.tokens -= 1
                return nil
            }
            return max(1, Int(((1 - state.tokens) / perSecond).rounded(.up)))
        }
    }
}
