import BellhopAgent
import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConsole

@Suite struct `Searching tasks and deliveries` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    @Test func `the audit is read page by page to its oldest row, also after pruning`() async throws {
        func act() async throws {
            for _ in 0..<2 {
                _ = try await fixture.view.ask(.pause(.writes, reason: "now"))
                _ = try await fixture.view.ask(.resume(.writes))
            }
        }
        try await act()
        await fixture.clock.jump(to: fixture.clock.now + .days(500))
        try await act()
        _ = try await fixture.store.prune(Retention(), at: fixture.clock.now)
        // Row 10 says that the rows up to 5 were pruned.
        let rows = await fixture.rows(of: "rows", "/audit?limit=2")
        #expect(rows.map { $0["number"]?.asInt } == [10, 9, 8, 7, 6])
    }

    @Test func `a page without a condition is followed by another also if some of its events cannot be read`() {
        let rows: [JSON] = [["id": "b", "sequence": 7], ["id": "c", "sequence": 8]]
        let page = SearchPage(newest: rows, unreadable: 1, limit: 3, place: "sequence")
        #expect(page.rows.map { $0["id"]?.asString ?? "" } == ["c", "b"] && page.next == 7 && page.seen == 3)
        #expect(SearchPage(newest: rows, limit: 3, place: "sequence").next == nil)
    }

    @Test func `deliveries are found by a condition of the rules, page by page`() async throws {
        _ = try await fixture.happen((0..<25).map { $0 % 5 == 0 ? "Mail \($0)" : "Printer \($0)" })
        func titles(_ when: String, limit: Int = 100) async -> [String] {
            await fixture.rows(of: "deliveries", "/deliveries?limit=\(limit)&where=" + PercentEncoding.encode(when))
                .compactMap { $0["message"]?["title"]?.asString }
        }
        let mails = ["Mail 20", "Mail 15", "Mail 10", "Mail 5", "Mail 0"]
        #expect(await titles("delivery.text.contains('Mail')") == mails)
        #expect(await titles("delivery.text.contains('Mail')", limit: 2) == mails)
        #expect(await titles("delivery.state == 'dead'").isEmpty)
        #expect(await titles("delivery.attempts == 0 && delivery.created <= now && delivery.error == null").count == 25)
        #expect(await titles("delivery.error.reason == 'timeout'").isEmpty)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/deliveries?where=" + PercentEncoding.encode("delivery.text.contains('Mail')")).text
        #expect(page.matches(of: /<tr><td data-label/).count == 5)
    }

    @Test func `tasks are found by a condition of the rules, page by page`() async throws {
        try await fixture.show((0..<9).map { "Task \($0)" })
        func numbers(_ when: String, limit: Int = 100) async -> [String] {
            await fixture.rows(of: "tasks", "/tasks?limit=\(limit)&where=" + PercentEncoding.encode(when), from: "after")
                .compactMap { $0["task"]?["number"]?.asString }
        }
        let found = ["INC3", "INC4", "INC5", "INC6", "INC7", "INC8"]
        #expect(await numbers("int(task.number.substring(3)) > 2") == found)
        #expect(await numbers("int(task.number.substring(3)) > 2", limit: 2) == found)
        #expect(await numbers("task.title == 'Task 4' && source == 'incidents'").isEmpty)
        #expect(await numbers("task.title == 'Task 4'") == ["INC4"])
        let whole = await fixture.api("GET", "/tasks?limit=9").json
        #expect(whole["tasks"]?.asArray?.count == 9 && whole["next"] == .null)
    }

    @Test func `a page of tasks reads only the sources that have tasks after the page before`() {
        func source(_ name: String, _ scope: String, _ tasks: Int64 = 1) -> JSON {
            ["source": .string(name), "scope": .string(scope), "tasks": .int(tasks)]
        }
        let status: JSON = [
            "sources": [source("a", "1"), source("a", "2"), source("a-b", "3"), source("b", "4"), source("none", "5", 0)]
        ]
        func names(named name: String? = nil, after: String = "") -> [String] {
            TaskSearch.sources(status, named: name, after: after).map(\.name)
        }
        #expect(names() == ["a-b", "a", "b"])
        #expect(names(after: "a-b/t") == ["a-b", "a", "b"])
        #expect(names(after: "a/t") == ["a", "b"])
        #expect(names(after: "b/t") == ["b"])
        #expect(names(named: "a", after: "a/t") == ["a"] && names(named: "none").isEmpty)
        #expect(TaskSearch.sources(status, named: "a", after: "").first?.scope == Scope.ID(text: "1"))
    }

    @Test func `tasks without a number are found page by page, and shown with their id`() async throws {
        try await fixture.show((0..<9).map { "Page \($0)" }, numbered: false)
        let found = await fixture.rows(of: "tasks", "/tasks?limit=2", from: "after")
        #expect(found.map { $0["task"]?["id"]?.asString } == (0..<9).map { "key\($0)" })
        let browser = try await fixture.logIn(as: .viewer)
        #expect(await browser.get("/tasks").text.contains("href=\"/tasks/key3\">key3</a>"))
        #expect(await browser.get("/tasks/key3").text.contains("Page 3"))
    }

    @Test func `the API and the page show for how many rows a condition failed, with the first reason`() async throws {
        _ = try await fixture.happen(["7", "Printer", "Mail", "8"])
        try await fixture.show(["7", "Printer", "Mail", "8"])
        let browser = try await fixture.logIn(as: .viewer)
        for (path, when) in [
            ("/events", "int(task.title) > 2"), ("/tasks", "int(task.title) > 2"),
            ("/deliveries", "int(delivery.text.substring(0, 1)) > 2"),
        ] {
            let target = path + "?where=" + PercentEncoding.encode(when)
            let answer = await fixture.api("GET", target).json
            let error = answer["failed"]?["error"]?.asString ?? ""
            #expect(answer["failed"]?["count"] == 2 && error.contains("int"), "\(path): \(answer)")
            let page = await browser.get(target).text
            #expect(page.contains("because the condition failed: 2. " + ("\(error)" as HTML).text), "\(path)")
            #expect(await fixture.api("GET", path).json["failed"] == .null)
            // The next page looks at the others, each once.
            let first = await fixture.api("GET", target + "&limit=1").json
            let next =
                first["next"]?.asInt.map { "&before=\($0)" } ?? "&after=" + PercentEncoding.encode(first["next"].textOrEmpty)
            let rest = await fixture.api("GET", target + next).json
            #expect((first["failed"]?["count"]?.asInt ?? 0) + (rest["failed"]?["count"]?.asInt ?? 0) == 2, "\(path)")
        }
    }

    @Test func `a wrong condition is explained, in the API and on the page`() async throws {
        let browser = try await fixture.logIn(as: .viewer)
        for (path, wrong, meant) in [
            ("/deliveries", "delivery.sate == 'dead'", "`state`"), ("/deliveries", "delivry.state == 'dead'", "`delivery`"),
            ("/tasks", "tsk.title == 'x'", "`task`"),
        ] {
            let target = path + "?where=" + PercentEncoding.encode(wrong)
            let answer = await fixture.api("GET", target)
            #expect(answer.status == 422 && answer.json["detail"]?.asString?.contains(meant) == true, "\(wrong): \(answer.json)")
            let page = await browser.get(target)
            #expect(page.status == 200 && page.text.contains("role=\"alert\"") && page.text.contains(meant))
        }
    }
}

@Suite struct `Calendar, previews and explanations` {
    @Test func `the calendar shows when schedules are due and messages are kept back`() async throws {
        let rule = """
            rule: morning
            on: {schedule: "30 8 * * MON-FRI"}
            quiet: {hours: "22:00-07:00"}
            do:
              - notify: {to: ops, text: "Good morning"}
            ---
            rule: often
            on: {every: 5m}
            do:
              - log: {text: "."}
            """
        let fixture = try await ConsoleFixture(rule: rule)
        let calendar = await fixture.api("GET", "/calendar?days=3").json
        // The clock shows Monday, 5 January 2026, 09:00.
        #expect(
            calendar["due"]?.asArray?.compactMap { $0["at"]?.asString } == [
                "2026-01-06T08:30:00.000000Z", "2026-01-07T08:30:00.000000Z", "2026-01-08T08:30:00.000000Z",
            ])
        #expect(calendar["frequent"] == [["rule": "often", "schedule": "every 5m"]])
        let quiet = calendar["quiet"]?.asArray ?? []
        #expect(
            quiet.count == 3 && quiet[0]["from"] == "2026-01-05T22:00:00.000000Z"
                && quiet[0]["until"] == "2026-01-06T07:00:00.000000Z")
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/calendar").text
        #expect(page.contains("<h2>2026-01-06</h2>") && page.contains("every 5m") && page.contains("messages wait"))
    }

    @Test func `the page previews a silence at an address with what was entered, and without the form's token`() async throws {
        let fixture = try await ConsoleFixture()
        _ = try await fixture.happen(["Printer", "Mail"])
        let browser = try await fixture.logIn(as: .operator)
        let entered = [("for", "2h"), ("when", "task.title == 'Printer'"), ("reason", "loud")]
        let asked = await browser.post("/silences", entered + [("rule", ""), ("preview", "true")])
        let place = try #require(asked.field("Location"))
        #expect(asked.status == 303 && place == "/silences?" + PercentEncoding.query(entered))
        let page = await browser.get(place).text
        #expect(page.contains("in the last 7 days: 1</h2>") && page.contains("value=\"loud\""), "\(page)")
        #expect(await browser.get("/silences?for=4h").text.contains("in the last 7 days: 2</h2>"))
        #expect(await !browser.get("/silences").text.contains("in the last 7 days") && !page.contains("formmethod"))
        #expect(await fixture.api("GET", "/silences").json["silences"] == [])
        let lacking = await browser.post("/silences", [("for", ""), ("reason", "loud")])
        #expect(lacking.status == 422 && lacking.text.contains("how long the silence lasts, such as 4h"))
    }

    @Test func `the preview of a silence shows what it would have kept back`() async throws {
        let fixture = try await ConsoleFixture()
        let event = try await fixture.happen("Printer", "Scanner", "Printer")[0]
        func preview(_ body: JSON) async -> JSON { await fixture.api("POST", "/silences/preview", body: body).json }
        let found = await preview(["for": "1h", "when": "task.title == 'Printer'"])
        #expect(found["count"] == 2 && found["deliveries"]?.asArray?.count == 2 && found["unknown"] == 0)
        let lost = Delivery(
            id: Delivery.ID(
                occasion: Occasion.event(Event.ID("0123456789abcdef0123456789abcdef")).id, rule: "acknowledge",
                step: StepPath(index: 0), receiver: "ops"), revision: "1", action: "notify",
            arguments: .message(Message(title: [.value("Lost")])), task: nil, lane: "lost", createdAt: fixture.clock.now)
        try await fixture.store.route(Routing(deliveries: [lost]))
        let partial = await preview(["for": "1h", "when": "task.title == 'Printer'"])
        #expect(partial["count"] == 2 && partial["unknown"] == 1, "the event of one delivery is not stored")
        #expect(await preview(["for": "1h", "rules": ["acknowledge"]])["count"] == 4)
        #expect(await preview(["for": "1h", "receivers": ["tracker"]])["count"] == 0)
        #expect(await fixture.api("POST", "/silences/preview", body: ["for": "1h", "when": "tsk"]).status == 422)
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.get("/events/" + event.id.text).text
        let link = try #require(page.firstMatch(of: /href="(\/silences\?when=[^"]+)"/)).output.1
        let silence = await browser.get(String(link).replacing("&amp;", with: "&")).text
        #expect(silence.contains("task.number == &quot;INC1000&quot;") && silence.contains("in the last 7 days: 1</h2>"))
    }

    @Test func `an event can be exported as a case for a file of tests`() async throws {
        let fixture = try await ConsoleFixture()
        let event = try await fixture.happen("Printer")[0]
        let test = await fixture.api("GET", "/explanations/test?event=" + event.id.text, as: .operator).json
        #expect(test["text"]?.asString?.contains("- task_created:") == true, "\(test)")
        #expect(await fixture.api("GET", "/explanations/test?event=00", as: .operator).status == 404)
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.get("/tasks/INC1000/test").text
        #expect(page.contains("<textarea id=\"case\"") && page.contains("- task_created:"))
        let file = await browser.get("/events/\(event.id.text)/test?download=true")
        #expect(
            file.field("Content-Disposition") == "attachment; filename=\"case.test.yaml\"" && file.text == test["text"]?.asString)
    }

    @Test func `a picture shows the path of a run, from the event to its deliveries`() async throws {
        let fixture = try await ConsoleFixture()
        let event = try await fixture.happen("Printer")[0]
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/events/" + event.id.text).text
        #expect(page.contains("aria-label=\"task_created → acknowledge: shadow → notify → ops\""))
    }

    @Test func `the page of a rule shows what stopped it in the last day`() async throws {
        let fixture = try await ConsoleFixture()
        let event = try await fixture.happen("Printer")[0]
        let record = DecisionRecord(
            rule: "acknowledge", verdict: .throttled, occasion: Occasion.event(event.id).id, at: fixture.clock.now)
        try await fixture.store.route(Routing(decisions: [record]))
        let stops = await fixture.api("GET", "/rules/acknowledge").json["stops"]
        #expect(stops?[0]?["verdict"] == "throttled" && stops?[0]?["count"] == 1)
        let browser = try await fixture.logIn(as: .viewer)
        #expect(await browser.get("/rules/acknowledge").text.contains("throttled"))
    }
}
