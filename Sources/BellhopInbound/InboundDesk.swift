public import BellhopCore

/// Handles requests from outside: refuses them, turns them into events or tasks, or starts a poll. Independent of the network.
public struct InboundDesk: Sendable {
    /// Stores events; returns when they are on disk.
    public typealias Keep = @Sendable ([Event]) async throws(StoreError) -> Void

    /// Compares the tasks of a source with their stored states; returns when they and their events are on disk. Throws a failure
    /// with `.giveUp` if the tasks can never be read.
    public typealias Take = @Sendable (_ source: String, [JSON]) async throws(Failure) -> Void

    private let endpoints: [String: (endpoint: InboundEndpoint, budget: RequestBudget)]
    private let keys: InboundKeys
    private let clock: any AgentClock
    private let keep: Keep
    private let take: Take
    private let poll: @Sendable (String) -> Void
    private let unique: @Sendable () -> String
    /// The budget of refusals that state their reason. Unknown senders use it instead of an endpoint's rate.
    private let strangers: RequestBudget

    /// - Parameters:
    ///   - endpoints: with distinct paths.
    ///   - strangers: the rate at which requests of unknown senders are refused with the reason; further ones get 429.
    ///   - poll: starts a poll of a source.
    ///   - unique: makes a unique text.
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
        self.keep = keep
        self.take = take
        self.poll = poll
        self.unique = unique
    }

    /// The size limit for the body of a request with this head. Throws the answer if the head alone is refused.
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

    /// Replaces the secret of an endpoint; nil if it cannot be read now, so that senders must retry.
    public func replaceKey(of path: String, with key: InboundKey?) { keys.replace(path, with: key) }

    private func key(of path: String) throws(InboundAnswer) -> InboundKey {
        if let key = keys[path] { return key }
        throw refusal(InboundAnswer(503, "The secret of this path cannot be read now.", retryAfter: 60))
    }

    private func refusal(_ status: Int, _ text: String) -> InboundAnswer { refusal(InboundAnswer(status, text)) }

    /// The refusal of a possibly unknown sender: the given answer, or 429 above the budget. Never uses an endpoint's rate.
    func refusal(_ answer: InboundAnswer) -> InboundAnswer {
        guard let seconds = strangers.take(at: clock.now) else { return answer }
        return InboundAnswer(429, "Too many requests of unknown senders for now.", retryAfter: seconds)
    }

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
            // Checked after the body is read, so that a sender above its rate keeps its connection.
            if let seconds = budget.take(at: clock.now) {
                throw InboundAnswer(429, "Too many requests for now.", retryAfter: seconds)
            }
            switch endpoint.purpose {
            case .push(let source): poll(source)
            case .events(let reading): try await storeEvents(reading.events(request, proof: proof, at: clock.now, unique: unique))
            case .tasks(let reading):
                try await storeTasks(InboundBody.items(InboundBody.json(request), at: reading.items), of: reading.source)
            }
            answer = .accepted
        } catch {
            answer = error
        }
        answer.isToKnownSender = true
        return answer
    }

    private func storeTasks(_ items: [JSON], of source: String) async throws(InboundAnswer) {
        do throws(Failure) {
            try await take(source, items)
        } catch {
            throw error.remedy == .giveUp
                ? InboundAnswer(400, error.message) : InboundAnswer(503, "The task cannot be stored now.", retryAfter: 10)
        }
    }

    private func storeEvents(_ events: [Event]) async throws(InboundAnswer) {
        do throws(StoreError) {
            try await keep(events)
        } catch {
            // The agent's log has the reason; the sender only needs to know that it must retry.
            throw InboundAnswer(503, "The event cannot be stored now.", retryAfter: 10)
        }
    }
}
