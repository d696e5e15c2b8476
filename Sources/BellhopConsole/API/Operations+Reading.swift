import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules

extension Operations {
    static let reading: [Operation] = [
        Operation(
            id: "openapi", method: .get, path: "/openapi.json", summary: "This document.", role: .viewer, content: .json(.any())
        ) { call async throws(Problem) in
            .json(OpenAPI.document(all, of: call.view.configuration))
        },
        Operation(
            id: "status", method: .get, path: "/status",
            summary: "The problems that need a person, and the numbers of sources, rules, events and deliveries.",
            role: .viewer,
            content: .json(
                .object([
                    ("needs", .list(.text("A problem that only a person can solve."))), ("sources", .list(.named("Source"))),
                    ("rules", .list(.any())), ("deliveries", .any("How many there are of each state.")),
                    ("events", .integer()), ("unrouted", .integer()), ("agent", .any()),
                ]))
        ) { call async throws(Problem) in .json(try await call.ask(.status).end) },
        Operation(
            id: "sources", method: .get, path: "/sources", summary: "The sources and their states.", role: .viewer,
            content: .json(.object([("sources", .list(.named("Source")))]))
        ) { call async throws(Problem) in .json(["sources": try await call.ask(.status).end["sources"] ?? []]) },
        Operation(
            id: "tasks", method: .get, path: "/tasks", summary: "The tasks that the sources show now.", role: .viewer,
            parameters: [
                .init("source", "Only those of this source."),
                .init("where", "Only tasks for which this condition holds, in the rules' language: `task.priority == 1`."), limit,
                .init("after", "Only tasks after this one: `next` of the previous page."),
            ],
            content: .json(.object([("tasks", .list(.named("Task"))), ("next", .nullable(.text())), failed])), problems: [422]
        ) { call async throws(Problem) in
            let (rows, next, failures) = try await TaskSearch(call).rows(limit: Int(call.number("limit") ?? 100))
            return .json(["tasks": .array(rows), "next": .optional(next), "failed": failures.json])
        },
        Operation(
            id: "task", method: .get, path: "/tasks/{task}",
            summary: "A task by its number or sys_id, in each source that shows it.",
            role: .viewer, content: .json(.object([("tasks", .list(.named("Task")))]))
        ) { call async throws(Problem) in
            let rows = try await call.ask(.tasks(call.path["task"])).rows
            if rows.isEmpty { throw Problem(404, "No source shows a task `\(call.path["task"] ?? "")` now.") }
            return .json(["tasks": .array(rows)])
        },
        Operation(
            id: "events", method: .get, path: "/events", summary: "The events on the bus, newest first.", role: .viewer,
            parameters: filters + [since, limit, before], content: paged("events", "Event", [seen, failed]), problems: [422]
        ) { call async throws(Problem) in
            let limit = Int(call.number("limit") ?? 100)
            return .json(try await EventSearch(call).rows(limit: limit, before: call.number("before")).json("events"))
        },
        Operation(
            id: "liveEvents", method: .get, path: "/events/stream",
            summary: "The events as they happen, as server-sent events. `Last-Event-ID` continues after a broken connection.",
            role: .viewer, parameters: filters + [.init("after", "Begin after this place.", .place)],
            content: .events(
                "Each event has its place as its id, its type, and itself as JSON. An event of the type `\(StreamNote.failures.rawValue)` is a note: "
                    + "`where` failed for `count` events before it, which were left out; `error` is the first error. An event of the type "
                    + "`\(StreamNote.otherBus.rawValue)` says that `Last-Event-ID` belongs to another store; the stream continues at the end of this one."
            ), problems: [422]
        ) { call async throws(Problem) in try EventSearch(call).stream() },
        Operation(
            id: "event", method: .get, path: "/events/{event}", summary: "An event by its id or the start of one.",
            role: .viewer, content: .json(.named("Event")), problems: [409]
        ) { call async throws(Problem) in
            .json(try await one("event", call, .events(EventQuery(id: call.path["event"], limit: 2))))
        },
        Operation(
            id: "rules", method: .get, path: "/rules", summary: "The rules in force, and how often they ran.", role: .viewer,
            content: .json(.object([("rules", .list(.named("Rule")))]))
        ) { call async throws(Problem) in .json(["rules": .array(try await RuleList(call).rules.map(\.json))]) },
        Operation(
            id: "rule", method: .get, path: "/rules/{rule}", summary: "A rule with the text of its file.", role: .viewer,
            content: .json(.named("Rule"))
        ) { call async throws(Problem) in
            let list = try await RuleList(call)
            let rule = try list.rule(call.path["rule"] ?? "")
            var json = rule.json
            json["text"] = list.text(of: rule).map(JSON.string)
            json["stops"] = .array(
                try await list.stops(of: rule).map { verdict, count, last in
                    ["verdict": .string(verdict.rawValue), "count": .int(Int64(count)), "last": .string(last.rfc3339)]
                })
            return .json(json)
        },
        Operation(
            id: "deliveries", method: .get, path: "/deliveries", summary: "The deliveries, newest first.", role: .viewer,
            parameters: [
                .init("state", "Only those in this state.", .word(DeliveryState.allCases.map(\.rawValue)), repeated: true),
                .init("rule", "Only those of this rule."), .init("receiver", "Only those to this connection."),
                .init("event", "Only those that this event led to: its whole id."),
                .init("reason", "Only those that failed for this reason.", .word(Failure.Reason.allCases.map(\.rawValue))),
                .init(
                    "where",
                    "Only deliveries for which this condition holds, in the rules' language, about `delivery`: "
                        + "`delivery.attempts > 2 && delivery.task.title.contains(\"mail\")`."),
                since, limit, before,
            ], content: paged("deliveries", "Delivery", [seen, failed]), problems: [422]
        ) { call async throws(Problem) in
            let limit = Int(call.number("limit") ?? 100)
            return .json(try await DeliverySearch(call).rows(limit: limit, before: call.number("before")).json("deliveries"))
        },
        Operation(
            id: "delivery", method: .get, path: "/deliveries/{delivery}",
            summary: "A delivery by its id or the start of one, with the body of its request.", role: .viewer,
            content: .json(.named("Delivery")), problems: [409]
        ) { call async throws(Problem) in .json(try await delivery(call)) },
        Operation(
            id: "timers", method: .get, path: "/timers", summary: "The timers that come due next.", role: .viewer,
            content: .json(.object([("timers", .list(.named("Timer"))), ("more", .integer("How many others there are."))]))
        ) { call async throws(Problem) in
            let status = try await call.ask(.status).end
            return .json(["timers": status["upcoming"] ?? [], "more": status["later_waits"] ?? 0])
        },
        Operation(
            id: "receivers", method: .get, path: "/receivers", summary: "The connections that get deliveries.", role: .viewer,
            content: .json(.object([("receivers", .list(.named("Receiver")))]))
        ) { call async throws(Problem) in .json(["receivers": .array(try await receivers(call))]) },
        Operation(
            id: "silences", method: .get, path: "/silences", summary: "The active and the future silences.", role: .viewer,
            parameters: [.init("ended", "Also those that ended recently.", .flag)],
            content: .json(.object([("silences", .list(.named("Silence")))]))
        ) { call async throws(Problem) in .json(try await call.ask(.silences(ended: call.flag("ended"))).end) },
        Operation(
            id: "explain", method: .get, path: "/explanations",
            summary: "What the rules did for a task or an event, and why.", role: .viewer,
            parameters: [
                .init("task", "A task's number, sys_id or subject."), .init("event", "An event's id or the start of one."),
                .init("rule", "Only what this rule did."),
                .init("limit", "The most events, the newest; 20 by default.", .count(most: 1000)),
            ], content: .json(.named("Explanation")), problems: [404, 409]
        ) { call async throws(Problem) in .json(try await ExplanationSearch(call).json(isWhole: call.text("rule") != nil)) },
        Operation(
            id: "audit", method: .get, path: "/audit", summary: "The rows of the audit, newest first.", role: .viewer,
            parameters: [limit, before], content: paged("rows", "AuditRow")
        ) { call async throws(Problem) in
            let (rows, next) = try await auditRows(call, limit: call.number("limit") ?? 100, before: call.number("before"))
            return .json(["rows": .array(rows.reversed()), "next": .optional(next)])
        },
    ]

    /// The rows of the audit before a place, oldest first, and the place before which the next page begins; nil at the end.
    static func auditRows(_ call: Call, limit: Int64, before: Int64?) async throws(Problem) -> (rows: [JSON], next: Int64?) {
        let newest = try await call.ask(.audit(AuditQuery(isLast: true))).rows.last?["number"]?.asInt ?? 0
        let last = min(newest, before.map { $0 - 1 } ?? newest)
        if last < 1 { return ([], nil) }
        let query = AuditQuery(after: max(0, last - limit), limit: Int(min(last, limit)))
        // After pruning the query finds later rows, too, and the anchor, which has no entry.
        let rows = try await call.ask(.audit(query)).rows
            .filter { $0["number"]?.asInt ?? 0 <= last && !$0["entry"].textOrEmpty.isEmpty }
        let first = rows.first?["number"]?.asInt ?? 1
        return (rows, Int64(rows.count) == limit && first > 1 ? first : nil)
    }

    private static let filters: [Operation.Parameter] = [
        .init("type", "Only events of this type.", repeated: true),
        .init("source", "Only events of this source.", repeated: true),
        .init("task", "Only events about this task: its number or sys_id."),
        .init("where", "Only events for which this condition holds: an expression as in a rule's `when`."),
    ]

    /// The row with an id, of which the path may give only the start.
    private static func one(_ what: String, _ call: Call, _ inquiry: Inquiry) async throws(Problem) -> JSON {
        let id = call.path[what] ?? ""
        let rows = try await call.ask(inquiry).rows
        guard let row = rows.first(where: { $0["id"]?.asString == id }) ?? rows.first else {
            throw Problem(unstored: what, id)
        }
        guard rows.count == 1 || row["id"]?.asString == id else { throw Problem(ambiguous: id) }
        return row
    }

    static func delivery(_ call: Call) async throws(Problem) -> JSON {
        try await one("delivery", call, .deliveries(DeliveryQuery(id: call.path["delivery"], limit: 2)))
    }

    static func receivers(_ call: Call) async throws(Problem) -> [JSON] {
        let status = try await call.ask(.status).end
        let stopped = status["stopped"].elements
        let undecided = status["undecided"].elements
        let query = DeliveryQuery(states: [.available, .waiting, .running, .quiet], limit: maxRows)
        let open = try await call.ask(.deliveries(query)).rows
        let waiting = open.reduce(into: [:]) { $0[$1["receiver"].textOrEmpty, default: 0] += 1 as Int64 }
        return call.view.connections.map { name, kind in
            let mine = undecided.filter { $0["receiver"]?.asString == name }
            return [
                "receiver": .string(name), "kind": .string(kind), "rate": .optional(call.view.rates[name]),
                "stopped": stopped.first { $0["receiver"]?.asString == name } ?? .null,
                "waiting": .int(waiting[name] ?? 0), "more_wait": .bool(open.count == maxRows),
                "undecided": .int(mine.reduce(0) { $0 + ($1["count"]?.asInt ?? 0) }),
            ]
        }
    }
}
