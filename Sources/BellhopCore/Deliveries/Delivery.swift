/// One thing to do for one receiver because a rule ran. Created when an event is routed; the same for every attempt.
public struct Delivery: Sendable, Hashable, Identifiable {
    /// Made of facts, so that routing the same event twice creates the same deliveries.
    public struct ID: Sendable, Hashable {
        public var occasion: Occasion.ID
        public var rule: String
        public var step: StepPath
        public var receiver: String

        public init(occasion: Occasion.ID, rule: String, step: StepPath, receiver: String) {
            (self.occasion, self.rule, self.step, self.receiver) = (occasion, rule, step, receiver)
        }

        /// The short name by which people and receivers know it (32 hexadecimal digits).
        public var text: String { Identity.of(["delivery", occasion.text, rule, step.text, receiver]) }
    }

    public var id: ID
    /// The revision of the rule that made it; later revisions do not change it.
    public var revision: String
    /// The kind of action: `comment`, `webhook`, …
    public var action: String
    /// The name that the rule gives the step, for people; nil if it gives none.
    public var name: String?
    /// What the action does to tasks; nil if it does nothing to them.
    public var effect: Effect?
    public var arguments: Arguments
    public var task: TaskReference?
    /// Deliveries of one lane are performed one after another, in order of creation.
    public var lane: String
    public var createdAt: Timestamp
    /// It is not sent before this moment.
    public var runAt: Timestamp
    /// After this moment it is no longer sent, and fails.
    public var expires: Timestamp?
    public var retry: RetryPolicy
    /// The hop of the event it was made for.
    public var hop: Int
    /// Deliveries of earlier steps of the same run that must be done first. If one of them is given up, so is this one.
    public var after: [ID]
    /// Whether it closes or acknowledges what its conversation opened at its receiver. Earlier messages of the conversation that are still
    /// kept back are then dropped, once it no longer waits for earlier steps.
    public var settles = false
    /// The messages of an escalation that this message closes as the escalation ends; nil for any other.
    public var closes: Closing?
    public var initial: InitialState
    /// The changes that people made to its arguments, oldest first.
    public var edits: [Edit] = []

    /// What an action does to tasks.
    public enum Effect: String, Sendable, Hashable {
        /// It writes to the delivery's task, so it needs one; a budget limits the writes to each task.
        case writes
        /// It creates a task, whose subject is the receipt's reference.
        case makes
    }

    /// The messages of an escalation that a message closes at its receiver. Those that are still kept back are dropped instead of being
    /// sent; if no other was sent, the closing message is not made. The store decides this, together with the rest of the run.
    public struct Closing: Sendable, Hashable {
        /// The names of those messages' deliveries that a quiet time held, or that waited for earlier steps, when they were made.
        public var held: [String]
        /// Whether at least one of the messages was not kept back when it was made.
        public var isOpen: Bool

        public init(held: [String], isOpen: Bool) { (self.held, self.isOpen) = (held, isOpen) }
    }

    /// A person's change to the arguments of a delivery.
    public struct Edit: Sendable, Hashable {
        /// The user's name on the machine where the change was made.
        public var by: String
        public var at: Timestamp

        public init(by: String, at: Timestamp) { (self.by, self.at) = (by, at) }
    }

    public enum InitialState: Sendable, Hashable {
        case available
        /// Recorded and never performed: the rule is in shadow mode.
        case shadow
        /// Done as soon as its run was decided: an emitted event, which is stored together with the run, or an empty message.
        case done(Receipt)
        /// Recorded and never performed: this silence keeps it back.
        case silenced(by: String)
        /// Kept back until ``Delivery/runAt``, the end of a quiet time.
        case quiet(KeptBack)
        /// Recorded and never performed: a quiet time drops it.
        case dropped(Failure)
        /// It could not be created properly, and is kept rather than silently dropped.
        case dead(Failure)
    }

    /// The facts about a message that a quiet time holds, for deciding about it again and for showing how its task has changed.
    public struct KeptBack: Sendable, Hashable {
        /// Its task when the message was made.
        public var task: Snapshot?
        /// The place of its event on the bus.
        public var event: Int64?

        public init(task: Snapshot? = nil, event: Int64? = nil) { (self.task, self.event) = (task, event) }
    }

    public init(
        id: ID, revision: String, action: String, name: String? = nil, effect: Effect? = nil, arguments: Arguments,
        task: TaskReference?, lane: String, createdAt: Timestamp, runAt: Timestamp? = nil, expires: Timestamp? = nil,
        retry: RetryPolicy = .standard, hop: Int = 0, after: [ID] = [], initial: InitialState = .available
    ) {
        self.id = id
        self.revision = revision
        self.action = action
        self.name = name
        self.effect = effect
        self.arguments = arguments
        self.task = task
        self.lane = lane
        self.createdAt = createdAt
        self.runAt = runAt ?? createdAt
        self.expires = expires
        self.retry = retry
        self.hop = hop
        self.after = after
        self.initial = initial
    }
}

extension Delivery.InitialState {
    /// The state in which a delivery begins.
    public var name: String {
        switch self {
        case .available: "available"
        case .shadow: "shadow"
        case .done: "done"
        case .silenced: "silenced"
        case .quiet: "quiet"
        case .dropped: "dropped"
        case .dead: "dead"
        }
    }
}

/// The position of a step in a rule, counted from 0: `2` in its `do`, `escalate.1.0` in the `do` of an escalation's step.
public struct StepPath: Sendable, Hashable {
    public var text: String
    public init(_ text: String) { self.text = text }
    public init(index: Int) { text = String(index) }
}

/// The task of a delivery, with all facts for addressing it without reading it again.
public struct TaskReference: Sendable, Hashable {
    /// The source that showed it.
    public var source: String
    public var key: TaskKey
    public var number: String
    public var title: String
    public var className: String
    public var url: String
    /// The event subject: `INSTANCE/KEY`.
    public var subject: String

    public init(source: String, key: TaskKey, number: String, title: String, className: String, url: String, subject: String) {
        self.source = source
        self.key = key
        self.number = number
        self.title = title
        self.className = className
        self.url = url
        self.subject = subject
    }
}

/// The action's arguments, evaluated when the event was routed.
public enum Arguments: Sendable, Hashable {
    case values(JSON.Object)
    case message(Message)

    /// The message; nil for other arguments.
    public var message: Message? { if case .message(let message) = self { message } else { nil } }

    /// The key of the conversation that it belongs to: that of a message, or of the alert that it acknowledges (`thread`); nil if none.
    public var conversation: String? {
        switch self {
        case .message(let message): message.conversation
        case .values(let values): values["thread"]?.asString.flatMap(Message.threadKey).map(Message.conversation(of:))
        }
    }

    /// Whether it closes or acknowledges what its conversation opened, if the receiver can do that.
    public var settlesConversation: Bool {
        switch self {
        case .message(let message): message.resolve && message.conversation != nil
        case .values: conversation != nil
        }
    }

    /// Whether it replaces the first message of its conversation.
    public var updatesConversation: Bool { message?.update ?? false }
}

extension Delivery {
    /// The event `delivery_dead`; nil if ``Event/lastHop`` of our own writes led to the delivery, because a rule that reports the event
    /// by another failing delivery would loop forever.
    public func deathNotice(_ failure: Failure, at now: Timestamp) -> Event? {
        guard hop < Event.lastHop else { return nil }
        return Event(
            .deliveryDead(self, failure), facts: id.text, String(now.microseconds), source: task?.source ?? "bellhop",
            subject: task?.subject ?? "delivery/\(id.text)", at: now, hop: hop + 1)
    }

    /// The event that a delivery of the action `emit` makes; nil without a `type`. It has the same identity whenever it is made, so that
    /// it is stored only once.
    public func emittedEvent(at now: Timestamp) -> Event? {
        guard case .values(let values) = arguments, let type = values["type"]?.asString else { return nil }
        var event = Event(
            id: Event.ID(type: EventType(type), facts: id.text), type: EventType(type), source: id.rule,
            subject: values["subject"]?.asString ?? "", time: now, data: values["data"]?.asObject ?? [:], hop: hop + 1)
        event.cause = id.occasion.event
        return event
    }

    public static func receipt(for event: Event) -> Receipt {
        Receipt("event \(event.type.name) \(event.id.text.prefix(12))", reference: event.id.text)
    }
}

extension Event {
    /// The longest chain of our own writes that may lead to an event: stops rules that trigger each other.
    public static let lastHop = 5
}
