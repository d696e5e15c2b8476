import BellhopCore
import BellhopRules

extension RuleBook {
    /// These rules for these sources.
    /// - Parameters:
    ///   - hours: those of the calendar `office`.
    ///   - maxKeys: how many keys each rule may remember.
    ///   - quiet: when messages to `chat` are kept back.
    static func test(
        _ rules: String, sources: [ScriptedSource] = [], hours: String = "08:00-17:00",
        maxKeys: Int = RuleRegistration.maxKeys, quiet: QuietEntry? = nil
    ) throws -> RuleBook {
        var context = try RuleContext.test(sources: sources, hours: hours, quiet: quiet)
        context.maxKeys = maxKeys
        return try load([RuleFile.test(rules)], context: context)
    }
}

extension RuleFile {
    static func test(_ rules: String) -> RuleFile { RuleFile(path: "rules/test.yaml", bytes: Array(rules.utf8)) }
}

extension RuleContext {
    /// These sources, with the actions `log`, `notify` (to `chat` and `pager`), `acknowledge` (at `pager`), `emit` (of the type `ping`)
    /// and `comment` (which writes to tasks).
    static func test(sources: [ScriptedSource], hours: String = "08:00-17:00", quiet: QuietEntry? = nil) throws -> RuleContext {
        var chat = RuleContext.ConnectionFacts(name: "chat", kind: "slack", actions: ["notify"], messages: .init(threads: .yes))
        chat.quiet = quiet
        return RuleContext(
            sources: sources.map {
                .init(
                    name: $0.name, kind: "scripted", connection: "snow", schema: $0.schema, scope: $0.scope.id,
                    user: $0.scope.user)
            },
            connections: [
                .init(name: "snow", kind: "servicenow", actions: ["comment"]), chat,
                .init(
                    name: "pager", kind: "pagerduty", actions: ["notify", "acknowledge"],
                    messages: .init(threads: .yes, resolves: .yes)),
            ],
            actions: [
                ActionManifest(
                    kind: "comment", summary: "Leaves a note on a task.", receiver: .taskConnection, shorthand: "text",
                    arguments: [Setting("text", .text, required: true, "The note's text.")], effect: .writes),
                ActionManifest(
                    kind: "log", summary: "Writes a line.", receiver: .local("file"), shorthand: "text",
                    arguments: [
                        Setting("text", .text, required: true, "The line."), Setting("file", .path, "The file to write to."),
                    ]),
                ActionManifest(
                    kind: "notify", summary: "Sends a message.", receiver: .named,
                    arguments: [
                        Setting("to", .list(.name), required: true, "Receivers."), Setting("title", .text, "One line."),
                        Setting("thread", .text, "The conversation."),
                        Setting("resolve", .boolean, default: "false", "Whether it closes the conversation."),
                    ], isMessage: true, expires: .days(1)),
                ActionManifest(
                    kind: "acknowledge", summary: "Acknowledges an alert.", receiver: .named,
                    arguments: [
                        Setting("to", .list(.name), required: true, "Receivers."),
                        Setting("thread", .text, required: true, "The conversation."),
                    ], expires: .days(1)),
                ActionManifest(
                    kind: "emit", summary: "Emits an event.", receiver: .local(nil), shorthand: "type",
                    arguments: [
                        Setting("type", .name, required: true, "The type."), Setting("data", .map(.json), "Its members."),
                    ],
                    emitsEvent: true),
            ], timeZone: .utc, timeZoneName: "UTC",
            zone: { $0 == "Europe/Berlin" ? TimeZoneTable(name: $0, posix: "CET-1CEST,M3.5.0,M10.5.0/3") : nil },
            events: EventCatalogue(
                EventCatalogue.builtIn.definitions + [
                    EventDefinition(EventType("ping"), "something happened", from: .outside, [Setting("task", .text, "")])
                ]),
            calendars: ["office": WorkCalendar(zone: .utc, hours: [try HoursWindow(hours)])])
    }
}

/// A rule that runs for each event of a type.
func logRule(on type: String, as name: String = "tell", more: String = "") -> String {
    """
    rule: \(name)
    on: \(type)
    \(more)
    do: [{log: "\(name): ${{ event.type }} ${{ task.id }}"}]
    """
}
