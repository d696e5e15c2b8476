import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConsole

@Suite struct `The pages` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    /// The addresses of all pages, with an event, a task, a rule and a delivery.
    private func addresses(_ fixture: ConsoleFixture, _ event: Event) async -> [String] {
        let delivery = await fixture.deliveryID()
        let backTest = await fixture.beginBackTest()
        return Pages.all.map { page in
            page.path.replacing("{event}", with: event.id.text).replacing("{task}", with: event.task?.number ?? "")
                .replacing("{rule}", with: "acknowledge").replacing("{delivery}", with: delivery)
                .replacing("{backtest}", with: backTest)
        }.filter { !$0.hasSuffix("/edit") }
    }

    @Test func `every page opens in both languages, with one heading and only the console's script`() async throws {
        let event = try await fixture.happen("A printer burns")[0]
        let browser = try await fixture.logIn(as: .operator)
        for address in await addresses(fixture, event) {
            for language in ["en", "de"] {
                let answer = await browser.get(address, language: language)
                #expect(answer.status == 200, "\(address)")
                let text = answer.text
                #expect(text.contains("<html lang=\"\(language)\">") && text.matches(of: /<h1>/).count == 1, "\(address)")
                #expect(text.matches(of: /<script/).count == 1 && !text.contains(" style=") && !text.contains(" onclick"))
                #expect(answer.field("Content-Security-Policy")?.contains("default-src 'none'") == true)
                for token in ConsoleFixture.tokens.values { #expect(!text.contains(token)) }
            }
        }
    }

    @Test func `an invalid filter or position is named, and the form of a search keeps what was entered`() async throws {
        try await fixture.happen("A printer burns")
        let browser = try await fixture.logIn(as: .viewer)
        for (address, named) in [
            ("/events?before=abc", "before"), ("/events?before=-1", "before"), ("/events?since=soon", "since"),
            ("/events?tpye=x", "type"), ("/events?type=task_craeted", "task_created"), ("/deliveries?state=ded", "dead"),
            ("/deliveries?before=", ""),
            ("/deliveries?before=1e3", "before"), ("/deliveries?before=1&before=2", "more than once"),
            ("/tasks?befor=1", "befor"),
            ("/audit?before=x", "before"), ("/audit?where=true", "where"), ("/events?type=&source=&where=", ""),
        ] {
            let answer = await browser.get(address)
            #expect(answer.status == (address.hasPrefix("/audit") ? 400 : 200), "\(address)")
            let said = answer.text.firstMatch(of: /role="alert">([^<]*)/)?.output.1
            #expect(named.isEmpty ? said == nil : said?.contains(named) == true, "\(address)")
        }
        let page = await browser.get("/events?since=soon&where=task.priority%20%3D%3D%201").text
        #expect(page.contains("value=\"soon\"") && page.contains("value=\"task.priority == 1\""))
    }

    @Test func `the live stream of a page begins after the newest event that was stored when it opened`() async throws {
        try await fixture.happen("A printer burns", "Mail is down")
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/events?source=others").text
        #expect(page.contains("data-stream=\"/api/v1/events/stream?source=others&amp;after=\" data-after=\"2\""))
    }

    @Test func `no text of a ticket becomes markup on any page`() async throws {
        // The markup is the same as with a harmless text of the same kind: as many signs of markup, none of the text's.
        func signs(_ title: String) async throws -> [String: [Int]] {
            let fixture = try await ConsoleFixture()
            let event = try await fixture.happen(title)[0]
            let browser = try await fixture.logIn(as: .operator)
            var signs: [String: [Int]] = [:]
            for address in await addresses(fixture, event) {
                let text = await browser.get(address).text
                signs[Pages.all.first { $0.values(in: address.split(separator: "/").map(String.init)) != nil }?.path ?? address] =
                    ["<", ">", "\"", "'"].map { sign in text.count { String($0) == sign } }
            }
            return signs
        }
        let harmless = try await signs("A printer burns")
        for title in HostileTexts.titles + [
            "<script>alert(1)</script>", "\" onmouseover=\"alert(1)", "'><img src=x onerror=alert(1)>",
        ] {
            let found = try await signs(title)
            for (page, counts) in harmless { #expect(found[page] == counts, "\(page): \(title)") }
        }
    }

    @Test func `every text of the pages has a German translation`() throws {
        for name in try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "Sources/BellhopConsole/Pages").path)
        {
            let source = try Repository.text("Sources/BellhopConsole/Pages/" + name)
            for match in source.matches(of: /[^a-z]t\("([^"]+)"\)/) {
                #expect(Words.german[String(match.output.1)] != nil, "\(match.output.1)")
            }
        }
    }

    @Test func `a person adds and ends a silence from the pages`() async throws {
        _ = try await fixture.happen("A printer burns")
        let browser = try await fixture.logIn(as: .operator)
        #expect(
            await browser.post("/silences", [("for", "2h"), ("when", "task.number == 'INC1000'"), ("reason", "<b>")]).status
                == 303)
        let silences = await browser.get("/silences").text
        #expect(silences.contains("INC1000") && silences.contains("&lt;b&gt;"))
        let wrong = await browser.post("/silences", [("for", "2h"), ("when", "tsk.number == 'x'")])
        #expect(wrong.status == 422 && wrong.text.contains("`task`") && wrong.text.contains("tsk.number"))
        let id = await fixture.api("GET", "/silences").json["silences"]?[0]?["id"]?.asString ?? ""
        #expect(await browser.post("/silences/\(id)/end").status == 303)
        #expect(await fixture.api("GET", "/silences").json["silences"] == [])
        let again = await browser.post("/silences/\(id)/end")
        #expect(again.status == 404 && again.text.contains("No active or future silence has the id `\(id)`.</p>"))
    }

    @Test func `the list of silences shows when a person ended one, not its planned end`() async throws {
        let browser = try await fixture.logIn(as: .operator)
        let planned = (fixture.clock.now + .seconds(7200)).rfc3339
        #expect(await browser.post("/silences", [("for", "2h")]).status == 303)
        #expect(await browser.get("/silences").text.contains(planned))
        let id = await fixture.api("GET", "/silences").json["silences"]?[0]?["id"]?.asString ?? ""
        await fixture.clock.advance(by: .seconds(60))
        #expect(await browser.post("/silences/\(id)/end").status == 303)
        let ended = await browser.get("/silences").text
        #expect(ended.contains("data-label=\"Ends\"><time datetime=\"\(fixture.clock.now.rfc3339)\">"))
        #expect(!ended.contains(planned))
    }

    @Test func `the page of a delivery shows its message and each attempt with its outcome`() async throws {
        _ = try await fixture.happen(["Mail & <b>more</b>"], initial: .available)
        let failure = Failure(.serverError, .retry(after: nil), "ops answers <500>.")
        try await fixture.finishNext(.retry(at: fixture.clock.now, failure))
        try await fixture.finishNext(.done(Receipt("200 from ops")))
        let browser = try await fixture.logIn(as: .viewer)
        let id = await fixture.deliveryID()
        let page = await browser.get("/deliveries/\(id)", language: "de").text
        #expect(page.contains("<p><strong>Mail &amp; &lt;b&gt;more&lt;/b&gt;</strong></p></blockquote>"))
        #expect(page.contains("<bdi>Mail &amp; &lt;b&gt;more&lt;/b&gt;</bdi>"))
        let rows = page.split(separator: "<tr>").dropFirst(2)
        #expect(rows.count == 2 && page.contains("ops answers &lt;500&gt;."), "\(page)")
        #expect(rows.first?.contains("neuer Versuch") == true && rows.last?.contains("200 from ops") == true)
    }

    @Test func `the page of a delivery calls its error a past one once it is done`() async throws {
        _ = try await fixture.happen(["Printer"], initial: .available)
        let browser = try await fixture.logIn(as: .viewer)
        let id = await fixture.deliveryID()
        try await fixture.finishNext(.retry(at: fixture.clock.now, Failure(.serverError, .retry(after: nil), "ops answers 500.")))
        #expect(await browser.get("/deliveries/\(id)").text.contains("<dt>Error</dt>"))
        try await fixture.finishNext(.done(Receipt("200 from ops")))
        let done = await browser.get("/deliveries/\(id)").text
        #expect(done.contains("<dt>Past error</dt>") && !done.contains("<dt>Error</dt>"))
        #expect(await browser.get("/deliveries/\(id)", language: "de").text.contains("<dt>Früherer Fehler</dt>"))
    }

    @Test func `the list of deliveries shows why one failed, and of one that is done what was sent`() async throws {
        _ = try await fixture.happen(["Mail & <b>more</b>"], initial: .available)
        let browser = try await fixture.logIn(as: .viewer)
        try await fixture.finishNext(.retry(at: fixture.clock.now, Failure(.serverError, .retry(after: nil), "ops answers 500.")))
        let failed = await browser.get("/deliveries").text
        #expect(failed.contains("ops answers 500.") && !failed.contains("Mail &amp;"))
        try await fixture.finishNext(.done(Receipt("200 from ops")))
        let done = await browser.get("/deliveries").text
        #expect(!done.contains("ops answers 500.") && done.contains("Mail &amp; &lt;b&gt;more&lt;/b&gt;"))
    }

    @Test func `the audit shows silences, lists of rules and pauses in words`() async throws {
        _ = try await fixture.view.ask(.pause(.writes, reason: "move"))
        let silence = await fixture.api(
            "POST", "/silences", as: .operator,
            body: ["for": "2h", "when": "task.number == 'INC1000'", "reason": "a <move>"])
        let id = try #require(silence.json["id"]?.asString)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/audit").text
        let details = page.matches(of: /<span class="long">(.*?)<\/span>/).map { String($0.output.1) }
        #expect(details.contains { $0.contains("Writes: yes") && $0.contains("Reason: move") }, "\(details)")
        #expect(details.contains { $0.hasPrefix("Added: ") && $0.contains("acknowledge") }, "\(details)")
        let begun = try #require(details.first { $0.hasPrefix("Silence: \(id) until <time ") }, "\(details)")
        #expect(begun.hasSuffix("<code>task.number == &#39;INC1000&#39;</code>: a &lt;move&gt;"), "\(begun)")
        #expect(!details.contains { $0.contains("[") || $0.contains("{") || $0.contains("&quot;") }, "\(details)")
        #expect(await browser.get("/audit", language: "de").text.contains("Schreiben: ja"))
    }

    @Test func `a message that joined others shows their state`() async throws {
        let events = try await fixture.happen(["One", "Two", "Three"], initial: .available)
        #expect(try await fixture.store.coalesce(receiver: "ops", above: 2, at: fixture.clock.now) == 3)
        let browser = try await fixture.logIn(as: .viewer)
        let rows = await fixture.api("GET", "/deliveries").json["deliveries"]?.asArray ?? []
        let joined = rows.filter { $0["joined"] != nil }
        let one = rows.first { $0["joined"] == nil }?["id"]?.asString ?? ""
        #expect(joined.count == 3 && joined.allSatisfy { $0["joined"] == ["delivery": .string(one), "state": "available"] })
        #expect(joined.allSatisfy { $0["state"] == "joined" && $0["receipt"] == .string("joined delivery \(one), which waits") })
        #expect(await fixture.api("GET", "/deliveries?state=joined").json["deliveries"]?.asArray == joined)
        let page = await browser.get("/deliveries?state=joined").text
        #expect(page.contains("<option value=\"joined\" selected>joined</option>") && !page.contains("\"/deliveries/\(one)\""))
        let id = joined.first?["id"]?.asString ?? ""
        #expect(
            await browser.get("/deliveries/\(id)").text.contains("<a href=\"/deliveries/\(one)\">joined \(one.prefix(12))</a>"))
        #expect(await browser.get("/deliveries").text.contains("<span class=\"state plain\">joined: available</span>"))
        try await fixture.finishNext(.dead(Failure(.refused, .giveUp, "ops says no.")))
        for path in ["/deliveries", "/deliveries/\(id)", "/events/\(events[0].id.text)"] {
            let page = await browser.get(path, language: "de").text
            #expect(page.contains("<span class=\"state bad\">zusammengefasst: aufgegeben</span>"), "\(path)")
        }
    }

    @Test func `receivers are shown with their rate and backlog, and as resting or paused`() async throws {
        let events = try await fixture.happen(["One", "Two", "Three"], initial: .available)
        let browser = try await fixture.logIn(as: .operator)
        let row = await fixture.api("GET", "/receivers").json["receivers"]?.asArray?.first { $0["receiver"] == "ops" }
        #expect(row?["waiting"] == 3 && row?["rate"] == "20/s" && row?["stopped"] == .null)
        #expect(await browser.get("/receivers").text.contains("data-label=\"Backlog\">3</td>"))
        let rest = ReceiverStop(
            receiver: "ops", cause: .rest, since: fixture.clock.now, until: fixture.clock.now + .seconds(90),
            interval: .seconds(1), reason: "ops answers 429.")
        let failure = Failure(.throttled, .rest(.seconds(90)), "ops answers 429.")
        try await fixture.finishNext(.postponed(failure), stops: [rest])
        let resting = await browser.get("/receivers").text
        #expect(resting.contains("<strong class=\"plain\">rests</strong> until <time") && resting.contains("ops answers 429."))
        #expect(resting.contains("data-label=\"Rate\">20/s</td>") && resting.contains("data-label=\"Backlog\">3</td>"))
        #expect(await browser.post("/receivers/ops/pause").status == 303)
        #expect(await browser.get("/receivers").text.contains("<strong class=\"bad\">paused</strong>"))
        let event = await browser.get("/events/\(events[1].id.text)").text
        #expect(event.contains("<strong class=\"bad\">paused</strong> "))
    }

    @Test func `a pause of all writes is shown, and can be ended on the same page`() async throws {
        let browser = try await fixture.logIn(as: .operator)
        #expect(await browser.get("/receivers").text.contains("action=\"/writes/pause\""))
        #expect(await browser.post("/writes/pause").status == 303)
        let page = await browser.get("/receivers").text
        #expect(page.contains("Writes to tasks are paused.") && page.contains("action=\"/writes/resume\""))
        #expect(await browser.post("/writes/resume").status == 303)
        #expect(await browser.get("/receivers").text.contains("action=\"/writes/pause\""))
    }

    @Test func `the language follows the browser's order of preference, and a choice comes first`() {
        func language(_ accept: String, cookie: String = "") -> Language {
            Language(ConsoleRequest("GET", "/", headers: [("Accept-Language", accept), ("Cookie", cookie)]))
        }
        #expect(language("de-DE,de;q=0.9,en;q=0.8") == .german)
        #expect(language("fr,en;q=0.8,de;q=0.7") == .english)
        #expect(language("fr") == .english)
        #expect(language("de;q=0") == .english)
        #expect(language("en", cookie: "bellhop_language=de") == .german)
    }

    @Test func `the page of a changed task shows each field before and after, and silences that task alone`() async throws {
        let task = Snapshot(key: TaskKey("key1"), number: "", title: "Prices", url: "https://acme.example/1")
        let changes = [
            Change.FieldChange(field: "price", from: .int(1), to: .double(2.5)),
            Change.FieldChange(field: "due", from: .null, to: "2026-01-05"),
        ]
        let event = Event(
            .taskChanged(task, before: task, changes, in: "incidents"), facts: "changed", source: "incidents",
            subject: "incidents/key1", at: fixture.clock.now)
        _ = try await fixture.store.append([event])
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.get("/events/\(event.id.text)").text
        // It has no number.
        for text in [page, await browser.get("/events").text] { #expect(text.contains("<a href=\"/tasks/key1\">key1</a>")) }
        for cell in ["<del>1</del>", "<ins>2.5</ins>", "<del></del>", "<ins>2026-01-05</ins>"] {
            #expect(page.contains(cell), "\(cell)")
        }
        #expect(page.contains("/silences?when=" + PercentEncoding.encode(#"task.id == "key1""#)))
    }

    @Test func `a list of events shows the beginning of a long summary, and the page of the event all of it`() async throws {
        let title = String(repeating: "more ", count: 200) + "at last"
        let event = try await fixture.happen(title)[0]
        let browser = try await fixture.logIn(as: .viewer)
        let list = await browser.get("/events").text
        #expect(list.contains("more more") && list.contains("…</td>") && !list.contains("at last"))
        #expect(await browser.get("/events/\(event.id.text)").text.contains(title))
    }

    @Test func `the list of tasks shows the state of each, and the beginning of a long title`() async throws {
        let title = String(repeating: "more ", count: 200) + "at last"
        let states: [(JSON.Object, JSON.Object, String)] = [
            (["state": 2], [:], "2"), (["state": 2], ["state": "In Progress"], "In Progress"), ([:], [:], ""),
        ]
        for (fields, labels, shown) in states {
            let fixture = try await ConsoleFixture()
            try await fixture.show(["Printer", title], fields: fields, labels: labels)
            let browser = try await fixture.logIn(as: .viewer)
            let page = await browser.get("/tasks").text
            #expect(page.matches(of: /data-label="State">([^<]*)</).map { String($0.output.1) } == [shown, shown])
            #expect(page.contains("more more") && !page.contains("at last"))
        }
    }

    @Test func `the list of silences says what each covers`() async throws {
        let browser = try await fixture.logIn(as: .operator)
        let bodies: [JSON] = [
            ["for": "1h"], ["for": "2h", "writes": true], ["for": "3h", "rules": ["acknowledge"], "receivers": ["ops"]],
            ["for": "4h", "when": "task.number == 'INC1'", "writes": true],
        ]
        for body in bodies { #expect(await fixture.api("POST", "/silences", as: .operator, body: body).status == 200) }
        let page = await browser.get("/silences").text
        for covered in [
            "every message", "every message and write", "acknowledge, ops",
            "<code>task.number == &#39;INC1&#39;</code> <strong>also writes</strong>",
        ] { #expect(page.contains("data-label=\"About\">\(covered)</td>"), "\(covered)") }
    }

    @Test func `the page of a task links to its earlier events if it does not show them`() async throws {
        let browser = try await fixture.logIn(as: .viewer)
        let task = Snapshot(key: TaskKey("key1"), number: "INC1", title: "Prices", url: "https://acme.example/1")
        func happen(_ numbers: Range<Int>) async throws {
            let events = numbers.map { number in
                Event(
                    .taskCreated(task, in: "incidents"), facts: String(number), source: "incidents", subject: "incidents/key1",
                    at: fixture.clock.now)
            }
            _ = try await fixture.store.append(events)
        }
        try await happen(0..<50)
        #expect(await !browser.get("/tasks/INC1").text.contains("/events?task="))
        try await happen(50..<51)
        #expect(await browser.get("/tasks/INC1").text.contains("<a href=\"/events?task=INC1\">Earlier events</a>"))
    }

    @Test func `a decision about deliveries leads back to the same page of the list`() async throws {
        _ = try await fixture.happen(["A printer burns"], initial: .available)
        let browser = try await fixture.logIn(as: .operator)
        let query = "state=available&before=1000"
        let page = await browser.get("/deliveries?" + query).text
        #expect(page.contains("name=\"query\" value=\"\(HTML(escaping: query).text)\""), "\(page)")
        let back = await browser.post("/deliveries", [("command", "retry"), ("query", query)]).field("Location") ?? ""
        #expect(back == "/deliveries?" + query + "&changed=0&refused=0")
        let next = await browser.get(back).text
        #expect(next.contains("<p class=\"bad\" role=\"status\">Choose at least one delivery.</p>"))
        #expect(next.contains("name=\"query\" value=\"\(HTML(escaping: query).text)\"") && !next.contains("role=\"alert\""))
        // Without a delivery to decide about, there is no form.
        _ = try await fixture.happen(["Mail"], from: 10)
        #expect(await !browser.get("/deliveries?state=shadow").text.contains("name=\"query\""))
    }

    @Test func `a decision says how many deliveries it changed, and how many their states did not allow`() async throws {
        _ = try await fixture.happen(["One", "Two", "Three"], initial: .available)
        let browser = try await fixture.logIn(as: .operator)
        let ids = await fixture.api("GET", "/deliveries").json["deliveries"].elements.map { $0["id"].textOrEmpty }
        let page = await browser.get("/deliveries").text
        #expect(page.contains("value=\"drop\" data-ask=\"Drop these deliveries? They are never sent then.\">Drop</button>"))
        #expect(page.contains("<label><input type=\"checkbox\" name=\"page\" value=\"\(ids.joined(separator: " "))\">"))
        let address = "/deliveries/\(ids[0])"
        #expect(await browser.post(address + "/drop").field("Location") == address + "?changed=1&refused=0")
        // Another tab still shows it as it was.
        let late = await browser.post(address + "/retry").field("Location") ?? ""
        #expect(late == address + "?changed=0&refused=1")
        let german = await browser.get(late, language: "de").text
        #expect(german.contains("Geändert: 0 <span class=\"bad\">Nicht geändert, weil ihr Zustand es nicht zulässt: 1</span>"))
        let all = [("command", "drop"), ("delivery", ids[1]), ("page", ids.joined(separator: " "))]
        #expect(await browser.post("/deliveries", all).field("Location") == "/deliveries?changed=2&refused=1")
    }

    @Test func `a summary of an event says what failed`() {
        let now = TestClock().now
        let failure = Failure(.unreachable, .retry(after: nil), "No connection.")
        let event = Event(
            .sourceFailing("incidents", failure, since: now), facts: "a", source: "incidents", subject: "source/incidents",
            at: now)
        #expect(Pages.summary(event) == "No connection.")
    }

    @Test func `the page of a delivery that waits for a pause names the pause in place of a time`() async throws {
        _ = try await fixture.happen(["Printer"], initial: .available)
        let browser = try await fixture.logIn(as: .viewer)
        let address = "/deliveries/" + (await fixture.deliveryID())
        #expect(await !browser.get(address).text.contains("<strong class=\"bad\">paused"))
        _ = try await fixture.view.ask(.pause(.receiver("ops"), reason: "it moves"))
        #expect(await browser.get(address).text.contains("<dd><strong class=\"bad\">paused</strong> it moves</dd>"))
    }

    @Test func `the overview leads to the deliveries that need a person`() async throws {
        _ = try await fixture.happen(["Printer"], initial: .dead(Failure(.refused, .giveUp, "No.")))
        let browser = try await fixture.logIn(as: .viewer)
        let link = "<a href=\"/deliveries?state=dead\"><code>bellhop deliveries --state dead</code></a>.</li>"
        #expect(await browser.get("/").text.contains("<li>1 delivery is dead: " + link))
        #expect(await browser.get("/", language: "de").text.contains("<li>1 Zustellung ist aufgegeben: " + link))
    }

    @Test func `the overview names what is paused or silenced`() async throws {
        let browser = try await fixture.logIn(as: .operator)
        #expect(await !browser.get("/").text.contains("Paused and silenced"))
        for (target, reason): (PauseTarget, String) in [
            (.rule("acknowledge"), "too loud"), (.receiver("ops"), "it moves"), (.writes, ""),
        ] { _ = try await fixture.view.ask(.pause(target, reason: reason)) }
        #expect(await browser.post("/silences", [("for", "2h")]).status == 303)
        let page = await browser.get("/").text
        for part in [
            ">acknowledge</a>: <strong class=\"bad\">paused</strong> too loud</li>",
            ">ops</a>: <strong class=\"bad\">paused</strong> it moves</li>", ">Writes to tasks are paused.</a>",
            "</time>: every message</li>",
        ] { #expect(page.contains(part), "\(part)") }
    }

    @Test func `the overview says when a planned silence begins`() async throws {
        let starts = fixture.clock.now + .seconds(3600)
        let silence = Silence(when: nil, starts: starts, ends: starts + .seconds(60), reason: "", by: "")
        _ = try await fixture.view.ask(.addSilence(silence))
        let browser = try await fixture.logIn(as: .viewer)
        let time = "<time datetime=\"\(starts.rfc3339)\">"
        #expect(await browser.get("/").text.contains(">Silence</a> begins \(time)"))
        #expect(await browser.get("/", language: "de").text.contains(">Stummschaltung</a> beginnt \(time)"))
    }

    @Test func `the overview shows the notices about sources`() async throws {
        let fixture = try await ConsoleFixture(facts: ["notices": ["incidents": ["Comments produce <no> events."]]])
        let scope = Scope(instance: "https://acme.example", user: "ada", kind: "table", query: "")
        _ = try await fixture.store.open(scope, source: "incidents", at: fixture.clock.now)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/").text
        #expect(page.contains("<li>incidents: Comments produce &lt;no&gt; events.</li>"))
    }

    @Test func `the overview shows the results of the deliveries of each hour`() async throws {
        _ = try await fixture.happen(["Printer", "Scanner"], initial: .dead(Failure(.refused, .giveUp, "No.")))
        await fixture.clock.advance(by: .seconds(7200))
        _ = try await fixture.happen(["Mail"], from: 10)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/").text
        #expect(page.contains("<title>09:00 failed: 2</title>") && page.contains("<title>11:00 not sent: 1</title>"))
        #expect(page.contains("aria-label=\"Deliveries per hour, in the last 24 hours: 3\""))
        let inIndia = await fixture.desk.answer(
            ConsoleRequest("GET", "/", headers: [("Cookie", browser.cookie + "; bellhop_zone=Asia%2FKolkata")]))
        #expect(inIndia.text.contains("<title>14:30 failed: 2</title>"))
    }

    @Test func `live events include those of types that bellhop.yaml declares`() async throws {
        let outage = EventDefinition(EventType("outage"), "A service is down.", from: .outside, [])
        let fixture = try await ConsoleFixture(events: EventCatalogue(EventCatalogue.builtIn.definitions + [outage]))
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/events").text
        #expect(page.contains(/data-types="[^"]*task_created[^"]* outage"/))
    }

    @Test func `times are in the browser's zone`() async throws {
        _ = try await fixture.happen("x")
        let browser = try await fixture.logIn(as: .viewer)
        let answer = await fixture.desk.answer(
            ConsoleRequest("GET", "/events", headers: [("Cookie", browser.cookie + "; bellhop_zone=Asia%2FTokyo")]))
        #expect(answer.text.contains(/<td data-label="Time"><time [^>]*>2026-01-05 18:00:00</))
    }

    @Test func `a page says when it was made, and in which zone its times are`() async throws {
        let browser = try await fixture.logIn(as: .viewer)
        await fixture.clock.advance(by: .seconds(60))
        for (zone, line) in [
            ("Asia%2FTokyo", "2026-01-05 18:01:00</time> Asia/Tokyo</p>"),
            ("Asia%2FNowhere", "2026-01-05 09:01:00</time> UTC</p>"),
        ] {
            let answer = await fixture.desk.answer(
                ConsoleRequest("GET", "/", headers: [("Cookie", browser.cookie + "; bellhop_zone=" + zone)]))
            #expect(answer.text.contains(line), "\(zone)")
        }
    }

    @Test func `a time within a sentence of the agent is in the browser's zone, too`() async throws {
        _ = try await fixture.happen(["Printer"], initial: .available)
        _ = try await fixture.view.ask(.pause(.receiver("ops"), reason: "it moves until 2026-01-05T10:00:00.25Z"))
        let browser = try await fixture.logIn(as: .viewer)
        let address = "/deliveries/" + (await fixture.deliveryID())
        let answer = await fixture.desk.answer(
            ConsoleRequest("GET", address, headers: [("Cookie", browser.cookie + "; bellhop_zone=Asia%2FTokyo")]))
        #expect(answer.text.contains("</strong> it moves until 2026-01-05 19:00:00</dd>"))
    }
}
