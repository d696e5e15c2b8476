/// All types of events. The checks of rules, the JSON Schema and the documentation are made from it.
public struct EventCatalogue: Sendable {
    /// In the order of the reference page.
    public let definitions: [EventDefinition]
    private let places: [EventType: Int]

    /// - Parameter definitions: of distinct types.
    public init(_ definitions: [EventDefinition]) {
        self.definitions = definitions
        places = Dictionary(uniqueKeysWithValues: definitions.enumerated().map { ($1.type, $0) })
    }

    public subscript(type: EventType) -> EventDefinition? { places[type].map { definitions[$0] } }

    public var types: [EventType] { definitions.map(\.type) }

    /// The types that a rule may name under `on`, and a test may give.
    public var nameable: [EventDefinition] { definitions.filter(\.canBeNamed) }

    /// Every type that Bellhop itself emits.
    public static let builtIn = EventCatalogue([
        EventDefinition(
            .loginEvent, "a login with credentials from bellhop.yaml succeeded or failed", from: .connection, login),
        EventDefinition(
            .keychainLoginEvent, "a login to a connection with `auth: {keychain: true}` succeeded or failed", from: .connection,
            login),
        EventDefinition(
            .sessionExpired, "the server ended the session; a new login follows", from: .connection,
            login.filter { $0.name != EventKey.ok.rawValue }),
        EventDefinition(.taskCreated, "a task appeared for the first time", from: .tasks, [member(.task, task)]),
        EventDefinition(
            .taskReturned, "a removed task appeared again", from: .tasks,
            [member(.task, task), member(.removed, .text, "when it had left")]),
        EventDefinition(
            .taskChanged, "fields of a task changed", from: .tasks,
            [
                member(.task, task), member(.before, task),
                member(.changes, .map(.record([member(.from, .json), member(.to, .json)])), "`{field: {from, to}}`"),
            ]),
        EventDefinition(
            .taskRemoved, "a task left the source", from: .tasks,
            [member(.task, task, "as last seen"), member(.reason, .oneOf(RemovalReason.allCases.map(\.rawValue)))]),
        EventDefinition(
            .taskCommented, "a comment was added to a task of a source that reports comments", from: .tasks,
            [member(.task, task), member(.comment, .record(comment))]),
        EventDefinition(
            .scheduleDue, "a rule's schedule came due", from: .rule,
            [member(.due, .text), member(.missed, .integer(0...Int.max), "how many earlier due times were missed")]),
        EventDefinition(
            .pageChanged, "the words of a watched page changed", from: .page,
            [
                member(.page, .record([member(.url, .text), member(.title, .text), member(.source, .text)])),
                member(.before, .text), member(.after, .text), member(.diff, .text),
            ]),
        EventDefinition(
            .sourceFailing, "three polls in a row failed, or one that only a person can repair", from: .source,
            [member(.source, .text), member(.error, .text), member(.reason, failure), member(.since, .text)]),
        EventDefinition(
            .sourceRecovered, "polls work again, or the failing source was renamed or removed", from: .source,
            [member(.source, .text), member(.error, .text), member(.since, .text)]),
        EventDefinition(
            .sourceHeld, "a result differs so much from the last that Bellhop waits for confirmation", from: .source,
            [
                member(.source, .text),
                member(.counts, .record([.known, .new, .gone, .changed].map { member($0, .integer(0...Int.max)) })),
                member(.fields, .list(.text), "the fields in which `changed` tasks changed"),
            ]),
        EventDefinition(
            .deliveryDead, "a delivery failed permanently", from: .delivery,
            [
                member(.delivery, .record([.id, .rule, .action, .receiver, .occasion].map { member($0, .text) })),
                member(.error, .record([member(.reason, failure), member(.message, .text)])),
                member(.task, task, "if it has one", isOptional: true),
            ]),
        EventDefinition(
            .receiverPaused, "a receiver gets no deliveries until a person resumes it", from: .delivery,
            [
                member(.receiver, .text), member(.reason, .text, "a sentence"),
                member(
                    .by, .oneOf(ReceiverStop.Cause.allCases.filter(\.isPause).map(\.rawValue)), "its own refusal, or a person"),
                member(.since, .text),
            ]),
        EventDefinition(.receiverResumed, "a person resumed a paused receiver", from: .delivery, [member(.receiver, .text)]),
        EventDefinition(.silenceStarted, "a silence began", from: .delivery, [member(.silence, .record(silence))]),
        EventDefinition(
            .silenceEnded, "a silence ended, by its time or because a person ended it", from: .delivery,
            [
                member(
                    .silence, .record(silence + [member(.kept, .integer(0...Int.max), "how many deliveries it kept back")]))
            ]),
    ])

    /// The members of `comment`.
    public static let comment = [
        member(.text, .text), member(.author, .text), member(.kind, .oneOf(["comments", "work_notes"])), member(.time, .text),
        member(.own, .boolean, "a rule wrote it"),
        member(.proved, .boolean, "false if it may be part of another text; `author` is then empty"),
    ]

    private static let task = SettingType.record(
        Snapshot.ownNames.map { Setting($0, ["labels", "fields"].contains($0) ? .json : .text, required: true, "") })

    /// The members of `silence`.
    private static let silence = [
        member(.id, .text), member(.when, .text, "", isOptional: true), member(.rules, .list(.text)),
        member(.receivers, .list(.text)), member(.starts, .text), member(.ends, .text), member(.reason, .text),
        member(.by, .text), member(.writes, .boolean),
    ]

    private static let failure = SettingType.oneOf(Failure.Reason.allCases.map(\.rawValue))

    private static let login = [
        member(.connection, .text), member(.user, .text), member(.ok, .boolean), member(.reason, .text, "a sentence"),
        member(.code, .oneOf([""] + Failure.Reason.allCases.map(\.rawValue))),
    ]

    private static func member(
        _ key: EventKey, _ type: SettingType, _ summary: String = "", isOptional: Bool = false
    ) -> Setting {
        Setting(key.rawValue, type, required: !isOptional, summary)
    }
}

/// A type of event: when it happens, where it comes from, and the members of its `data`.
public struct EventDefinition: Sendable, Hashable {
    public var type: EventType
    /// When it happens, for the documentation.
    public var summary: String
    public var origin: Origin
    /// The members of `data`; those that are not `required` may be absent.
    public var members: [Setting]
    /// Whether `data` may have other members.
    public var isOpen: Bool

    /// The kind of thing that the event's `source` names.
    public enum Origin: Sendable, Hashable {
        /// A source of tasks.
        case tasks
        /// A source that is a page.
        case page
        /// A source of either kind.
        case source
        /// A connection, which is also the name under `from`.
        case connection
        /// The rule whose schedule it is. No other rule gets the event.
        case rule
        /// The source of a delivery's task, or `bellhop`.
        case delivery
        /// Whoever emits it.
        case outside
    }

    public init(_ type: EventType, _ summary: String, from origin: Origin, _ members: [Setting], isOpen: Bool = false) {
        (self.type, self.summary, self.origin, self.members, self.isOpen) = (type, summary, origin, members, isOpen)
    }

    public subscript(key: EventKey) -> Setting? { members.first { $0.name == key.rawValue } }

    /// Whether every such event carries a task.
    public var hasTask: Bool { self[.task]?.required == true }
    /// Whether its `from:` names a connection rather than a source.
    public var isLogin: Bool { origin == .connection }
    /// Whether a rule may name it under `on`, and a test may give it.
    public var canBeNamed: Bool { origin != .rule }
}

/// The name of a type of event.
public struct EventType: Sendable, Hashable {
    public var name: String
    public init(_ name: String) { self.name = name }

    public static let loginEvent = EventType("login_event")
    public static let keychainLoginEvent = EventType("ks_login_event")
    public static let sessionExpired = EventType("session_expired")
    public static let taskCreated = EventType("task_created")
    public static let taskReturned = EventType("task_returned")
    public static let taskChanged = EventType("task_changed")
    public static let taskRemoved = EventType("task_removed")
    public static let taskCommented = EventType("task_commented")
    public static let pageChanged = EventType("page_changed")
    public static let scheduleDue = EventType("schedule_due")
    public static let sourceFailing = EventType("source_failing")
    public static let sourceRecovered = EventType("source_recovered")
    public static let sourceHeld = EventType("source_held")
    public static let deliveryDead = EventType("delivery_dead")
    public static let receiverPaused = EventType("receiver_paused")
    public static let silenceStarted = EventType("silence_started")
    public static let silenceEnded = EventType("silence_ended")
    public static let receiverResumed = EventType("receiver_resumed")

    /// The type that reports a connection's logins.
    public static func login(usesKeychain: Bool) -> EventType { usesKeychain ? .keychainLoginEvent : .loginEvent }
}

/// The member names in the data of events.
public enum EventKey: String, Sendable {
    // Members of the data itself.
    case task, before, after, changes, comment, removed, page, diff, due, missed
    case connection, user, ok, reason, code
    case source, error, since, counts, fields, delivery
    // Members of a change or a comment.
    case from, to, text, author, kind, time, own, proved
    // Members of a page, a result or a delivery.
    case url, title, known, new, gone, changed, id, rule, action, receiver, occasion, message, by
    // Members of a silence.
    case silence, when, rules, receivers, starts, ends, writes, kept
}

extension JSON.Object {
    public subscript(key: EventKey) -> JSON? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    /// An object with these members, except those without a value.
    init(_ members: KeyValuePairs<EventKey, JSON?>) {
        self.init(distinct: members.compactMap { member in member.value.map { (member.key.rawValue, $0) } })
    }
}

extension JSON {
    public subscript(key: EventKey) -> JSON? { self[key.rawValue] }
}
