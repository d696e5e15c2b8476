public import BellhopCore

/// Decides on requests from outside: refuses them, makes events or tasks of them, or starts a poll. Independent of the network.
public struct InboundDesk: Sendable {
    /// Stores events: when it returns, they are on disk.
    public typealias Keep = @Sendable ([Event]) async throws(StoreError) -> Void

    /// Compares the tasks of a source with their stored states: when it returns, they and their events are on disk. Throws a
    /// failure with `.giveUp` if the tasks can never be read.
    public typealias Take = @Sendable (_ source: String, [JSON]) async throws(Failure) -> Void

    private let endpoints: [String: (endpoint: InboundEndpoint, budget: RequestBudget)]
    private let keys: InboundKeys
    private let clock: any AgentClock
    private let store: Keep
    private let take: Take
    private let poll: @Sendable (String) -> Void
    private let unique: @Sendable () -> String
    /// How many requests of unknown senders are answered with the reason. They use this budget, not an endpoint's rate.
    private let strangers: RequestBudget

    /// - Parameters:
    ///   - endpoints: with distinct paths.
    ///   - strangers: how many requests of unknown senders are refused with the reason; further ones are refused with 429.
    ///   - poll: starts a poll of a source.
    ///   - unique: makes a text that it has never made before.
    public init(
        _ endpoints: [InboundEndpoint], strangers: (count: Int, per: Duration) = (600, .seconds(60)), clock: any AgentClock,
        keep: @escaping Keep, take: @escaping Take, poll: @escaping @Sendable (String) -> Void,
        unique: @escaping @Sendable () -> String
    ) {
        let now = clock.now
        self.endpoints = Dictionary(
            endpoints.map { ($0.path, ($0, RequestBudget($0.rate, at: now))) }, uniquingKeysWith: { first, _ in first })
        keys = InboundKeys(self.endpoints.mapValues(\.endpoint.key))
        self.strangers = RequestBudget(strangers, at: now)
        self.clock = clock
        store = keep
        self.take = take
        self.poll = poll
        self.unique = unique
    }

    /// The largest body of a request with this head. Throws the answer to a request that is refused before its body is read.
    ///
    /// - Parameters:
    ///   - head: the request without its body.
    ///   - announced: the size of its body, if the head states it.
    func admit(method: String, path: String, head: InboundRequest, announced: Int?) throws(InboundAnswer) -> Int {
        guard let endpoint = endpoints[path]?.endpoint else { throw refusal(404, "There is nothing here.") }
        guard method == "POST" else { throw refusal(405, "Only POST is answered here.") }
        let key = try key(of: path)
        do throws(InboundAnswer) { try key.checkHead(head, at: clock.now) } catch { throw refusal(error) }
        if let encoding = head.value("Content-Encoding"), encoding.lowercased() != "identity" {
            throw refusal(415, "The body is compressed (Content-Encoding), which is not read here: send it as it is.")
        }
        if let announced, announced > endpoint.largestBody { throw tooLarge(endpoint.largestBody) }
        return endpoint.largestBody
    }

    /// Replaces the secret of an endpoint. Nil means that the secret cannot be read now: senders must retry later.
    public func replaceKey(of path: String, with key: InboundKey?) { keys.replace(path, with: key) }

    private func key(of path: String) throws(InboundAnswer) -> InboundKey {
        if let key = keys[path] { return key }
        var refusal = refusal(503, "The secret of this path cannot be read now.")
        refusal.retryAfter = refusal.retryAfter ?? 60
        throw refusal
    }

    /// Counts a request of a known sender against its endpoint's rate.
    private func take(from budget: RequestBudget) throws(InboundAnswer) {
        if let seconds = budget.take(at: clock.now) {
            var answer = InboundAnswer(429, "Too many requests for now.", retryAfter: seconds)
            answer.isToKnownSender = true
            throw answer
        }
    }

    private func refusal(_ status: Int, _ text: String) -> InboundAnswer { refusal(InboundAnswer(status, text)) }

    /// The answer that refuses an unknown sender: the given one, or 429 above the budget. It never counts against an endpoint's rate.
    func refusal(_ answer: InboundAnswer) -> InboundAnswer {
        guard let seconds = strangers.take(at: clock.now) else { return answer }
        return InboundAnswer(429, "Too many requests of unknown senders for now.", retryAfter: seconds)
    }

    /// The refusal of a body, whose sender may be unknown.
    func tooLarge(_ limit: Int) -> InboundAnswer { refusal(413, "The body is larger than \(limit) bytes.") }

    /// Answers a request that was admitted.
    public func answer(_ request: InboundRequest, to path: String) async -> InboundAnswer {
        guard let (endpoint, budget) = endpoints[path] else { return refusal(404, "There is nothing here.") }
        let proof: InboundKey.Proof
        do throws(InboundAnswer) {
            let key = try key(of: path)
            do throws(InboundAnswer) { proof = try key.check(request, at: clock.now) } catch { throw refusal(error) }
        } catch { return error }
        var answer: InboundAnswer
        do throws(InboundAnswer) {
            // The rate is checked after the body is read, so that a sender above its rate keeps its connection.
            try take(from: budget)
            switch endpoint.purpose {
            case .push(let source): poll(source)
            case .events(let reading): try await keep(reading.events(request, proof: proof, at: clock.now, unique: unique))
            case .tasks(let reading):
                try await take(InboundBody.items(InboundBody.json(request), at: reading.items), of: reading.source)
            }
            answer = .accepted
        } catch {
            answer = error
        }
        answer.isToKnownSender = true
        return answer
    }

    private func take(_ items: [JSON], of source: String) async throws(InboundAnswer) {
        do throws(Failure) {
            try await take(source, items)
        } catch {
            throw error.remedy == .giveUp
                ? InboundAnswer(400, error.message) : InboundAnswer(503, "The task cannot be stored now.", retryAfter: 10)
        }
    }

    private func keep(_ events: [Event]) async throws(InboundAnswer) {
        do throws(StoreError) {
            try await store(events)
        } catch {
            // The reason is in the agent's log: a sender needs to know only that it must retry.
            throw InboundAnswer(503, "The event cannot be stored now.", retryAfter: 10)
        }
    }
}
