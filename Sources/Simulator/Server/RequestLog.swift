import Synchronization

/// The last 10,000 requests, oldest first.
///
/// A class over a lock, because the server's tasks add requests while others read them.
public final class RequestLog: Sendable {
    private struct State {
        var requests: [ReceivedRequest] = []
        var total = 0
    }

    private static let capacity = 10_000
    private let state = Mutex(State())

    init() {}

    /// The number of requests since the start or the last `clear`, including those no longer kept.
    public var total: Int { state.withLock { $0.total } }

    public var all: [ReceivedRequest] { state.withLock { $0.requests } }

    /// Requests with this method and this start of the path; nil matches all.
    public func matching(_ method: String? = nil, path: String? = nil) -> [ReceivedRequest] {
        all.filter { (method == nil || $0.method == method) && (path.map($0.path.hasPrefix) ?? true) }
    }

    public func count(_ method: String? = nil, path: String? = nil) -> Int { matching(method, path: path).count }

    public func clear() { state.withLock { $0 = State() } }

    func note(_ request: ReceivedRequest) {
        state.withLock { state in
            state.total += 1
            state.requests.append(request)
            if state.requests.count > RequestLog.capacity * 2 { state.requests.removeFirst(RequestLog.capacity) }
        }
    }
}
