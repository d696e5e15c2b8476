import BellhopCore

/// The keys of test files, declared once: for reading them and for their JSON Schema.
enum TestKeys {
    static let file: [Setting] = [
        Setting(
            "rules", .list(.path), "The rule files to test, in the folder of this file; by default the file of the same name."),
        Setting("timezone", .name, "The time zone of the rules in the tests; by default that of bellhop.yaml."),
        calendars,
        Setting("tests", .json, required: true, "The tests."),
    ]

    static let calendars = Setting(
        "calendars", .map(.record(CalendarReading.settings)),
        "The calendars of the tests, written as in bellhop.yaml and used instead of its calendars.")

    /// The start time of a test without `at`.
    static let start = Timestamp(seconds: 1_767_603_600)

    static let test: [Setting] = [
        Setting("name", .text, required: true, "What the test shows, as a sentence."),
        Setting("at", .text, default: start.rfc3339, "When the test begins."),
        Setting("only", .list(.name), "The only rules that run; by default all rules of the files."),
        Setting("silences", .list(.record(silence)), "The silences of the test, each with its begin and end."),
        Setting("given", .json, "What happens, in order: events, `wait`, `at`, `tasks`, `silence`, `restart`, `down`."),
        Setting("expect", .json, required: true, "All actions of the rules, in order; `[]` if they do nothing."),
    ]

    private static let silenceFilters = [
        Setting("when", .expression, "The messages that the silence keeps back; a condition as in a rule's `when`."),
        Setting("rules", .list(.name), "Only messages of these rules."),
        Setting("receivers", .list(.name), "Only messages to these connections."),
        Setting("writes", .boolean, "Whether the silence also keeps back actions that write to a task or create one."),
    ]
    static let silence =
        [
            Setting("starts", .text, required: true, "The moment when the silence begins."),
            Setting("ends", .text, required: true, "The first moment after the silence."),
        ] + silenceFilters
    /// A silence that begins at this point of a test.
    static let givenSilence = [Setting("for", .duration, required: true, least: "1s", "How long it lasts.")] + silenceFilters

    static let wait = Setting("wait", .duration, "Lets this much time pass.")
    static let at = Setting("at", .text, "Moves the time forward to this moment.")
    static let restart = Setting("restart", .boolean, "Restarts the agent, which then knows only what it has stored.")
    static let down = Setting(
        "down", .duration, least: "1s",
        "The agent is down for this long. Events given during that time arrive with its first poll afterwards.")
    static let tasks = Setting("tasks", .json, "The tasks that the sources show from here on.")
    static let source = Setting("source", .name, "The source of the event; by default the rule's first `from`.")
    static let own = Setting(
        "own", .boolean, "Whether a write of a rule caused the change: then it is no answer, and ends no escalation.")
    /// The keys that stand beside an event.
    static let besideEvent = [source, own].map(\.name)
    /// The steps that are not events.
    static let otherSteps = [wait, at, tasks].map(\.name) + ["silence"] + [restart, down].map(\.name)

    /// The members of a given event. A test may leave out most, and writes a task and its changes in its own way.
    static func members(of event: EventDefinition) -> [Setting] {
        event.members.map { member in
            var member = member
            switch (EventKey(rawValue: member.name), event.hasTask) {
            case (.task, true), (.before, true), (.changes, true): member.type = .json
            case (.comment, true): member.type = .record(comment)
            default: member = partial(member)
            }
            member.required = member.required && event.origin == .page
            return member
        }
    }

    private static func partial(_ member: Setting) -> Setting {
        var member = member
        if case .record(let members) = member.type {
            member.type = .record(
                members.map { member in
                    var member = partial(member)
                    member.required = false
                    return member
                })
        }
        return member
    }

    /// The `comment` of a given `task_commented`.
    static let comment = EventCatalogue.comment.map { member in
        var member = member
        let key = EventKey(rawValue: member.name)
        member.required = key == .text
        member.fallback = key == .kind ? "comments" : key == .proved ? "true" : nil
        return member
    }

    /// The settings that may accompany an expected action.
    static let expectation: [Setting] = [
        Setting("rule", .name, "The rule that does it."),
        Setting(
            "silenced", .boolean,
            "Whether a silence keeps the action back. Without this, actions that a silence keeps back are ignored."),
        Setting(
            "quiet", .boolean,
            "Whether a quiet time keeps the message back. Without this, the test expects the message when it is sent: at the end of the quiet time."
        ),
        Setting(
            "dead", .either([.boolean, .text]),
            "Whether the delivery is dead from the start, or the reason: `budget`, `unrenderable`."),
    ]

    static let after = Setting(
        "after", .duration, "The actions that follow happen at least this long after the start of the test.")

    /// The expectations that a test can have of a part of a message.
    private static let section: [Setting] = [
        Setting("title", .text, "The title."), Setting("text", .text, "The text, as Markdown or without markup."),
        Setting("list", .list(.text), "The list's lines, as Markdown or without markup."),
        Setting("more", .integer(0...Int.max), "How many elements the list leaves out."),
        Setting("fields", .map(.text), "The fields."),
    ]

    /// The expectations that a test can have of a message.
    static let message: [Setting] =
        [Setting("to", .list(.name), "The receivers.")] + section + [
            Setting("severity", .oneOf(Message.Severity.allCases.map(\.rawValue)), "The severity."),
            Setting(
                "sections", .list(.either([.text, .record(section)])),
                "The sections, each as its title and its lines without markup, or with some of its members."),
            Setting("mentions", .list(.text), "The mentions: `user U123`, `group oncall`."),
            Setting("link", .text, "The link's address."), Setting("thread", .text, "The thread."),
            Setting("update", .boolean, "Whether it replaces the thread's first message."),
            Setting("resolve", .boolean, "Whether it closes what the thread opened."),
        ]

    /// The expectations that a test can have of an action.
    static func arguments(of action: ActionManifest) -> [Setting] {
        if action.isMessage { return message }
        var settings = RuleKeys.arguments(of: action).map { Setting($0.name, expected($0.type), $0.summary) }
        if action.receiver == .named || action.receiver == .namedOrAddress, !settings.contains(where: { $0.name == "to" }) {
            settings.append(Setting("to", .list(.name), "The receivers."))
        }
        return settings
    }

    private static func expected(_ type: SettingType) -> SettingType {
        switch type {
        case .markdown, .expression: .text
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .list, .map, .record, .json, .either:
            type
        }
    }
}
