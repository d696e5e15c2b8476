import BellhopCore
import Testing

@testable import bellhop

@Suite struct StatusPageTests {
    @Test func `the status page shows the waits, counts, groups and escalations of rules`() {
        var status: JSON.Object = Self.status(sources: 1, failing: 0, rules: 1).asObject ?? [:]
        status["waits"] = [
            ["rule": "late", "part": "for", "count": 2, "gathered": 0, "next": "2026-01-05T09:10:00Z"],
            ["rule": "many", "part": "count", "count": 4, "gathered": 0, "next": .null],
            ["rule": "all", "part": "group", "count": 1, "gathered": 3, "next": "2026-01-05T09:05:00Z"],
            ["rule": "up", "part": "escalate", "count": 1, "gathered": 0, "next": "2026-01-05T09:15:00Z"],
        ]
        let lines = StatusPage(status: .object(status), zone: .utc, width: 80).whole.filter { $0.hasPrefix("Rule ") }
        #expect(
            lines == [
                "Rule late waits for 2 keys, the first until 2026-01-05 09:10:00.", "Rule many has counted 4 so far.",
                "Rule all has gathered 3 in 1 group; the first flushes at 2026-01-05 09:05:00.",
                "Rule up escalates 1 task; the next step comes at 2026-01-05 09:15:00.",
            ])
    }

    @Test func `the status page says what a silence covers, and how many deliveries it has kept back`() {
        var status: JSON.Object = Self.status(sources: 1, failing: 0, rules: 1).asObject ?? [:]
        status["silences"] = [
            [
                "id": "0123456789ab", "when": "task.priority > 1", "rules": ["tell", "late"], "receivers": ["ops"],
                "ends": "2026-01-05T09:10:00Z", "by": "ann", "reason": "switch update", "kept": 1, "writes": true,
            ],
            ["id": "ba9876543210", "rules": [], "receivers": [], "ends": "2026-01-05T09:10:00Z", "by": "ann", "kept": 0],
        ]
        let lines = StatusPage(status: .object(status), zone: .utc, width: nil).whole.filter { $0.hasPrefix("Silence ") }
        #expect(
            lines == [
                "Silence 0123456789ab until 2026-01-05 09:10:00, by ann, covers messages and writes of rule tell, late to "
                    + "ops when task.priority > 1, and has kept back 1 delivery: switch update.",
                "Silence ba9876543210 until 2026-01-05 09:10:00, by ann, covers every message, and has kept back 0 deliveries.",
            ])
    }

    @Test func `the status page says when a planned silence begins, and its short form names the first of several`() {
        func silence(_ id: String, _ members: JSON.Object = [:]) -> JSON {
            var silence: JSON.Object = ["id": .string(id), "starts": "2026-01-05T09:10:00Z", "ends": "2026-01-05T10:10:00Z"]
            silence["by"] = "ann"
            silence["active"] = false
            for (name, value) in members { silence[name] = value }
            return .object(silence)
        }
        let status: JSON = [
            "silences": [silence("a", ["reason": "move"]), silence("b", ["problem": "no field"]), silence("c")]
        ]
        let page = StatusPage(status: status, zone: .utc, width: nil)
        let times = "begins 2026-01-05 09:10:00 and ends 2026-01-05 10:10:00, by ann, and covers every message"
        #expect(
            page.whole.filter { $0.hasPrefix("Silence ") } == [
                "Silence a \(times): move.",
                "Silence b \(times), but would keep nothing back because of a mistake.", "Silence c \(times).",
            ])
        let short = page.short(lines: 20)
        #expect(short.filter { $0.hasPrefix("Silence ") } == ["Silence a \(times): move."])
        #expect(short.contains("and 2 more silences begin later: `bellhop status --all`"))
    }

    @Test func `the silences and paused rules that are not listed are counted`() {
        let time: JSON = "2026-01-05T09:10:00Z"
        let silences = (1...12).map { number -> JSON in ["id": .string("\(number)"), "ends": time, "by": "ann"] }
        let pauses = (1...11).map { number -> JSON in ["rule": .string("r\(number)"), "since": time] }
        let status: JSON = ["silences": .array(silences), "paused": .array(pauses)]
        let lines = StatusPage(status: status, zone: .utc, width: nil).whole
        #expect(lines.count { $0.hasPrefix("Silence ") } == 10 && lines.count { $0.hasPrefix("Rule ") } == 10)
        #expect(lines.contains("and 2 more silences are active: `bellhop silence list` lists them."))
        #expect(lines.contains("and 1 more rule is paused: `bellhop status --json` lists them."))
    }

    @Test func `an overdue wait is said to end with the next poll, or once its rule is resumed`() {
        var status: JSON.Object = Self.status(sources: 1, failing: 0, rules: 1).asObject ?? [:]
        status["paused"] = [["rule": "up", "since": "2026-01-05T09:00:00Z", "reason": "x"]]
        status["waits"] = [
            ["rule": "late", "part": "for", "count": 2, "gathered": 0, "next": "2026-01-05T09:10:00Z", "overdue": true],
            ["rule": "up", "part": "escalate", "count": 1, "gathered": 0, "next": "2026-01-05T09:15:00Z", "overdue": true],
        ]
        let lines = StatusPage(status: .object(status), zone: .utc, width: nil).whole.filter { $0.contains(" was due at ") }
        #expect(
            lines == [
                "Rule late waits for 2 keys; the first was due at 2026-01-05 09:10:00, and comes with the agent's next poll.",
                "Rule up escalates 1 task; the next step was due at 2026-01-05 09:15:00, and comes once the rule is resumed.",
            ])
    }

    private static func source(_ number: Int, isFailing: Bool) -> JSON {
        var source: JSON.Object = ["source": .string("source-\(number)"), "tasks": 3, "last_poll": "2026-01-05T07:31:00Z"]
        source["state"] = isFailing ? "failing" : "fine"
        if isFailing {
            source["since"] = "2026-01-05T07:30:00Z"
            source["error"] = "No connection to acme.service-now.com:443: connection refused."
        }
        return .object(source)
    }

    /// A status with this many sources and rules, of which some fail for the same reason.
    private static func status(sources: Int, failing: Int, rules: Int) -> JSON {
        var status: JSON.Object = ["events": 9, "unrouted": 0, "damaged": 0, "agent": .null]
        status["deliveries"] = ["done": 3, "dead": 2]
        status["sources"] = .array((0..<sources).map { source($0, isFailing: $0 >= sources - failing) })
        status["rules"] = .array((0..<rules).map { .object(["rule": .string("rule-\($0)"), "runs": 1, "errors": 0]) })
        status["needs"] = .array((0..<failing).map { .string("The source source-\($0) is failing: no connection.") })
        return .object(status)
    }

    @Test(arguments: [(2, 0, 2), (40, 12, 60), (1, 1, 100), (100, 100, 0)])
    func `the short status fits 24 lines of 80 columns, failures first`(_ sources: Int, _ failing: Int, _ rules: Int) {
        let page = StatusPage(status: Self.status(sources: sources, failing: failing, rules: rules), zone: .utc, width: 80)
        let lines = page.short(lines: 23)
        #expect(lines.count <= 23, "\(lines.joined(separator: "\n"))")
        #expect(lines.allSatisfy { $0.shownWidth <= 80 })
        if failing > 0 {
            let first = lines.first { $0.hasPrefix("source-") }
            #expect(first?.contains("failing") == true)
            #expect(lines[2].hasPrefix("! The source source-0 is failing"))
        }
        #expect(page.needsNoAction == (failing == 0))
    }

    @Test func `the status counts joined deliveries by the state of those that they joined`() {
        var status = Self.status(sources: 0, failing: 0, rules: 0).asObject ?? [:]
        #expect(StatusPage.deliveryCounts(.object(status)) == "3 done, 2 dead")
        status["deliveries"] = ["done": 3, "joined": 42, "dead": 2]
        status["joined"] = ["done": 20, "dead": 21]
        #expect(StatusPage.deliveryCounts(.object(status)) == "3 done, 42 joined (20 done, 21 dead), 2 dead")
    }

    @Test func `a reason shared by several sources is shown once, and sources that work are not listed`() {
        let page = StatusPage(status: Self.status(sources: 5, failing: 3, rules: 2), zone: .utc, width: nil)
        let lines = page.failing
        #expect(lines.count { $0.contains("connection refused") } == 1)
        #expect(lines.contains { $0.hasPrefix("source-2, source-3, source-4: No connection") })
        #expect(!lines.contains { $0.hasPrefix("source-0") || $0.hasPrefix("rule-") })
    }

    @Test func `notices about sources are shown in the short and in the long form of the status`() {
        var status = Self.status(sources: 2, failing: 0, rules: 1).asObject ?? [:]
        let sources = ["snow", "orders"].map { name -> JSON in
            ["source": .string(name), "state": "fine", "notices": ["Comments produce no events.", "Two."]]
        }
        status["sources"] = .array(sources)
        let page = StatusPage(status: .object(status), zone: .utc, width: 80)
        let all = ["snow: Comments produce no events.", "snow: Two.", "orders: Comments produce no events.", "orders: Two."]
        #expect(page.whole.filter { all.contains($0) } == all)
        let short = page.short(lines: 23)
        #expect(short.filter { all.contains($0) } == Array(all.prefix(2)))
        #expect(short.contains("and 2 more: `bellhop status --all`"))
    }

    @Test func `stopped receivers are shown in every form of the status, with details if there is room`() {
        var status = Self.status(sources: 30, failing: 1, rules: 30).asObject ?? [:]
        status["stopped"] = .array(
            (1...4).map { number in
                .object([
                    "receiver": .string("chat-\(number)"), "cause": "rest", "until": "2026-01-05T08:30:05Z",
                    "waiting": .int(Int64(number)),
                    "reason": "chat answers 429 Too Many Requests: slow down, and come back when a minute is over.",
                ])
            })
        let page = StatusPage(status: .object(status), zone: .utc, width: 80)
        let short = page.short(lines: 23)
        #expect(short.count <= 23 && short.allSatisfy { $0.shownWidth <= 80 }, "\(short.joined(separator: "\n"))")
        #expect(short.contains { $0.hasPrefix("chat-1 rests until 2026-01-05 08:30:05, and 1 delivery waits for it:") })
        #expect(short.contains("and 3 more wait: `bellhop status --all`"))
        for lines in [page.whole, page.failing] {
            #expect(lines.contains { $0.hasPrefix("chat-4 rests until 2026-01-05 08:30:05, and 4 deliveries wait for it:") })
            #expect(lines.contains { $0.hasSuffix("a minute is over.") })
        }
    }

    @Test func `beside a receiver that a person paused, the failures do not say that nothing needs a person`() {
        var status: JSON.Object = ["agent": ["pid": 7], "needs": []]
        func failing() -> [String] { StatusPage(status: .object(status), zone: .utc, width: nil).failing }
        #expect(failing().last == "Nothing needs a person.")
        status["stopped"] = [
            ["receiver": "chat", "cause": "person", "since": "2026-01-05T08:30:05Z", "waiting": 1, "reason": "paused by hand"]
        ]
        let paused = "chat has been paused since 2026-01-05 08:30:05, and 1 delivery waits for it: paused by hand."
        #expect(failing().last == paused + " End it: `bellhop resume chat`.")
    }

    @Test func `a health probe lists what people paused, and does not fail for it`() {
        let stops: [JSON] = ["person", "rest"].map { cause in
            [
                "receiver": .string(cause), "cause": .string(cause), "since": "2026-01-05T08:30:05Z", "waiting": 1,
                "reason": "It moves.",
            ]
        }
        let status: JSON = [
            "agent": ["pid": 7], "needs": [], "stopped": .array(stops),
            "paused": [
                ["rule": "full", "since": "2026-01-05T08:30:05Z", "reason": "too many keys", "by_person": false],
                ["rule": "tell", "since": "2026-01-05T08:30:05Z", "reason": "too loud", "by_person": true],
            ],
        ]
        let page = StatusPage(status: status, zone: .utc, width: nil)
        #expect(page.needsNoAction)
        #expect(
            page.needs == [
                "Nothing needs a person.",
                "Rule tell has been paused since 2026-01-05 08:30:05, and sees no events: too loud. End it: `bellhop resume tell`.",
                "person has been paused since 2026-01-05 08:30:05, and 1 delivery waits for it: It moves. End it: `bellhop resume person`.",
            ])
    }

    @Test func `a rule that is turned off is marked`() {
        let status: JSON = ["rules": [["rule": "tell", "runs": 1, "off": true], ["rule": "ask", "runs": 1, "off": false]]]
        let lines = StatusPage(status: status, zone: .utc, width: 80).whole
        #expect(lines.contains { $0.hasPrefix("tell  off    1") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("ask   -      1") })
    }
}
