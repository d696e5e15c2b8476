import BellhopCore
import BellhopRules

/// The configuration that rules are tested with: two sources on one instance, receivers, and the built-in actions.
enum Fixture {
    static let start = Timestamp(seconds: 1_767_603_600)  // 2026-01-05T09:00:00Z, a Monday
    static let scope = Scope.ID(text: "scope-my-work")
    static let incidentScope = Scope.ID(text: "scope-incidents")

    static let roles = TaskSchema.Roles(
        bookkeeping: ["sys_updated_on"], created: "sys_created_on", title: "short_description", className: "sys_class_name",
        customPrefixes: ["u_", "x_"])

    /// The assumed schema of tasks without a configuration.
    static let assumed = TaskSchema(
        [
            .init("number", .text), .init("short_description", .text), .init("sys_class_name", .text), .init("priority", .int),
            .init("urgency", .int), .init("impact", .int), .init("state", .int), .init("active", .bool),
            .init("assigned_to", .text, holdsID: true), .init("assignment_group", .text, holdsID: true),
            .init("opened_by", .text, holdsID: true), .init("opened_at", .timestamp), .init("due_date", .timestamp),
            .init("sys_created_on", .timestamp), .init("sys_updated_on", .timestamp),
        ], roles: roles)

    static let schema = TaskSchema(
        [
            .init("number", .text), .init("short_description", .text), .init("sys_class_name", .text), .init("priority", .int),
            .init("urgency", .int), .init("impact", .int), .init("state", .int), .init("active", .bool),
            .init("assigned_to", .text, holdsID: true),
            .init("assignment_group", .text, holdsID: true), .init("due_date", .timestamp), .init("created", .timestamp),
            .init("cost", .double),
            .init("url", .text), .init("parent", .text),
        ], roles: roles)
    static let incidentSchema = TaskSchema([
        .init("number", .text), .init("priority", .int), .init("state", .int), .init("assigned_to", .text), .init("cost", .text),
    ])

    static func context(isOpen: Bool = false) -> RuleContext {
        var context = RuleContext(
            sources: isOpen
                ? []
                : [
                    .init(name: "my-work", kind: "tracker", connection: "snow", schema: schema, scope: scope, user: "john.doe"),
                    .init(
                        name: "incidents", kind: "table", connection: "snow", schema: incidentSchema, scope: incidentScope,
                        user: "john.doe"),
                ],
            connections: isOpen
                ? []
                : [
                    .init(name: "snow", kind: "servicenow", actions: ["comment"], logins: .loginEvent),
                    .init(name: "ops", kind: "slack", actions: ["notify"]),
                    .init(name: "chat", kind: "slack", actions: ["notify"]),
                    .init(
                        name: "forum", kind: "discord", actions: ["notify"],
                        messages: .init(
                            threads: .setting("channel", values: ["forum"], line: "channel: forum"), mentions: .yes,
                            mentionForms: "write the number of a user or role")),
                    .init(name: "hook", kind: "webhook", actions: ["webhook"]),
                    .init(name: "inner", kind: "webhook", actions: ["webhook"], allowsPrivate: true),
                    .init(
                        name: "board", kind: "teams", actions: ["notify"],
                        messages: .init(mentions: .yes, mentionForms: "write a user's address", mentionsGroups: false)),
                    .init(name: "pager", kind: "pagerduty", actions: ["notify"], messages: .init(threads: .yes)),
                ],
            actions: actions, timeZone: .utc, timeZoneName: "UTC", zone: { zones[$0] }, assumed: isOpen ? assumed : nil,
            queryHint: { text, _ in text.contains("^") ? ("this is a query", "write it elsewhere") : nil },
            calendars: isOpen ? nil : ["office": office])
        context.canMention = { mention, kind in
            switch kind {
            case "discord": mention == .user("123456789012345678")
            case "teams": mention != .group("ops")
            default: true
            }
        }
        return context
    }

    /// Mondays to Fridays from 8 to 12 and from 13 to 17:30 in UTC.
    private static let office: WorkCalendar = {
        let days = Set(Weekday.allCases).subtracting([.saturday, .sunday])
        return WorkCalendar(
            zone: .utc, hours: ["08:00-12:00", "13:00-17:30"].compactMap { try? HoursWindow($0, days: days) })
    }()

    /// Berlin by its POSIX rule, so that the tests need no system files.
    static let zones: [String: TimeZoneTable] = {
        var zones = ["UTC": TimeZoneTable.utc]
        zones["Europe/Berlin"] = TimeZoneTable(name: "Europe/Berlin", posix: "CET-1CEST,M3.5.0,M10.5.0/3")
        return zones
    }()

    static let actions: [ActionManifest] = [
        ActionManifest(
            kind: "comment", summary: "Leaves a note on a task.", receiver: .taskConnection, shorthand: "text",
            arguments: [
                Setting("text", .text, required: true, "The note's text."),
                Setting("visibility", .oneOf(["internal", "customer"]), default: "internal", "Who reads it."),
                Setting("task", .text, "Another task than the event's."),
            ], effect: .writes),
        ActionManifest(
            kind: "log", summary: "Writes a line.", receiver: .local("file"), shorthand: "text",
            arguments: [
                Setting("text", .text, required: true, "The line."),
                Setting("level", .oneOf(["debug", "info", "warning", "error"]), default: "info", "How grave."),
                Setting("file", .path, "The file to write to."),
                Setting("format", .oneOf(["text", "json"]), "The format of the line."), Setting("fields", .map(.json), "More."),
            ]),
        ActionManifest(
            kind: "webhook", summary: "Calls an address.", receiver: .namedOrAddress,
            arguments: [
                Setting("url", .address, "The address."), Setting("to", .name, "A connection."),
                Setting("allow_private", .boolean, "Whether it may be private."),
                Setting("method", .oneOf(["GET", "POST", "PUT"]), default: "POST", "The method."),
                Setting("headers", .map(.text), "Headers."), Setting("query", .map(.text), "Query."),
                Setting("json", .json, "The body."), Setting("text", .text, "The body as text."),
                Setting("timeout", .duration, "How long to wait."),
                Setting("expect", .list(.integer(100...599)), "Statuses that count."),
            ], retry: .days, exclusive: [["json", "text"]]),
        ActionManifest(
            kind: "notify", summary: "Sends a message.", receiver: .named,
            arguments: [
                Setting("to", .list(.name), required: true, "Receivers."), Setting("title", .text, "One line."),
                Setting("text", .markdown, "More."), Setting("list", list, "Lines."),
                Setting("severity", .oneOf(["info", "warning", "error", "critical"]), "How grave."),
                Setting(
                    "link",
                    .either([.address, .record([Setting("address", .address, "Where."), Setting("label", .text, "Its text.")])]),
                    "A link."), Setting("fields", .map(.text), "Facts."),
                Setting(
                    "sections",
                    .list(
                        .record([
                            Setting("title", .text, "One line."), Setting("text", .markdown, "More."),
                            Setting("list", list, "Lines."), Setting("fields", .map(.text), "Facts."),
                        ])), "Parts."),
                Setting("skip_empty", .boolean, default: "false", "Whether nothing is sent without lines."),
                Setting(
                    "mentions", .list(.record([Setting("user", .text, "A user."), Setting("group", .text, "A group.")])),
                    "People."), Setting("thread", .text, "A thread."), Setting("update", .boolean, default: "false", "Replaces."),
                Setting("resolve", .boolean, default: "false", "Closes."),
            ], isMessage: true, expires: .days(1)),
    ]

    private static let list = SettingType.record([
        Setting("of", .expression, required: true, "A list."), Setting("as", .name, required: true, "A name."),
        Setting("item", .markdown, required: true, "A line."), Setting("max", .integer(1...1000), "How many."),
        Setting("empty", .markdown, "The text for an empty list."),
    ])

    static func book(_ text: String, isOpen: Bool = false) throws(Diagnostics) -> RuleBook {
        try book(text, in: context(isOpen: isOpen))
    }

    static func book(_ text: String, in context: RuleContext) throws(Diagnostics) -> RuleBook {
        try RuleBook.load([RuleFile("rules/test.yaml", text)], context: context)
    }

    /// The results of a file of tests for a file of rules.
    static func results(
        _ tests: String, of rules: String, in context: RuleContext = Fixture.context()
    ) throws(Diagnostics) -> [RuleTestResult] {
        try RuleTests.run(
            [RuleFile("rules/r.test.yaml", tests)], rules: [RuleFile("rules/r.yaml", rules)], context: context)
    }

    /// The messages of failed tests; if the files have mistakes, the codes and messages of these.
    static func problems(_ tests: String, of rules: String) -> [String] {
        do throws(Diagnostics) {
            return try results(tests, of: rules).flatMap(\.problems).map(\.message)
        } catch {
            return error.all.map { "\($0.code): \($0.message)" }
        }
    }

    /// The problems of one test of these rules.
    static func problems(of rules: String, given: String, expect: String) -> [String] {
        problems("tests:\n  - name: t\n    given: \(given)\n    expect: \(expect)\n", of: rules)
    }

    /// The warnings about these rules, or all problems if there is an error.
    static func findings(_ text: String, in context: RuleContext = Fixture.context()) -> [Diagnostic] {
        do throws(Diagnostics) {
            return try book(text, in: context).warnings
        } catch {
            return error.all
        }
    }

    /// The diagnostics that `bellhop check` would print for these rules.
    static func diagnostics(_ text: String) -> String { findings(text).map { $0.rendered() }.joined(separator: "\n") }

    static func task(
        _ id: String = "a1", number: String = "INC0010021", title: String = "My computer doesn't work",
        class className: String = "incident", fields: JSON.Object = [:], labels: JSON.Object = [:]
    ) -> Snapshot {
        Snapshot(
            key: TaskKey(id), number: number, title: title, type: "Incident", className: className,
            url: "https://acme.service-now.com/task.do?sys_id=\(id)", fields: fields, labels: labels)
    }

    static func event(
        _ type: EventType = .taskCreated, _ task: Snapshot? = task(), source: String = "my-work", data: JSON.Object = [:],
        id: String = "e1", hop: Int = 0
    ) -> Event {
        var data = data
        if let task { data["task"] = task.json(source: source) }
        return Event(
            id: Event.ID(id), type: type, source: source, subject: task.map { "acme/\($0.key.text)" } ?? source, time: start,
            data: data, hop: hop)
    }

    /// A change of a field, as the engine reports it.
    static func changed(_ task: Snapshot, from before: Snapshot, id: String = "e1") -> Event {
        var changes = JSON.Object()
        if let fields = Change(from: before, to: task, ignoring: [])?.fields {
            for field in fields { changes[field.field] = ["from": field.from, "to": field.to] }
        }
        return event(.taskChanged, task, data: ["before": before.json(source: "my-work"), "changes": .object(changes)], id: id)
    }
}

extension RuleFile { init(_ path: String, _ text: String) { self.init(path: path, bytes: Array(text.utf8)) } }

extension RuleBook {
    /// Fires the timer of a rule's schedule.
    func fire(_ rule: String, due: Timestamp, at now: Timestamp) -> Routing {
        decide(match([RuleTimer(.init(rule: rule, kind: .schedule), due: due)]), RoutingFacts(state: [:], tasks: [:]), at: now)
            .complete
    }

    /// Decides a batch of events with these tasks and an empty state.
    func decide(
        _ events: [StoredEvent], tasks: [Scope.ID: [Snapshot]] = [:], silences: SilenceBook = .empty,
        at now: Timestamp = Fixture.start
    ) -> Routing {
        decide(match(events, since: [:]), RoutingFacts(state: [:], tasks: tasks), silences: silences, at: now).complete
    }

    /// Routes events as the engine does, with this state and these tasks.
    func route(
        _ events: [Event], state: RuleState = [:], tasks: [Scope.ID: [Snapshot]] = [:], at now: Timestamp = Fixture.start,
        since: [String: Int64] = [:]
    ) -> Routing {
        let stored = events.enumerated().map { StoredEvent(sequence: Int64($0 + 1), event: $1) }
        let matches = match(stored, since: since)
        var facts = RoutingFacts()
        var needs = matches.needs
        while true {
            var read: RuleState = [:]
            for key in needs.state {
                read[key] = state[key]
                for (piece, value) in state.window(key) { read[piece] = value }
            }
            facts.add(needs, state: read, tasks: tasks.filter { needs.scopes.contains($0.key) }, events: [], present: [:])
            switch decide(matches, facts, at: now) {
            case .routing(let routing): return routing
            case .needs(let more): needs = more
            }
        }
    }
}

extension Routing {
    /// The next due time of its only timer.
    var next: Timestamp? {
        guard timers.count == 1, case .set(let timer) = timers[0] else { return nil }
        return timer.due
    }
}

extension Delivery {
    /// Why it is dead from the start; nil if it is not.
    var death: Failure? { if case .dead(let failure) = initial { failure } else { nil } }

    /// The delivery on one line, for comparing it as a whole.
    var line: String {
        let arguments =
            switch arguments {
            case .values(let values): JSON.object(values).text(.sorted)
            case .message(let message): message.markdown
            }
        let state =
            switch initial {
            case .available: ""
            case .shadow: " (shadow)"
            case .done(let receipt): " (done: \(receipt.summary))"
            case .silenced(let silence): " (silenced by \(silence))"
            case .quiet: " (quiet until \(runAt.rfc3339))"
            case .dropped(let failure): " (dropped: \(failure.message))"
            case .dead(let failure): " (dead, \(failure.reason.rawValue): \(failure.message))"
            }
        return "\(id.rule)/\(id.step.text) \(action) → \(id.receiver): \(arguments)\(state)"
    }
}
