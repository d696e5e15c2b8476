public import BellhopCore

/// Answers inquiries from a store, in the form that `--json` prints.
public struct Inquirer: Sendable {
    private let store: any Store
    private let clock: any AgentClock
    /// What a running agent adds to its status, and what it does to reload; nil where no agent runs.
    private let agent: Agent?

    public struct Agent: Sendable {
        public var facts: @Sendable () -> JSON.Object
        public var reload: @Sendable () async -> Result<JSON, InquiryError>
        /// Called when deliveries became available.
        public var wake: @Sendable () -> Void

        public init(
            facts: @escaping @Sendable () -> JSON.Object, reload: @escaping @Sendable () async -> Result<JSON, InquiryError>,
            wake: @escaping @Sendable () -> Void
        ) {
            self.facts = facts
            self.reload = reload
            self.wake = wake
        }
    }

    public init(store: any Store, clock: any AgentClock, agent: Agent? = nil) {
        self.store = store
        self.clock = clock
        self.agent = agent
    }

    public func answer(_ inquiry: Inquiry) async throws(InquiryError) -> JSON {
        do throws(StoreError) {
            switch inquiry {
            case .status:
                var status = try await store.status().json
                status["agent"] = agent.map { .object($0.facts()) } ?? .null
                return status
            case .events(let query):
                return .array(try await store.events(query).map(\.json))
            case .deliveries(let query):
                return .array(try await store.deliveries(query).map(\.json))
            case .decide(let decision, let ids):
                return try await decide(decision, ids)
            case .reload: break
            }
        } catch {
            throw InquiryError(error)
        }
        guard let agent else {
            throw InquiryError(.notFound, "No agent is running on this store, so there is nothing to reload.")
        }
        return try await agent.reload().get()
    }

    private func decide(_ decision: Decision, _ ids: [String]) async throws(StoreError) -> JSON {
        var records: [DeliveryRecord] = []
        if ids.isEmpty {
            records = try await store.deliveries(DeliveryQuery(states: [.dead, .held], limit: .max))
        }
        for id in ids { records += try await store.deliveries(DeliveryQuery(id: id, limit: 2)) }
        let changed = try await store.decide(decision, on: records.map(\.delivery.id), at: clock.now)
        if decision == .retry, changed > 0 { agent?.wake() }
        return ["changed": .int(Int64(changed)), "deliveries": .array(records.map { .string($0.delivery.id.text) })]
    }
}
