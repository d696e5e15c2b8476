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
            .keychainLoginEvent, "the same for a connection with `auth: {keychain: true}`", from: .connection, login),
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
            [
                member(.task, task, "as last seen"), member(.reason, .oneOf(RemovalReason.allCases.map(\.rawValue))),
            ]),
        EventDefinition(
            .taskCommented, "a comment was added to a task of a source that reports comments", from: .tasks,
            [member(.task, task), member(.comment, .record(comment))]),
        EventDefinition(
            .scheduleDue, "a rule's schedule came due", from: .rule,
            [
                member(.due, .text), member(.missed, .integer(0...Int.max), "how many earlier times this one makes up for"),
            ]),
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
            .sourceRecovered, "polls work again", from: .source,
            [member(.source, .text), member(.error, .text), member(.since, .text)]),
        EventDefinition(
            .sourceHeld, "a result differs so much from the last that Bellhop waits for confirmation", from: .source,
            [
                member(.source, .text),
                member(.counts, .record([.known, .new, .gone, .changed].map { member($0, .integer(0...Int.max)) })),
                member(.fields, .list(.text), "those in which `changed` tasks changed alike"),
            ]),
        EventDefinition(
            .deliveryDead, "a delivery failed for good", from: .delivery,
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
        EventDefinition(
            .receiverResumed, "a person resumed a paused receiver", from: .delivery, [member(.receiver, .text)]),
        EventDefinition(.silenceStarted, "a silence began", from: .delivery, [member(.silence, .record(silence))]),
        EventDefinition(
            .silenceEnded, "a silence ended, by its time or because a person ended it", from: .delivery,
            [
                member(
                    .silence,
                    .record(silence + [member(.kept, .integer(0...Int.max), "how many deliveries it kept back")]))
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
