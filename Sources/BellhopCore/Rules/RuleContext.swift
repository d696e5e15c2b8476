/// The context that rules are checked against: the sources and connections, and the available actions.
public struct RuleContext: Sendable {
    public struct SourceFacts: Sendable, Hashable {
        public var name: String
        public var kind: String
        /// The connection that comments on its tasks go to.
        public var connection: String
        public var schema: TaskSchema
        public var scope: Scope.ID
        /// The instance of its tasks: the first part of their events' subjects.
        public var instance: String
        /// The user whose tasks these are: `user` in expressions.
        public var user: String
        /// False if `user` is only a substitute for a name that its system has not told yet.
        public var isUserKnown: Bool
        public var shows: RecordKind
        /// Whether it reports new comments on its tasks.
        public var comments: Ability
        /// Whether its tasks have labels in addition to values.
        public var labels: Ability
        /// The class of a task in a test that names none.
        public var taskClass: String

        public init(
            name: String, kind: String, connection: String, schema: TaskSchema, scope: Scope.ID, user: String,
            instance: String = "test", shows: RecordKind = .tasks, comments: Ability = .yes, labels: Ability = .yes,
            isUserKnown: Bool = true, taskClass: String = "task"
        ) {
            self.isUserKnown = isUserKnown
            self.name = name
            self.kind = kind
            self.connection = connection
            self.schema = schema
            self.scope = scope
            self.user = user
            self.instance = instance
            self.shows = shows
            self.comments = comments
            self.labels = labels
            self.taskClass = taskClass
        }
    }

    public struct ConnectionFacts: Sendable, Hashable {
        public var name: String
        public var kind: String
        /// The kinds of action that it accepts.
        public var actions: [String]
        /// The features of messages that it supports.
        public var messages: MessageAbilities
        /// Whether a step that computes a host may reach private networks through it.
        public var allowsPrivate: Bool
        /// The type of event that reports its logins; nil if there is none.
        public var logins: EventType?
        /// When messages to it are kept back; nil if never.
        public var quiet: QuietEntry?

        public init(
            name: String, kind: String, actions: [String], messages: MessageAbilities = MessageAbilities(),
            allowsPrivate: Bool = false, logins: EventType? = nil
        ) {
            self.name = name
            self.kind = kind
            self.actions = actions
            self.messages = messages
            self.allowsPrivate = allowsPrivate
            self.logins = logins
        }
    }

    public var sources: [SourceFacts]
    public var taskSources: [SourceFacts] { sources.filter { $0.shows == .tasks } }
    public var connections: [ConnectionFacts]
    public var actions: [ActionManifest]
    public var events: EventCatalogue
    /// The zone for schedules and rendered times.
    public var timeZone: TimeZoneTable
    public var timeZoneName: String
    /// Other zones by name (`Europe/Berlin`); nil for an unknown name.
    public var zone: @Sendable (String) -> TimeZoneTable?
    /// The calendars that rules may name; nil without a configuration, because then they are unknown.
    public var calendars: [String: WorkCalendar]?
    /// The silences of bellhop.yaml, whose conditions are checked with the rules.
    public var silences: [SilenceEntry] = []
    /// Why a rule must not write to a file at this path, as the end of a sentence; nil if it may.
    public var fileRefusal: @Sendable (String) -> String?
    /// Whether messages to a kind of connection can have a mention. A mention that they cannot have is left out.
    public var canMention: @Sendable (_ mention: Message.Mention, _ kind: String) -> Bool = { _, _ in true }
    /// Without a configuration: the fields that every task is assumed to have. Nil with a configuration.
    public var assumed: TaskSchema?
    /// Whether rules may name any source and any receiver, because there is no configuration.
    public var isOpen: Bool { assumed != nil }
    public var queryHint: QueryHint
    /// The settings of bellhop.yaml that allow actions and are true (``ActionManifest/permission``).
    public var permissions: Set<String>
    /// The largest content of one delivery, in bytes.
    public var largestDelivery: Int

    /// Recognizes a text in a system's own query language where an expression is expected, and says where it belongs.
    /// - Parameter type: the type of a field; nil if unknown.
    public typealias QueryHint =
        @Sendable (_ text: String, _ type: (String) -> FieldType?) -> (message: String, help: String)?

    /// The most keys that each rule remembers.
    public var maxKeys = RuleRegistration.maxKeys

    /// The default.
    public static let largestDelivery = 256_000

    public init(
        sources: [SourceFacts], connections: [ConnectionFacts], actions: [ActionManifest], timeZone: TimeZoneTable,
        timeZoneName: String, zone: @escaping @Sendable (String) -> TimeZoneTable?,
        fileRefusal: @escaping @Sendable (String) -> String? = { _ in nil }, assumed: TaskSchema? = nil,
        queryHint: @escaping QueryHint = { _, _ in nil }, events: EventCatalogue = .builtIn,
        calendars: [String: WorkCalendar]? = [:], permissions: Set<String> = [],
        largestDelivery: Int = RuleContext.largestDelivery
    ) {
        self.sources = sources
        self.connections = connections
        self.actions = actions
        self.events = events
        self.timeZone = timeZone
        self.timeZoneName = timeZoneName
        self.zone = zone
        self.calendars = calendars
        self.fileRefusal = fileRefusal
        self.assumed = assumed
        self.queryHint = queryHint
        self.permissions = permissions
        self.largestDelivery = largestDelivery
    }
}

/// The share of the tasks for which a rule is live. For the other tasks, and for runs without a task, it is in shadow mode.
public struct Canary: Sendable, Hashable {
    public var percent: Int

    /// 0 % is not allowed because it means `shadow`, and 100 % because it means `live`.
    public static let range = 1...99

    public init(percent: Int) { self.percent = percent }

    /// Whether the rule is live for the task. A hash of both decides, so that the answer for a task never changes, and each rule
    /// chooses different tasks.
    public func includes(_ task: String, of rule: String) -> Bool {
        let hash = UInt64(Identity.of([rule, task]).prefix(16), radix: 16) ?? .max
        return hash % 100 < UInt64(percent)
    }
}
