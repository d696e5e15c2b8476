public import BellhopCore
public import BellhopEngine
public import BellhopRules

/// Answers inquiries from a store, in the form that `--json` prints.
public struct Inquirer: Sendable {
    let store: any Store
    let clock: any AgentClock
    /// A connection, by its name; its settings may lack secrets.
    let connection: @Sendable (String) -> Configuration.ConnectionEntry?
    /// The names of the console's users in bellhop.yaml.
    let users: [String]
    /// The rules for an answer without a running agent.
    let book: RuleBook?
    /// The facts that only a running agent knows; nil if no agent runs.
    let agent: Agent?
    /// The process of an agent that has the store, but does not answer on its socket.
    let silentAgent: Int32?
    /// Lets only one command at a time change the tokens of the console, which are one note.
    let tokenGate = FIFOGate()

    public struct Agent: Sendable {
        /// The agent's own part of the status.
        public var facts: @Sendable () -> JSON.Object
        /// The sources that the agent polls, including those still preparing, and those that take tasks; nil for all that are in the
        /// store.
        public var sources: (@Sendable () -> [(name: String, scope: Scope)])?
        /// The current activities of sources, by name.
        public var underway: @Sendable () -> [String: SourceActivity]
        /// Called when deliveries have become available.
        public var wake: @Sendable () -> Void
        /// Pauses a receiver, also in the store; false if a person has paused it already. Nil if changing the store is enough.
        public var pause: (@Sendable (ReceiverStop) async throws(StoreError) -> Bool)?
        /// Ends the pauses of a receiver, also in the store; false if it was not paused. Nil if changing the store is enough.
        public var resume: (@Sendable (_ receiver: String) async throws(StoreError) -> Bool)?
        /// Applies the silences that are stored.
        public var applySilences: @Sendable () async throws(StoreError) -> Void
        /// Applies the pauses of rules that are stored.
        public var applyPauses: @Sendable () async throws(StoreError) -> Void
        /// The rules in force; nil before the first rules are loaded.
        public var book: @Sendable () -> RuleBook?
        /// Rings when there may be new events.
        public var events: Bell
        /// Applies a change of a keychain, and reports the outcome for each affected connection, or that the agent reads another keychain.
        public var applyKeychainChange: @Sendable (KeychainChange, KeychainPlace) async -> JSON

        public init(
            facts: @escaping @Sendable () -> JSON.Object,
            sources: (@Sendable () -> [(name: String, scope: Scope)])? = nil,
            underway: @escaping @Sendable () -> [String: SourceActivity] = { [:] }, wake: @escaping @Sendable () -> Void,
            pause: (@Sendable (ReceiverStop) async throws(StoreError) -> Bool)? = nil,
            resume: (@Sendable (_ receiver: String) async throws(StoreError) -> Bool)? = nil,
            applySilences: @escaping @Sendable () async throws(StoreError) -> Void = { () async throws(StoreError) in },
            applyPauses: @escaping @Sendable () async throws(StoreError) -> Void = { () async throws(StoreError) in },
            book: @escaping @Sendable () -> RuleBook? = { nil }, events: Bell = Bell(),
            applyKeychainChange: @escaping @Sendable (KeychainChange, KeychainPlace) async -> JSON
        ) {
            self.facts = facts
            self.sources = sources
            self.underway = underway
            self.wake = wake
            self.pause = pause
            self.resume = resume
            self.applySilences = applySilences
            self.applyPauses = applyPauses
            self.book = book
            self.events = events
            self.applyKeychainChange = applyKeychainChange
        }
    }

    /// - Parameter connection: returns a connection by its name; nil if unknown.
    public init(
        store: any Store, clock: any AgentClock,
        connection: @escaping @Sendable (String) -> Configuration.ConnectionEntry? = { _ in nil }, users: [String] = [],
        book: RuleBook? = nil, agent: Agent? = nil, silentAgent: Int32? = nil
    ) {
        self.store = store
        self.clock = clock
        self.connection = connection
        self.users = users
        self.book = book
        self.agent = agent
        self.silentAgent = silentAgent
    }

    /// Begins an answer. Nothing is read before the first piece is requested.
    public func answer(_ inquiry: Inquiry) -> InquiryAnswer { InquiryAnswer(to: inquiry, by: self) }

    /// Records that a command's login was refused.
    func keepRefusal(_ key: String, _ value: JSON?) async throws(StoreError) -> JSON {
        try await store.writeNote(key, to: value)
        return [:]
    }

    /// Counts events and deliveries of each hour in the last 24 hours.
    func activity() async throws(StoreError) -> JSON {
        let activity = try await store.activity(since: clock.now - .days(1))
        func json(_ hours: [Activity.Hour]) -> JSON {
            .array(hours.map { ["hour": .int($0.hour), "count": .int(Int64($0.count))] })
        }
        let deliveries = DeliveryState.allCases.compactMap { state in
            activity.deliveries[state].map { (state.rawValue, json($0)) }
        }
        return ["events": json(activity.events), "deliveries": .object(JSON.Object(deliveries))]
    }

    func status() async throws(StoreError) -> JSON {
        let now = clock.now
        var known = try await store.status(at: now)
        known.sources = inUse(known.sources)
        var status = known.json
        var facts = agent?.facts()
        if let trouble = facts?["store_trouble"]?.asObject { facts?["store_trouble"] = .object(await withCheck(trouble)) }
        let silences = json(of: known.silences.filter { $0.silence.isActive(at: now) }, at: now)
        let planned = json(of: known.silences.filter { $0.silence.starts > now }, at: now)
        status["silences"] = .array(silences + planned)
        let needs =
            StatusNeeds.sentences(known, agent: facts, silentAgent: silentAgent, at: now)
            + silences.compactMap(StatusNeeds.refusedSilence)
        status["needs"] = .array(needs.map(JSON.string))
        if let silentAgent { status["silent_agent"] = .int(Int64(silentAgent)) }
        let (polled, notices) = (facts?["polled"], facts?["notices"])
        for fact in ["polled", "notices"] { facts?[fact] = nil }
        let underway = agent?.underway() ?? [:]
        status["sources"] = .array(
            known.sources.sorted { $0.source < $1.source }.map { source in
                source.json(
                    underway: underway[source.source], polled: polled?[source.source]?.asString,
                    notices: notices?[source.source].elements ?? [], at: now)
            })
        status["waits"] = .array(known.waits.map { $0.json(at: now) })
        status["upcoming"] = .array(known.upcoming.map(\.json))
        status["later_waits"] = .int(Int64(known.laterWaits))
        status["counts"] = .array(known.counts.map(\.json))
        status["paused"] = .array(known.pauses.map(\.json))
        status["stopped"] = .array(known.stopped(at: now).map(\.json))
        status["agent"] = facts.map(JSON.object) ?? .null
        return status
    }

    /// The sources of the running agent. A source that is no longer in bellhop.yaml stays in the store for a long time.
    func inUse(_ stored: [StoreStatus.SourceStatus]) -> [StoreStatus.SourceStatus] {
        guard let sources = agent?.sources?() else { return stored }
        let names = Set(sources.map(\.name))
        let present = stored.filter { names.contains($0.source) }
        // A source that was never polled is not in the store. One that takes tasks is not polled.
        let others = sources.filter { source in
            source.scope.kind != InboundReading.kind && !present.contains { $0.source == source.name }
        }
        return present
            + others.map { source in
                StoreStatus.SourceStatus(
                    source: source.name, scope: source.scope, hasBaseline: false, tasks: 0, lastCommit: nil,
                    health: SourceHealth())
            }
    }

    /// The store's latest failure, with `is_over` if it can end by itself: whether the store accepts changes again.
    private func withCheck(_ trouble: JSON.Object) async -> JSON.Object {
        var trouble = trouble
        if trouble["curable"] == true { trouble["is_over"] = .bool(await StoreWatch.accepts(store, at: clock.now)) }
        trouble["curable"] = nil
        return trouble
    }

    /// The longest stop of each stopped receiver.
    func stops() async throws(StoreError) -> [String: ReceiverStop] {
        ReceiverStop.longest(of: try await store.stops(), at: clock.now)
    }

    /// Applies a command to deliveries; without ids to all dead and held ones. Changes nothing unless every id matches exactly one
    /// delivery, and none of them joined another. Those whose state does not allow it are not changed, and counted as `refused`.
    func apply(_ command: DeliveryCommand, to ids: [String]) async throws(StoreError) -> JSON {
        var found = ids.isEmpty ? try await undecided() : []
        for id in ids {
            let record = try await delivery(id)
            if let joined = record.joined { throw Self.refusal(of: command, for: record.delivery.id, joined) }
            if !found.contains(where: { $0.id == record.delivery.id }) {
                found.append((id: record.delivery.id, state: record.state))
            }
        }
        let chosen = found.filter { command.states.contains($0.state) }.map { $0.id }
        let changed = try await store.apply(command, to: chosen, at: clock.now)
        if command == .retry, changed > 0 { agent?.wake() }
        return [
            "changed": .int(Int64(changed)), "refused": .int(Int64(found.count - changed)),
            "deliveries": .array(chosen.map { .string($0.text) }),
        ]
    }

    /// The dead and held deliveries, oldest first. Read in pages, without keeping their messages: there may be very many.
    private func undecided() async throws(StoreError) -> [(id: Delivery.ID, state: DeliveryState)] {
        var found: [(id: Delivery.ID, state: DeliveryState)] = []
        var query = DeliveryQuery(states: [.dead, .held], limit: 1000)
        query.after = 0
        while true {
            let page = try await store.deliveries(query)
            guard let last = page.last else { return found }
            found += page.map { (id: $0.delivery.id, state: $0.state) }
            query.after = last.place
        }
    }

    /// Says which delivery to retry or drop in place of one that joined it.
    private static func refusal(of command: DeliveryCommand, for id: Delivery.ID, _ joined: JoinedDelivery) -> StoreError {
        let fact = "Delivery \(id.text.prefix(12)) \(joined.summary)"
        let advice =
            switch joined.state {
            case .available?, .quiet?, .dead?, .held?:
                "`bellhop deliveries \(command.rawValue) \(joined.id.prefix(12))` \(command == .retry ? "retries" : "drops") that one, with all its messages."
            case .waiting?, .running?, .done?, .joined?, .shadow?, .silenced?, .dropped?, nil:
                "There is nothing to \(command.rawValue)."
            }
        return StoreError(.other, "\(fact)\(fact.hasSuffix(".") ? "" : ".") \(advice)")
    }

    /// The delivery whose id begins with this text; throws if there are several.
    func delivery(_ id: String) async throws(StoreError) -> DeliveryRecord {
        let found = id.isEmpty ? [] : try await store.deliveries(DeliveryQuery(id: id, limit: 2))
        guard let record = found.first else {
            throw StoreError(.other, "There is no delivery \(id.isEmpty ? "without an id" : id).")
        }
        guard found.count == 1 else {
            throw StoreError(.other, "Several deliveries begin with \(id): give more of the id.")
        }
        return record
    }
}
