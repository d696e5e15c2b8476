import BellhopAgent
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConsole

@Suite struct `The workbench` {
    private static let changed = ConsoleFixture.rule.replacing("New:", with: "A new one:")
    private static let wrong = ConsoleFixture.rule.replacing("task.title", with: "tsk.title")

    @Test func `a check reports mistakes with their lines, and the difference of the text`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let bad = await fixture.api("POST", "/rules/acknowledge/check", as: .operator, body: ["text": .string(Self.wrong)]).json
        #expect(
            bad["fits"] == false && bad["problems"]?[0]?["line"] == 3 && bad["problems"]?[0]?["help"] == "did you mean `task`?")
        let good = await fixture.api("POST", "/rules/acknowledge/check", as: .operator, body: ["text": .string(Self.changed)])
            .json
        #expect(good["difference"]?.asString?.hasPrefix("--- a/rules/a.yaml\n+++ b/rules/a.yaml\n@@ -") == true, "\(good)")
        #expect(good["fits"] == true && good["difference"]?.asString?.contains("+      text: \"A new one:") == true, "\(good)")
    }

    @Test func `the tests beside the file run with the edited text`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        func passed(_ text: String) async -> [Bool] {
            let answer = await fixture.api("POST", "/rules/acknowledge/test", as: .operator, body: ["text": .string(text)]).json
            return (answer["tests"]?.asArray ?? []).compactMap { $0["passed"]?.asBool }
        }
        #expect(await passed(ConsoleFixture.rule) == [true])
        #expect(await passed(Self.changed) == [false])
    }

    @Test func `a file is saved only by an admin, if bellhop.yaml allows it, over the text that was read`() async throws {
        let closed = try await ConsoleFixture(inFiles: true)
        let open = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let body: JSON = ["text": .string(Self.changed)]
        let read = await open.api("GET", "/rules/acknowledge/file", as: .admin)
        let tag = try #require(read.answer.field("ETag"))
        #expect(read.json["editable"] == true)
        func put(_ fixture: ConsoleFixture, _ role: ConsoleRole, _ tag: String?, _ body: JSON) async -> Int {
            await fixture.api(
                "PUT", "/rules/acknowledge/file", as: role, body: body, headers: tag.map { [("If-Match", $0)] } ?? []
            ).status
        }
        #expect(await put(closed, .admin, tag, body) == 403)
        #expect(await put(open, .operator, tag, body) == 403)
        #expect(await put(open, .admin, nil, body) == 428)
        #expect(await put(open, .admin, "\"0123\"", body) == 412)
        #expect(await put(open, .admin, tag, ["text": .string(Self.wrong)]) == 422)
        let long: JSON = ["text": .string(String(repeating: "# x\n", count: RuleWorkshop.largest))]
        #expect(await put(open, .admin, tag, long) == 413)
        #expect(try open.ruleText() == ConsoleFixture.rule)
        #expect(await put(open, .admin, tag, body) == 200)
        #expect(try open.ruleText() == Self.changed && open.ruleMode() == 0o644)
        #expect(await put(open, .admin, tag, body) == 412)
        let audit = await open.api("GET", "/audit").json["rows"]?[0]?["entry"]?.asString ?? ""
        #expect(audit.contains("edit rules") && audit.contains("the admin") && audit.contains("a.yaml"), "\(audit)")
    }

    @Test func `the page shows mistakes in their lines, the difference and the whole file`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.get("/rules/acknowledge/workbench").text
        #expect(page.contains("<textarea id=\"text\"") && !page.contains("value=\"save\""))
        let text = Self.wrong.replacing("\n", with: "\r\n")
        let checked = await browser.work("check", text).text
        #expect(checked.contains("<span class=\"bad\">3  when: tsk.title") && checked.contains("did you mean `task`?"))
        #expect(checked.contains("<ins>+when: tsk.title") && checked.contains("<del>-when: task.title"))
        let tested = await browser.work("test", Self.changed, since: "30d")
        #expect(page.contains("name=\"since\" value=\"7d\"") && tested.text.contains("name=\"since\" value=\"30d\""))
        #expect(tested.text.contains("0 passed, 1 failed"))
        let begun = await browser.work("backtest", Self.changed, since: "1d")
        #expect(begun.status == 303 && begun.field("Location")?.hasPrefix("/backtests/") == true)
        #expect(await browser.work("save", Self.changed).status == 403)
    }

    @Test func `the page of a rule links to its text in the other mode, and nothing is written before saving`() async throws {
        let link = "<a class=\"button\" href=\"/rules/acknowledge/workbench?mode="
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let browser = try await fixture.logIn(as: .admin)
        let page = await browser.get("/rules/acknowledge").text
        #expect(page.contains(link + "shadow\">Shadow</a>") && !page.contains(link + "live"), "\(page)")
        let bench = await browser.get("/rules/acknowledge/workbench?mode=shadow").text
        #expect(bench.contains("<ins>+mode: shadow</ins>") && !bench.contains("<del>"), "\(bench)")
        #expect(bench.contains("name=\"text\" rows=\"24\" spellcheck=\"false\">\nrule: acknowledge\nmode: shadow\n"), "\(bench)")
        #expect(try fixture.ruleText() == ConsoleFixture.rule)
        #expect(await browser.get("/rules/acknowledge", language: "de").text.contains("mode=shadow\">Schatten</a>"))
        let viewer = try await fixture.logIn(as: .viewer)
        #expect(await !viewer.get("/rules/acknowledge").text.contains(link))
        #expect(await viewer.get("/rules/acknowledge/workbench?mode=shadow").status == 403)
        let shadow = ConsoleFixture.rule.replacing("on: task", with: "mode: shadow\non: task")
        let other = try await ConsoleFixture(inFiles: true, rule: shadow)
        let colleague = try await other.logIn(as: .operator)
        #expect(await colleague.get("/rules/acknowledge").text.contains(link + "live\">Live</a>"))
        #expect(await colleague.get("/rules/acknowledge/workbench?mode=live").text.contains("<del>-mode: shadow</del>"))
        let german = await colleague.get("/rules/acknowledge", language: "de").text
        #expect(german.contains(">Live</a>"))
        try Data("# {\n\(ConsoleFixture.rule)".utf8).write(to: URL(fileURLWithPath: other.path))
        let byHand = await colleague.get("/rules/acknowledge/workbench?mode=shadow")
        let vonHand = await colleague.get("/rules/acknowledge/workbench?mode=shadow", language: "de").text
        #expect(vonHand.contains("lässt sich nur von Hand ändern"))
        #expect(byHand.status == 422 && byHand.text.contains("only be changed by hand") && !byHand.text.contains("<ins>"))
    }

    @Test func `a file with CRLF keeps it, and only its changed lines are a difference`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        try Data(ConsoleFixture.rule.replacing("\n", with: "\r\n").utf8).write(to: URL(fileURLWithPath: fixture.path))
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.work("check", Self.changed.replacing("\n", with: "\r\n")).text
        for mark in ["<ins>", "<del>"] { #expect(page.components(separatedBy: mark).count == 2, "\(page)") }
        #expect(page.contains("<ins>+      text: &quot;A new one:"), "\(page)")
    }

    @Test func `a file with CRLF can be edited in a browser, and its mistakes are shown in their lines`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        try Data(ConsoleFixture.rule.replacing("\n", with: "\r\n").utf8).write(to: URL(fileURLWithPath: fixture.path))
        let browser = try await fixture.logIn(as: .admin)
        let page = await browser.get("/rules/acknowledge/workbench").text
        #expect(page.contains(">\nrule: acknowledge\non: task_created\n") && !page.contains("\u{FFFD}"), "\(page)")
        let wrong = await browser.work("check", Self.wrong).text
        #expect(wrong.contains("<span class=\"bad\">3  when: tsk.title") && !wrong.contains("\u{FFFD}"), "\(wrong)")
        let tag = RuleWorkshop.tag(of: Array(try fixture.ruleText().utf8))
        #expect(await browser.work("save", Self.changed, tag: tag).status == 303)
        #expect(try fixture.ruleText() == Self.changed.replacing("\n", with: "\r\n"))
    }

    @Test func `an admin saves from the page, and a change meanwhile is not overwritten`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let browser = try await fixture.logIn(as: .admin)
        let page = await browser.get("/rules/acknowledge/workbench").text
        let mark = "name=\"tag\" value=\""
        let tag = String(page.components(separatedBy: mark)[1].prefix { $0 != "\"" })
        let wrong = await browser.work("save", Self.wrong, tag: tag)
        #expect(wrong.status == 422 && wrong.text.contains("<span class=\"bad\">3  when: tsk.title"))
        let saved = await browser.work("save", Self.changed, tag: tag)
        #expect(saved.status == 303 && saved.field("Location") == "/rules?saved=" + PercentEncoding.encode(fixture.path))
        #expect(try fixture.ruleText() == Self.changed)
        let late = await browser.work("save", Self.changed, tag: tag)
        #expect(late.status == 412 && late.text.contains("changed meanwhile"))
    }

    @Test func `a refused request shows what was entered, also after the session, but not what another site sent`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let browser = try await fixture.logIn(as: .operator)
        let address = "/rules/acknowledge/workbench"
        let fields = [("command", "check"), ("text", Self.changed), ("tag", "x")]
        let shown =
            "<textarea id=\"entered-text\" rows=\"20\" readonly spellcheck=\"false\">\n\(HTML(escaping: Self.changed).text)</textarea>"
        let outdated = await browser.post(address, fields, withToken: false)
        #expect(outdated.status == 403 && outdated.text.contains(shown))
        let removed = await browser.post("/rules/removed/workbench", fields)
        #expect(removed.status == 404 && removed.text.contains(shown))
        await fixture.clock.advance(by: Authenticator.idle)
        let over = await browser.post(address, fields)
        #expect(over.status == 401 && over.text.contains(shown))
        #expect(over.text.contains("name=\"next\" value=\"\(address)\""))
        let foreign = await browser.post(address, fields, headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(foreign.status == 401 && !foreign.text.contains("entered-text"))
    }

    @Test func `no text that a person enters becomes markup`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let browser = try await fixture.logIn(as: .operator)
        for hostile in HostileTexts.titles + ["</textarea><script>alert(1)</script>", "</pre><img src=x onerror=alert(1)>"] {
            for text in [hostile, ConsoleFixture.rule + "# " + hostile] {
                let answer = await browser.work("check", text, tag: hostile)
                #expect(answer.status == 200)
                #expect(answer.text.matches(of: /<script|<img|<\/textarea>/).count == 2, "\(hostile)")
            }
        }
    }
}

@Suite struct `Editing a delivery` {
    @Test func `an edit is refused if the delivery changed since it was read`() async throws {
        let fixture = try await ConsoleFixture()
        _ = try await fixture.happen(["Printer"], initial: .dead(Failure(.refused, .giveUp, "No.")))
        let id = await fixture.deliveryID()
        let read = await fixture.api("GET", "/deliveries/\(id)/form", as: .operator)
        let (text, tag) = (read.json["text"]?.asString ?? "", try #require(read.answer.field("ETag")))
        func put(_ before: String, _ after: String, _ tag: String?) async -> Int {
            await fixture.api(
                "PUT", "/deliveries/\(id)/form", as: .operator, body: ["before": .string(before), "after": .string(after)],
                headers: tag.map { [("If-Match", $0)] } ?? []
            ).status
        }
        let after = text.replacing("Printer", with: "Scanner")
        #expect(await put(text, after, "\"0123\"") == 412)
        #expect(await put(after, after, nil) == 412)
        #expect(await put(text, after, tag) == 200)
        #expect(await put(text, after, tag) == 412)
        let browser = try await fixture.logIn(as: .operator)
        // The page keeps what the person has entered, and saving it again is refused again.
        let mine = text.replacing("Printer", with: "Plotter")
        let late = await browser.post("/deliveries/\(id)/edit", [("before", text), ("after", mine)])
        #expect(late.status == 412 && late.text.contains("changed meanwhile"))
        #expect(late.text.contains("\n\(HTML(escaping: mine).text)</textarea>"))
        #expect(late.text.contains("name=\"before\" value=\"\(HTML(escaping: text).text)\""))
    }
}
