import Synchronization

/// The last 10,000 requests, oldest first.
///
/// A class over a lock, because the server's tasks add requests while others read them.
public final class RequestLog: Sendable {
    private struct State {
        var requests: [ReceivedRequest] = []
        var total = 0
    }

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
            state.requests.appendToLog(request)
        }
    }
}

extension Array {
    /// Appends an element to a list of which at least the last 10,000 are kept.
    mutating func appendToLog(_ element: Element) {
        append(element)
        if count > 20_000 { removeFirst(10_000) }
    }
}
