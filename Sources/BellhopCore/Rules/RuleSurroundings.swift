/// The context that rules are checked against: the sources and connections, and the available actions.
public struct RuleSurroundings: Sendable {
    public struct SourceFacts: Sendable, Hashable {
        public var name: String
        public var kind: String
        /// Its connection, which comments on its tasks go to.
        public var connection: String
        public var schema: TaskSchema
        public var scope: Scope.ID
        /// The user whose tasks these are: `user` in expressions.
        public var user: String
        public var shows: RecordKind
        /// Whether it tells what is added to the journals of its tasks.
        public var hasJournal: Bool
        /// Whether its tasks have labels in addition to values.
        public var hasLabels: Bool

        public init(
            name: String, kind: String, connection: String, schema: TaskSchema, scope: Scope.ID, user: String,
            shows: RecordKind = .tasks, hasJournal: Bool = true, hasLabels: Bool = true
        ) {
            self.name = name
            self.kind = kind
            self.connection = connection
            self.schema = schema
            self.scope = scope
            self.user = user
            self.shows = shows
            self.hasJournal = hasJournal
            self.hasLabels = hasLabels
        }
    }

    public struct ConnectionFacts: Sendable, Hashable {
        public var name: String
        public var kind: String
        /// The kinds of action that it accepts.
        public var actions: [String]
        /// The type of event that reports its logins; nil if there is none.
        public var logins: EventType?

        public init(name: String, kind: String, actions: [String], logins: EventType? = nil) {
            self.name = name
            self.kind = kind
            self.actions = actions
            self.logins = logins
        }
    }

    public var sources: [SourceFacts]
    /// The sources that show tasks.
    public var taskSources: [SourceFacts] { sources.filter { $0.shows == .tasks } }
    public var connections: [ConnectionFacts]
    public var actions: [ActionManifest]
    /// The zone for schedules and rendered times.
    public var timeZone: TimeZoneTable
    public var timeZoneName: String
    /// Other zones by name (`Europe/Berlin`); nil for an unknown name.
    public var zone: @Sendable (String) -> TimeZoneTable?
    /// Why a rule must not write to a file at this path, as the end of a sentence; nil if it may.
    public var fileRefusal: @Sendable (String) -> String?
    /// True without a configuration: rules may name any source and any receiver, and tasks have the built-in fields.
    public var isOpen: Bool
    /// The largest content of one delivery, in bytes.
    public var largestDelivery: Int

    /// The default.
    public static let largestDelivery = 256_000

    public init(
        sources: [SourceFacts], connections: [ConnectionFacts], actions: [ActionManifest], timeZone: TimeZoneTable,
        timeZoneName: String, zone: @escaping @Sendable (String) -> TimeZoneTable?,
        fileRefusal: @escaping @Sendable (String) -> String? = { _ in nil }, isOpen: Bool = false,
        largestDelivery: Int = RuleSurroundings.largestDelivery
    ) {
        self.sources = sources
        self.connections = connections
        self.actions = actions
        self.timeZone = timeZone
        self.timeZoneName = timeZoneName
        self.zone = zone
        self.fileRefusal = fileRefusal
        self.isOpen = isOpen
        self.largestDelivery = largestDelivery
    }
}
