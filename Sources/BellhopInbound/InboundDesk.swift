public import BellhopCore

/// Decides on requests from outside: what is refused, what becomes an event, what wakes a poll. Knows no sockets.
public struct InboundDesk: Sendable {
    /// Stores events: when it returns, they are on disk.
    public typealias Keep = @Sendable ([Event]) async throws(StoreError) -> Void

    private let endpoints: [String: (endpoint: InboundEndpoint, budget: RequestBudget)]
    private let clock: any AgentClock
    private let store: Keep
    private let poll: @Sendable (String) -> Void
    private let unique: @Sendable () -> String

    /// - Parameters:
    ///   - endpoints: with distinct paths.
    ///   - poll: lets a source be polled now.
    ///   - unique: makes a text that it never made before.
    public init(
        _ endpoints: [InboundEndpoint], clock: any AgentClock, keep: @escaping Keep, poll: @escaping @Sendable (String) -> Void,
        unique: @escaping @Sendable () -> String
    ) {
        let now = clock.now
        self.endpoints = Dictionary(
            endpoints.map { ($0.path, ($0, RequestBudget($0.rate, at: now))) }, uniquingKeysWith: { first, _ in first })
        self.clock = clock
        store = keep
        self.poll = poll
        self.unique = unique
    }

    /// How large the body of a request may be that begins like this. Throws what it is refused with before its body is read.
    ///
    /// - Parameter announced: the size of its body, if it says so.
    func admit(method: String, path: String, announced: Int?) throws(InboundAnswer) -> Int {
        guard let (endpoint, budget) = endpoints[path] else { throw InboundAnswer(404, "There is nothing here.") }
        guard method == "POST" else { throw InboundAnswer(405, "Only POST is answered here.") }
        if let seconds = budget.take(at: clock.now) {
            throw InboundAnswer(429, "Too many requests for now.", retryAfter: seconds)
        }
        if let announced, announced > endpoint.largestBody { throw Self.tooLarge(endpoint.largestBody) }
        return endpoint.largestBody
    }

    static func tooLarge(_ limit: Int) -> InboundAnswer { InboundAnswer(413, "The body is larger than \(limit) bytes.") }

    /// Answers a request that was admitted.
    public func answer(_ request: InboundRequest, to path: String) async -> InboundAnswer {
        guard let endpoint = endpoints[path]?.endpoint else { return InboundAnswer(404, "There is nothing here.") }
        do throws(InboundAnswer) {
            try endpoint.key.check(request, at: clock.now)
            switch endpoint.purpose {
            case .push(let source): poll(source)
            case .events(let reading): try await keep(reading.events(request, at: clock.now, unique: unique))
            }
            return .accepted
        } catch {
            return error
        }
    }

    private func keep(_ events: [Event]) async throws(InboundAnswer) {
        do throws(StoreError) {
            try await store(events)
        } catch {
            // The reason is in the agent's log: a sender needs to know only that it must come again.
            throw InboundAnswer(503, "The event cannot be stored now.", retryAfter: 10)
        }
    }
}
