public import BellhopCore
import CEL

/// The facts from the store with which the release of messages is decided.
public struct ReleaseFacts: Sendable {
    public var tasks: [Scope.ID: [TaskKey: RememberedTask]]
    /// The events of the messages by their places on the bus, those that still exist.
    public var events: [Int64: StoredEvent]

    public init(tasks: [Scope.ID: [TaskKey: RememberedTask]] = [:], events: [Int64: StoredEvent] = [:]) {
        (self.tasks, self.events) = (tasks, events)
    }
}

extension RuleBook {
    /// The facts that deciding a release needs from the store.
    public func needs(of held: [HeldMessage]) -> RoutingNeeds {
        var needs = RoutingNeeds()
        for message in held {
            if let task = message.delivery.task, let scope = scope(of: task.source) {
                needs.tasks[scope, default: []].insert(task.key)
            }
            if let event = message.delivery.keptBack?.event { needs.events.insert(event) }
        }
        return needs
    }

    /// Decides what happens to the messages of one receiver whose quiet time has ended. Pure.
    ///
    /// Silences and the connection's quiet time are checked again; the rule's quiet time only if it is not the one that has ended. The
    /// remaining messages are coalesced into one. A message is sent unchanged if it is the only one or needs its own conversation.
    public func release(
        _ held: [HeldMessage], _ facts: ReleaseFacts, silences: SilenceBook = .empty, at now: Timestamp
    ) -> MessageRelease {
        let frame = RunFrame(self.facts, events: [], now: now)
        let activation = Activation(slots)
        var silencer = SilenceFilter(silences, events: [], at: now)
        var quiet = QuietFilter(self, at: now)
        var release = MessageRelease([], at: now)
        for (number, message) in held.enumerated() {
            let delivery = message.delivery
            frame.move(to: runContext(of: message, facts))
            activation.begin(frame)
            activation.workLeft = Self.workPerRun
            var treatment = MessageRelease.Treatment.joined
            if let action = self.facts.actions[delivery.action],
                case .silenced(let silence)? = silencer?.state(
                    of: action, for: number, of: delivery.id.rule, to: delivery.id.receiver, at: frame)
            {
                treatment = .silenced(by: silence)
            } else {
                let verdict = quiet.verdict(
                    on: rule(named: delivery.id.rule), to: delivery.id.receiver, activation, heldUntil: delivery.runAt,
                    failed: { _ in })
                switch verdict {
                case .hold(let until): treatment = .held(until: until)
                case .drop(let owner): treatment = .dropped(.quiet(owner))
                case nil: if message.waits { treatment = .sent }
                }
            }
            release.treatments.append((message, treatment))
        }
        separateConversations(&release)
        dropReplaced(&release)
        join(&release, facts)
        return release
    }

    /// The run that a message was made in, with its task as it is now.
    private func runContext(of message: HeldMessage, _ facts: ReleaseFacts) -> RunContext {
        let delivery = message.delivery
        var context = RunContext(
            occasion: .event(Event.ID(delivery.id.occasion.text)), source: delivery.task?.source ?? "",
            subject: delivery.task?.subject ?? "")
        if let event = delivery.keptBack?.event.flatMap({ facts.events[$0] }) {
            context.events = [event]
            context.event = 0
            (context.source, context.subject) = (event.event.source, event.event.subject)
        }
        context.task = remembered(delivery, facts)?.snapshot ?? delivery.keptBack?.task
        return context
    }

    private func remembered(_ delivery: Delivery, _ facts: ReleaseFacts) -> RememberedTask? {
        guard let task = delivery.task, let scope = scope(of: task.source) else { return nil }
        return facts.tasks[scope]?[task.key]
    }

    /// Decides which messages are not coalesced because of their conversations. A pager gets each message by itself. At other receivers, a
    /// conversation that has begun goes on with its own messages, and a new one begins with the coalesced message.
    private func separateConversations(_ release: inout MessageRelease) {
        for place in release.treatments.indices {
            let (message, treatment) = release.treatments[place]
            if treatment == .joined, message.continues || closesConversations(message.delivery.id.receiver) {
                release.treatments[place].treatment = .sent
            }
        }
    }

    /// Drops each message that a newer one would replace at a receiver with updates. Otherwise a task whose state changed ten times in a
    /// night had ten lines.
    private func dropReplaced(_ release: inout MessageRelease) {
        var replaced: Set<String> = []
        for place in release.treatments.indices.reversed() where release.treatments[place].treatment == .joined {
            let delivery = release.treatments[place].message.delivery
            guard delivery.arguments.updatesConversation, let conversation = delivery.arguments.conversation,
                abilities(of: delivery.id.receiver).map({ $0.updates == .yes }) ?? context.isOpen
            else { continue }
            if !replaced.insert(conversation).inserted { release.treatments[place].treatment = .dropped(.outdated) }
        }
    }

    private func abilities(of receiver: String) -> MessageAbilities? {
        context.connections.first { $0.name == receiver }?.messages
    }

    /// Whether the receiver closes what a conversation opened, as pagers do.
    func closesConversations(_ receiver: String) -> Bool {
        abilities(of: receiver)?.resolves == .yes
    }

    /// Whether the receiver shows a later message of a conversation with the first one or in its place. Without a configuration, any may.
    func showsConversations(_ receiver: String) -> Bool {
        guard let abilities = abilities(of: receiver) else { return context.isOpen }
        return abilities.threads == .yes || abilities.updates == .yes
    }

    /// Makes one message of those that are left; a single one is sent as it is.
    private func join(_ release: inout MessageRelease, _ facts: ReleaseFacts) {
        let places = release.treatments.indices.filter { release.treatments[$0].treatment == .joined }
        let deliveries = places.map { release.treatments[$0].message.delivery }
        guard places.count > 1, let first = deliveries.first else {
            for place in places { release.treatments[place].treatment = .sent }
            return
        }
        var messages: [Message] = []
        var notes: [[Message.Inline]] = []
        for delivery in deliveries {
            guard case .message(let message) = delivery.arguments else { continue }
            messages.append(message)
            notes.append(
                notes.count < Message.Coalescing.keptBack.lines
                    ? delivery.task.flatMap { note(of: delivery, source: $0.source, facts) } ?? [] : [])
        }
        let spans = deliveries.map { delivery in delivery.expires.map { $0 - delivery.runAt } }
        let expires = spans.contains { $0 == nil } ? nil : spans.compactMap(\.self).max().map { release.at + $0 }
        release.joined = .coalescing(
            Message.coalesced(messages, as: .keptBack, notes: notes),
            insteadOf: first, expires: expires, hop: deliveries.map(\.hop).max() ?? 0, at: release.at, as: .keptBack)
    }

    /// The most fields that a line names.
    private static let maxFields = 5

    /// How the task of a message has changed meanwhile; nil if it has not, if this is unknown, or if the message is about this change.
    private func note(of delivery: Delivery, source: String, _ facts: ReleaseFacts) -> [Message.Inline]? {
        guard let now = remembered(delivery, facts) else { return nil }
        if now.removed != nil {
            if let event = delivery.keptBack?.event.flatMap({ facts.events[$0]?.event }), event.type == .taskRemoved,
                event.data[.reason]?.asString == now.reason?.rawValue
            {
                return nil
            }
            switch now.reason {
            case .closed: return [.text(" – closed")]
            case .gone: return [.text(" – gone")]
            case .leftQuery, .unknown, nil: return [.text(" – left")]
            }
        }
        let ignored = self.facts.schemas[source]?.roles.bookkeeping ?? self.facts.assumed?.roles.bookkeeping ?? []
        guard let then = delivery.keptBack?.task,
            let changes = Change(from: then, to: now.snapshot, ignoring: ignored)?.fields
        else { return nil }
        let names = changes.prefix(Self.maxFields).map(\.field).joined(separator: ", ")
        let more = changes.count > Self.maxFields ? " and \(changes.count - Self.maxFields) more" : ""
        return [.text(" – changed: "), .value(names + more)]
    }
}
