import BellhopAgent
import BellhopCore
import BellhopRules

extension Operations {
    /// Operations that evaluate rules, on future and on past events.
    static let trials: [Operation] = [
        Operation(
            id: "calendar", method: .get, path: "/calendar", summary: "When schedules are due and messages are kept back next.",
            role: .viewer, parameters: [.init("days", "How many days ahead; 7 by default.", .count(most: 31))],
            content: .json(
                .object([
                    ("due", .list(.object([("rule", .text()), ("at", .time())]))),
                    ("frequent", .list(.object([("rule", .text()), ("schedule", .text("A schedule with many times."))]))),
                    (
                        "quiet",
                        .list(
                            .object(
                                [
                                    ("rule", .text()), ("connection", .text()), ("from", .time()), ("until", .time()),
                                    ("drops", .boolean("Whether messages are dropped instead of waiting.")),
                                ], optional: ["rule", "connection"]))
                    ),
                ]))
        ) { call async throws(Problem) in .json(try await calendar(call, days: Int(call.number("days") ?? 7)).json) },
        Operation(
            id: "explainedTest", method: .get, path: "/explanations/test",
            summary: "A test case for a task's events, or for one event: it expects what the rules did.", role: .operator,
            parameters: [
                .init("task", "A task's number, sys_id or subject."), .init("event", "An event's id or the start of one."),
            ],
            content: .json(
                .object([
                    ("text", .text("For a file beside the rules.")),
                    ("problems", .list(.text("Why the test does not pass yet."))),
                ])), problems: [404, 422]
        ) { call async throws(Problem) in
            let test = try await TestCaseFromEvents(call, task: call.text("task"), event: call.text("event")).test
            return .json(["text": .string(test.text), "problems": .array(test.problems.map { .string($0.rendered()) })])
        },
        Operation(
            id: "previewSilence", method: .post, path: "/silences/preview",
            summary: "The deliveries of the last days that a silence would have kept back.", role: .viewer,
            body: .object(
                silenceMembers + [("since", .text("How far back; 7d by default."))],
                optional: silenceMembers.map(\.0) + ["since"], isOpen: false),
            content: .json(
                .object([
                    ("count", .integer("How many.")), ("deliveries", .list(.named("Delivery"))),
                    ("unknown", .integer("How many more cannot be evaluated, because their event is not stored.")),
                    ("cut", .boolean("Whether some deliveries were not evaluated.")),
                ]))
        ) { call async throws(Problem) in
            guard let span = try? DurationText.parse(call.body["since"]?.asString ?? "7d"), span > .zero, span < .days(3660)
            else { throw Problem(422, "`since` is a span of time such as 7d.") }
            let silence = try SilenceForm(call.body, call).silence
            return .json(try await SilencePreview(silence, since: call.view.clock.now - span, call).json)
        },
    ]

    static func calendar(_ call: Call, days: Int) async throws(Problem) -> RuleCalendar {
        guard let book = call.view.book() else { throw Problem(503, "The rules are not loaded yet: try again.", retryAfter: 1) }
        var next: [String: Timestamp] = [:]
        for rule in try await RuleList(call).rules { next[rule.summary.name] = rule.status["next"]?.asMoment }
        let now = call.view.clock.now
        return book.calendar(now..<now + .days(days), next: next)
    }
}

extension RuleCalendar {
    fileprivate var json: JSON {
        [
            "due": .array(due.map { ["rule": .string($0.rule), "at": .string($0.at.rfc3339)] }),
            "frequent": .array(frequent.map { ["rule": .string($0.rule), "schedule": .string($0.schedule)] }),
            "quiet": .array(
                quiet.map { quiet in
                    var json: JSON.Object = [
                        "from": .string(quiet.from.rfc3339), "until": .string(quiet.until.rfc3339), "drops": .bool(quiet.drops),
                    ]
                    switch quiet.owner {
                    case .rule(let name): json["rule"] = .string(name)
                    case .connection(let name): json["connection"] = .string(name)
                    }
                    return .object(json)
                }),
        ]
    }
}

/// A test case made from stored events: it expects what the rules did for them.
struct TestCaseFromEvents: Sendable {
    let test: ExplainedTest

    /// The most events of other tasks to include, for rules that count or group over tasks.
    private static let maxNeighbours = 500

    /// - Throws: 404 if no event is stored, 422 if a test cannot express it.
    init(_ call: Call, task: String?, event id: String?) async throws(Problem) {
        let asked = try await call.history(task: task, event: id, limit: 50)
        let last = asked.events[asked.events.count - 1]
        var known = [asked]
        if id != nil { known.append(try await call.history(HistoryQuery(task: last.event.subject, limit: 50))) }
        let place = known.flatMap(\.events).map(\.sequence).max() ?? last.sequence
        known.append(try await call.history(HistoryQuery(through: place, limit: Self.maxNeighbours)))
        known[0].takeSilences(try await call.ask(.silences(ended: true)).end)
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        let (facts, files) = (known, ExplanationSearch.files(call.view))
        test = try call.checked { book throws(Diagnostics) in
            try book.explainable(files).explainedTest(of: id == nil ? nil : last, in: facts, files: files)
        }
    }
}
