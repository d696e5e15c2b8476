import BellhopAgent
import BellhopCore

/// The OpenAPI 3.1 document of the API, made from its operations.
enum OpenAPI {
    static let schemas: [String: Schema] = [
        "Problem": .object(
            [
                ("type", .text()), ("title", .text("The same for all problems with this status.")), ("status", .integer()),
                ("detail", .text("What happened and what to do.")), ("problems", .list(.named("Diagnostic"))),
            ], optional: ["problems"]),
        "Event": .object(
            [
                ("specversion", .text()), ("id", .text()), ("type", .text("Such as `task_created`.")),
                ("source", .text("The source that it comes from.")), ("subject", .text()), ("time", .time()),
                ("sequence", .integer("The place on the bus.")), ("data", .any("What the event says.")),
            ], optional: ["subject"]),
        "Delivery": .object(
            [
                ("id", .text()), ("state", .word(DeliveryState.allCases.map(\.rawValue))), ("rule", .text()), ("step", .text()),
                ("action", .text()), ("receiver", .text()), ("occasion", .text()), ("attempts", .integer()),
                ("created", .time()), ("next", .time("The next attempt.")), ("finished", .nullable(.time())),
                ("joined", .any("Of a joined one: the `delivery` that has its message as a line, and that one's `state`.")),
                ("task", .any()), ("error", .any()), ("arguments", .any()), ("message", .any()), ("request", .any()),
            ], optional: ["joined", "task", "error", "arguments", "message", "request"]),
        "Source": .object([
            ("source", .text()), ("kind", .text()), ("scope", .text()), ("instance", .text()), ("user", .text()),
            ("state", .word(SourceState.allCases.map(\.rawValue))), ("tasks", .integer()),
            ("last_poll", .nullable(.time())), ("failures", .integer()), ("error", .nullable(.text())),
            ("notices", .list(.text("What the agent cannot do with it, such as read comments."))),
        ]),
        "Task": .object([
            ("scope", .text("The source's query on the remote system.")), ("task", .any("The task, as rules see it.")),
        ]),
        "Rule": .object(
            [
                ("rule", .text()), ("file", .text()), ("line", .integer()), ("description", .nullable(.text())),
                ("types", .list(.text())), ("sources", .list(.text())), ("mode", .word(["live", "shadow", "canary", "off"])),
                ("schedule", .nullable(.text())), ("actions", .list(.text())), ("runs", .integer()), ("errors", .integer()),
                ("error", .nullable(.text())), ("last_run", .nullable(.time())), ("next", .nullable(.time())),
                ("paused", .boolean()), ("text", .text("The text of its file.")),
                (
                    "stops",
                    .list(
                        .object([
                            ("verdict", .text("Why it stopped or waited in the last 24 hours.")), ("count", .integer()),
                            ("last", .time()),
                        ]))
                ),
            ], optional: ["text", "stops"]),
        "Receiver": .object([
            ("receiver", .text()), ("kind", .text()), ("stopped", .nullable(.any("Why it gets no deliveries now."))),
            ("rate", .nullable(.text("How many requests it takes: `20/s`."))),
            ("waiting", .integer("How many of its deliveries are still to be made, among the newest 1,000.")),
            ("more_wait", .boolean("Whether there are more than 1,000 open deliveries.")),
            ("undecided", .integer("How many of its deliveries wait for a person.")),
        ]),
        "Timer": .object([
            ("due", .time()), ("rule", .text()), ("kind", .text("What waits: `for`, `group`, `none`, `escalate`, …")),
            ("key", .text()), ("subject", .nullable(.text())),
        ]),
        "Silence": .object(
            [
                ("id", .text()), ("starts", .time()), ("ends", .time()), ("active", .boolean()),
                ("problem", .text("The mistake in its condition, because of which it keeps nothing back.")),
            ], optional: ["problem"]),
        "AuditRow": .object([
            ("number", .integer()), ("at", .integer("Microseconds since 1970.")),
            ("entry", .text("A JSON object, as it was hashed.")), ("hash", .text()),
        ]),
        "Explanation": .object([
            ("cut", .boolean("Whether there are earlier events.")),
            ("events", .list(.any("An event, what each of its `rules` did and why, and the ids of those that it `caused`."))),
            ("others", .list(.any("A delivery for the task that a timer made, if no event here began it."))),
            ("caused", .list(.any("An event that these runs emitted."))),
            ("rules_loaded", .boolean("Whether the rules load; otherwise only recorded facts are known.")),
        ]),
        "BackTest": .object(
            [
                ("id", .text()), ("state", .word(BackTestJobs.Job.State.allCases.map(\.rawValue))),
                ("progress", .number("How much is done, from 0 to 1.")), ("about", .text("The rules or files that count.")),
                ("since", .text("How far back it looks.")), ("by", .text("Who asked for it.")), ("asked", .time()),
                ("finished", .nullable(.time())), ("problem", .nullable(.text("Why there is no report."))),
                (
                    "report",
                    .nullable(
                        .any(
                            "What the rules would have done. Lists have at most \(BackTestJobs.maxInList) members; `cut` is there, and true, if one had more."
                        ))
                ),
            ], optional: ["report"]),
        "RuleFile": .object([("file", .text()), ("text", .text()), ("editable", .boolean("Whether you may save it."))]),
        "Diagnostic": .object(
            [
                ("severity", .word(["error", "warning", "note"])), ("code", .text()), ("message", .text()), ("file", .text()),
                ("line", .integer()), ("column", .integer()), ("length", .integer()), ("help", .text("What to do.")),
                ("excerpt", .text("The line with the mistake, in answers about a condition.")),
                ("corrected", .list(.text("A corrected line."))), ("details", .list(.text("An explanation."))),
            ], optional: ["file", "line", "column", "length", "help", "excerpt", "corrected", "details"]),
        "TestResult": .object([
            ("file", .text()), ("line", .integer()), ("name", .text()), ("passed", .boolean()),
            ("problems", .list(.named("Diagnostic"))),
        ]),
        "Coverage": .object([
            ("file", .text()), ("percent", .integer("The covered part.")),
            (
                "points",
                .list(
                    .object([
                        ("line", .integer()), ("column", .integer()), ("kind", .word(["rule", "condition", "step", "template"])),
                        ("text", .text()), ("missing", .nullable(.word(["not_met", "never_true", "never_false"]))),
                    ]))
            ),
            ("events", .integer("How many events went through the rules.")),
            ("since", .nullable(.time("When the first of them was."))),
        ]),
        "Form": .object([
            ("delivery", .named("Delivery")), ("text", .text("The arguments, as a text to edit.")),
        ]),
        "Changed": .object([("changed", .boolean("Whether anything changed."))]),
        "ChangedCount": .object([
            ("changed", .integer("How many changed.")), ("deliveries", .list(.text("Their ids."))),
            ("refused", .integer("How many did not, because their state does not allow it.")),
        ]),
    ]

    static func document(_ operations: [Operation], of console: ConsoleConfiguration) -> JSON {
        var paths: JSON.Object = [:]
        for operation in operations {
            var path = paths[operation.path]?.asObject ?? [:]
            path[operation.method.rawValue.lowercased()] = self.json(operation)
            paths[operation.path] = .object(path)
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Bellhop", "version": .string(BellhopVersion.text),
                "description": "The data of a running agent, and the acts of people on it.",
            ],
            "servers": [["url": .string((console.publicURL ?? "") + "/api/v1")]],
            "security": [["token": []], ["session": []]],
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "token": ["type": "http", "scheme": "bearer"],
                    "session": ["type": "apiKey", "in": "cookie", "name": .string(console.sessionCookie)],
                ],
                "schemas": .object(
                    JSON.Object(schemas.keys.sorted().map { ($0, schemas[$0]?.json ?? [:]) })),
            ],
        ]
    }

    private static func json(_ operation: Operation) -> JSON {
        var parameters: [JSON] = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            ["name": .string(String($0.dropFirst().dropLast())), "in": "path", "required": true, "schema": ["type": "string"]]
        }
        for parameter in operation.parameters {
            let schema = parameter.type.schema
            parameters.append([
                "name": .string(parameter.name), "in": "query", "description": .string(parameter.about),
                "schema": parameter.isRepeated ? ["type": "array", "items": schema] : schema,
            ])
        }
        if operation.ifMatch != .none {
            parameters.append([
                "name": "If-Match", "in": "header", "required": .bool(operation.ifMatch == .required),
                "description": "The `ETag` of the text that was read: the change is refused if the text has changed since.",
                "schema": ["type": "string"],
            ])
        }
        var json: JSON.Object = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
            "description": .string("Needs the role `\(operation.role.rawValue)`."), "parameters": .array(parameters),
        ]
        if let body = operation.body {
            let isRequired = if case .any = body { true } else { body.complaint(about: [:], named: schemas) != nil }
            json["requestBody"] = ["required": .bool(isRequired), "content": ["application/json": ["schema": body.json]]]
        }
        var answers: JSON.Object = [
            String(operation.success): ["description": "Done.", "content": .object(content(operation.content))]
        ]
        if operation.method == .get, case .json = operation.content { answers["304"] = ["description": "Not changed."] }
        for status in problems(of: operation) {
            answers[String(status)] = [
                "description": .string(Problem.titles[status] ?? ""),
                "content": ["application/problem+json": ["schema": Schema.named("Problem").json]],
            ]
        }
        json["responses"] = .object(answers)
        return .object(json)
    }

    /// The statuses of problems that an operation may answer with.
    static func problems(of operation: Operation) -> [Int] {
        var all: Set<Int> = [400, 401, 403, 429, 503]
        all.formUnion(operation.problems)
        if operation.body != nil { all.formUnion([413, 415, 422]) }
        if operation.path.contains("{") { all.insert(404) }
        if operation.role != .viewer { all.insert(409) }
        return all.sorted()
    }

    private static func content(_ content: Operation.Content) -> JSON.Object {
        switch content {
        case .json(let schema): ["application/json": ["schema": schema.json]]
        case .events(let about): ["text/event-stream": ["schema": ["type": "string", "description": .string(about)]]]
        case .lines: ["application/x-ndjson": ["schema": ["type": "string"]]]
        }
    }
}
