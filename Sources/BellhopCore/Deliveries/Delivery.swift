/// One thing to be done to one receiver because a rule ran. Made when an event is routed; every attempt does the same.
public struct Delivery: Sendable, Hashable, Identifiable {
    /// Made of facts, so that routing the same event twice owes the same deliveries.
    public struct ID: Sendable, Hashable {
        public var occasion: Occasion.ID
        public var rule: String
        public var step: StepPath
        public var receiver: String

        public init(occasion: Occasion.ID, rule: String, step: StepPath, receiver: String) {
            self.occasion = occasion
            self.rule = rule
            self.step = step
            self.receiver = receiver
        }

        /// The short name by which people and receivers know it (32 hexadecimal digits).
        public var text: String { Identity.of(["delivery", occasion.text, rule, step.text, receiver]) }
    }

    public var id: ID
    /// The revision of the rule that made it; a delivery made keeps what it was made with.
    public var revision: String
    /// The kind of action: `comment`, `webhook`, …
    public var action: String
    /// What the rule calls the step, for people; nil where it does not.
    public var name: String?
    /// What the action does to tasks; nil when nothing.
    public var effect: Effect?
    public var arguments: Arguments
    /// The task it is for, if any.
    public var task: TaskReference?
    /// Deliveries of one lane are done one after another, in the order they were made.
    public var lane: String
    public var createdAt: Timestamp
    /// Not before this moment.
    public var runAt: Timestamp
    /// After this moment it is not sent any more, and says so.
    public var expires: Timestamp?
    public var retry: RetryPolicy
    /// The hop of the event it was made for.
    public var hop: Int
    /// Deliveries of earlier steps of the same run, made before it, that must be done first: while one of them is not yet done it waits,
    /// and when one is given up so is this one.
    public var after: [ID]
    /// How it starts life.
    public var initial: InitialState

    /// What an action does to tasks.
    public enum Effect: String, Sendable, Hashable {
        /// It writes to the delivery's task: it needs one, and a task's writes have a budget.
        case writes
        /// It makes a task, whose subject is the receipt's reference.
        case makes
    }

    public enum InitialState: Sendable, Hashable {
        case available
        /// Recorded, and never done: the rule is in shadow mode.
        case shadow
        /// It could not be made properly: nothing is dropped in silence.
        case dead(Failure)
    }

    public init(
        id: ID, revision: String, action: String, name: String? = nil, effect: Effect? = nil, arguments: Arguments,
        task: TaskReference?, lane: String,
        createdAt: Timestamp, runAt: Timestamp? = nil, expires: Timestamp? = nil, retry: RetryPolicy = .standard, hop: Int = 0,
        after: [ID] = [], initial: InitialState = .available
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

/// Where in a rule's `do` a step stands: `0`, `2`, later `escalate.1.0`.
public struct StepPath: Sendable, Hashable {
    public var text: String
    public init(_ text: String) { self.text = text }
    public init(index: Int) { text = String(index) }
}

/// The task a delivery is for: enough to address it without reading anything.
public struct TaskReference: Sendable, Hashable {
    /// The source that showed it.
    public var source: String
    public var key: TaskKey
    public var number: String
    public var title: String
    public var className: String
    public var url: String
    /// The event subject: `INSTANCE/SYS_ID`.
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

/// What an action is done with, evaluated when the event was routed.
public enum Arguments: Sendable, Hashable {
    case values(JSON.Object)
    case message(Message)
}
