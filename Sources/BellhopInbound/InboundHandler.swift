public import BellhopCore

/// Handles requests from other systems: refuses them, turns them into events or tasks, or starts a poll. It does not use the
/// network.
public struct InboundHandler: Sendable {
    /// Stores events. Returns when they are on disk.
    public typealias EventStorage = @Sendable ([Event]) async throws(StoreError) -> Void

    /// Stores the current states of a source's tasks, and the events for their changes. Returns when they are on disk. Throws a
    /// failure with `.giveUp` if the items are not valid tasks.
    public typealias TaskStorage = @Sendable (_ source: String, [JSON]) async throws(Failure) -> Void

    private let endpoints: [String: (endpoint: InboundEndpoint, budget: RequestBudget)]
    private let keys: InboundKeys
    private let clock: any AgentClock
    private let storeEvents: EventStorage
    private let storeTasks: TaskStorage
    private let poll: @Sendable (String) -> Void
    private let refused: @Sendable (String, InboundAnswer) -> Void
    private let unique: @Sendable () -> String
    /// The budget of refusals that state their reason. Unknown senders use it instead of an endpoint's rate.
    private let unknownSenders: RequestBudget
    /// The memory for bodies whose senders are not known yet.
    let bodies: BodyRoom

    /// - Parameters:
    ///   - endpoints: with distinct paths.
    ///   - unknownSenders: the rate at which requests of unknown senders are refused with the reason; further ones get 429.
    ///   - poll: starts a poll of a source.
    ///   - refused: hears of each refused request to the path of a source.
    ///   - unique: makes a unique text.
    public init(
        _ endpoints: [InboundEndpoint], unknownSenders: Rate = Rate(count: 600, per: .seconds(60)), clock: any AgentClock,
        storeEvents: @escaping EventStorage, storeTasks: @escaping TaskStorage, poll: @escaping @Sendable (String) -> Void,
        refused: @escaping @Sendable (_ source: String, InboundAnswer) -> Void = { _, _ in },
        unique: @escaping @Sendable () -> String
    ) {
        let now = clock.now
        self.endpoints = Dictionary(
            endpoints.map { ($0.path, ($0, RequestBudget($0.rate, at: now))) }, uniquingKeysWith: { first, _ in first })
        keys = InboundKeys(self.endpoints.mapValues(\.endpoint.key))
        self.unknownSenders = RequestBudget(unknownSenders, at: now)
        bodies = BodyRoom(largestBody: endpoints.map(\.largestBody).max() ?? 0)
        self.clock = clock
        self.storeEvents = storeEvents
        self.storeTasks = storeTasks
        self.poll = poll
        self.refused = refused
        self.unique = unique
    }

    /// A request whose body is to be read.
    struct Admission: Sendable, Hashable {
        var path: String
        var largestBody: Int
        /// The proof of the sender, if the head has it. Otherwise only the body can show that the sender has the secret.
        var proof: InboundKey.Proof?
        var isKnown: Bool { proof != nil }
    }

    /// How the body of a request with this head is read. Throws the answer to a request that is refused before its body is read.
    ///
    /// - Parameters:
    ///   - head: the request without its body.
    ///   - announced: the size of its body, if the head states it.
    func admit(method: String, path: String, head: InboundRequest, announced: Int?) throws(InboundAnswer) -> Admission {
        guard let endpoint = endpoints[path]?.endpoint else { throw refusal(404, "Bellhop has no endpoint at this path.") }
        let proof: InboundKey.Proof?
        do throws(InboundAnswer) {
            guard method == "POST" else { throw refusal(405, "Only POST is allowed here.") }
            let key = try key(of: path)
            do throws(InboundAnswer) { proof = try key.checkHead(head, at: clock.now) } catch { throw refusal(error, of: key) }
        } catch {
            // Some senders, such as Amazon SNS, send their password only when they are asked for it: they are not refused yet.
            let isAsked = if case .basic? = keys[path] { error.challenge != nil } else { false }
            if isAsked, !head.headers.contains(where: { $0.name.lowercased() == "authorization" }) { throw error }
            throw reported(error, at: path)
        }
        let admission = Admission(path: path, largestBody: endpoint.largestBody, proof: proof)
        if let announced, announced > endpoint.largestBody { throw tooLarge(admission) }
        return admission
    }

    /// Replaces the secret of an endpoint; nil if it cannot be read now, so that senders must retry. Returns whether the secret has
    /// changed.
    @discardableResult
    public func replaceKey(of path: String, with key: InboundKey?) -> Bool { keys.replace(path, with: key) }

    private func key(of path: String) throws(InboundAnswer) -> InboundKey {
        if let key = keys[path] { return key }
        throw refusal(InboundAnswer(503, "The secret of this path cannot be read now.", retryAfter: 60))
    }

    private func refusal(_ status: Int, _ text: String) -> InboundAnswer { refusal(InboundAnswer(status, text)) }

    /// The answer that refuses an unknown sender: the given one, or 429 above the budget. It never counts against an endpoint's rate.
    private func refusal(_ answer: InboundAnswer) -> InboundAnswer {
        guard let seconds = unknownSenders.take(at: clock.now) else { return answer }
        return InboundAnswer(429, "Too many requests from unknown senders for now.", retryAfter: seconds)
    }

    /// The refusal of a sender that does not have the secret.
    private func refusal(_ answer: InboundAnswer, of key: InboundKey) -> InboundAnswer {
        var answer = answer
        answer.challenge = key.challenge
        return refusal(answer)
    }

    func tooLarge(_ admission: Admission) -> InboundAnswer {
        refusal(InboundAnswer(413, "The body is larger than \(admission.largestBody) bytes."), admission)
    }

    /// The refusal of a request whose body was not read completely. Where only the body would show who sends it, its sender is unknown.
    func refusal(_ answer: InboundAnswer, _ admission: Admission) -> InboundAnswer {
        guard admission.isKnown else { return reported(refusal(answer), at: admission.path) }
        var answer = answer
        answer.isToKnownSender = true
        return reported(answer, at: admission.path)
    }

    /// Reports the answer to a request to a known path, if it is a refusal.
    func reported(_ answer: InboundAnswer, at path: String) -> InboundAnswer {
        if answer.status >= 400, let source = endpoints[path]?.endpoint.source { refused(source, answer) }
        return answer
    }

    func answer(_ request: InboundRequest, _ admission: Admission) async -> InboundAnswer {
        guard let (endpoint, budget) = endpoints[admission.path] else {
            return refusal(404, "Bellhop has no endpoint at this path.")
        }
        let proof: InboundKey.Proof
        do throws(InboundAnswer) {
            proof = if let known = admission.proof { known } else { try check(request, admission.path) }
        } catch { return reported(error, at: admission.path) }
        var answer = InboundAnswer.accepted
        do throws(InboundAnswer) {
            // Checked after the body is read, so that a sender above its rate keeps its connection.
            if let seconds = budget.take(at: clock.now) {
                throw InboundAnswer(429, "Too many requests for now.", retryAfter: seconds)
            }
            if let encoding = request.value("Content-Encoding"), encoding.lowercased() != "identity" {
                throw InboundAnswer(
                    415, "The body is compressed (Content-Encoding), which is not supported: send it uncompressed.")
            }
            switch endpoint.purpose {
            case .push(let source):
                if let body = try? JSON.parse(request.body) { try InboundBody.answerChallenge(in: body) }
                poll(source)
            case .events(let reading): try await store(reading.events(request, proof: proof, at: clock.now, unique: unique))
            case .tasks(let reading):
                try await store(InboundBody.items(InboundBody.json(request), at: reading.items), of: reading.source)
            }
        } catch {
            answer = reported(error, at: admission.path)
        }
        answer.isToKnownSender = true
        return answer
    }

    private func check(_ request: InboundRequest, _ path: String) throws(InboundAnswer) -> InboundKey.Proof {
        let key = try key(of: path)
        do throws(InboundAnswer) { return try key.check(request, at: clock.now) } catch { throw refusal(error, of: key) }
    }

    private func store(_ items: [JSON], of source: String) async throws(InboundAnswer) {
        do throws(Failure) {
            try await storeTasks(source, items)
        } catch {
            throw error.remedy == .giveUp
                ? InboundAnswer(400, error.message) : InboundAnswer(503, "The task cannot be stored now.", retryAfter: 10)
        }
    }

    private func store(_ events: [Event]) async throws(InboundAnswer) {
        do throws(StoreError) {
            try await storeEvents(events)
        } catch {
            // The agent's log has the reason; the sender only needs to know that it must retry.
            throw InboundAnswer(503, "The event cannot be stored now.", retryAfter: 10)
        }
    }
}
