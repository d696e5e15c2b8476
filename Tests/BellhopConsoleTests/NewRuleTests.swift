import BellhopAgent
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConsole

@Suite struct `A new file of rules` {
    private static let rule = ConsoleFixture.rule.replacing("rule: acknowledge", with: "rule: welcome")

    /// The path of a new file beside the fixture's rule.
    private func path(_ fixture: ConsoleFixture, _ name: String = "new.yaml") -> String {
        fixture.path.replacing("a.yaml", with: name)
    }

    private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test func `a new file is checked beside the rules in force, tested, and shown as added text`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let places = await fixture.api("GET", "/rule-files").json
        #expect(places["files"] == [.string(fixture.path)] && places["editable"] == false)
        let folder = try #require(places["folders"]?[0]?.asString)
        #expect(folder == RulePlaces([fixture.path.replacing("/a.yaml", with: "")]).folders[0])
        func check(_ text: String, as role: ConsoleRole = .operator) async -> (status: Int, json: JSON) {
            let body: JSON = ["file": .string(path(fixture)), "text": .string(text)]
            let answer = await fixture.api("POST", "/rule-files/check", as: role, body: body)
            return (answer.status, answer.json)
        }
        let good = await check(Self.rule).json
        #expect(good["fits"] == true && good["problems"] == [])
        let difference = try #require(good["difference"]?.asString)
        #expect(difference.contains("\n+rule: welcome\n") && !difference.contains("\n-"), "\(difference)")
        let twice = await check(ConsoleFixture.rule).json
        #expect(twice["fits"] == false && twice["problems"]?[0]?["code"] == "duplicate-rule")
        #expect(await check(Self.rule, as: .viewer).status == 403)
        try ConsoleFixture.test.write(toFile: path(fixture, "new.test.yaml"), atomically: true, encoding: .utf8)
        let body: JSON = ["file": .string(path(fixture)), "text": .string(Self.rule)]
        let tests = await fixture.api("POST", "/rule-files/test", as: .operator, body: body).json["tests"]
        #expect(tests?.asArray?.count == 1 && tests?[0]?["passed"] == true)
    }

    @Test func `only an admin can create a file, if bellhop.yaml allows it, and never over another file`() async throws {
        let closed = try await ConsoleFixture(inFiles: true)
        let open = try await ConsoleFixture(inFiles: true, mayEdit: true)
        func make(_ fixture: ConsoleFixture, _ role: ConsoleRole, _ path: String, _ text: String = Self.rule) async -> Int {
            let body: JSON = ["file": .string(path), "text": .string(text)]
            return await fixture.api("POST", "/rule-files", as: role, body: body).status
        }
        let new = path(open)
        #expect(await make(closed, .admin, path(closed)) == 403 && text(path(closed)) == nil)
        #expect(await make(open, .operator, new) == 403)
        #expect(await make(open, .admin, new, ConsoleFixture.rule) == 422)
        #expect(await make(open, .admin, new, "# nothing\n") == 422)
        #expect(await make(open, .admin, new, "rules: []\n") == 422)
        #expect(text(new) == nil)
        #expect(await make(open, .admin, open.path, ConsoleFixture.rule) == 409)
        #expect(try open.ruleText() == ConsoleFixture.rule)
        #expect(await make(open, .admin, new) == 201)
        #expect(text(new) == Self.rule)
        #expect(try open.ruleMode("new.yaml") == 0o644)
        #expect(await make(open, .admin, new) == 409)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: new.replacing("/new.yaml", with: "")).allSatisfy {
                !$0.hasSuffix(".new")
            })
        let audit = await open.api("GET", "/audit").json["rows"]?[0]?["entry"]?.asString ?? ""
        #expect(audit.contains("add rules") && audit.contains("the admin") && audit.contains("new.yaml"), "\(audit)")
    }

    @Test func `a new file can only be created where the agent reads rules`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let names = [
            "../new.yaml", ".hidden.yaml", ".git/new.yaml", "x/../new.yaml", "x//new.yaml", "missing/new.yaml", "new.txt",
            "new.test.yaml", "a\nb.yaml",
        ]
        for wrong in names.map({ path(fixture, $0) }) + ["/etc/new.yaml", "new.yaml", ""] {
            let body: JSON = ["file": .string(wrong), "text": .string(Self.rule)]
            for operation in ["", "/check", "/test"] {
                let answer = await fixture.api("POST", "/rule-files" + operation, as: .admin, body: body)
                #expect(answer.status == 422, "\(wrong)\(operation): \(answer.json)")
            }
        }
        for (wrong, why) in [
            (".hidden.yaml", "begins with a dot"), ("a\u{202e}b.yaml", "not shown"), ("a\nb.yaml", "not shown"),
            (String(repeating: "é", count: 100) + ".yaml", "at most 200 bytes"),
        ] {
            let body: JSON = ["file": .string(path(fixture, wrong)), "text": .string(Self.rule)]
            let answer = await fixture.api("POST", "/rule-files", as: .admin, body: body)
            #expect(answer.status == 422 && answer.json["detail"].textOrEmpty.contains(why), "\(answer.json)")
        }
        // A dangling link is not replaced either.
        try FileManager.default.createSymbolicLink(atPath: path(fixture, "link.yaml"), withDestinationPath: "/nowhere")
        let body: JSON = ["file": .string(path(fixture, "link.yaml")), "text": .string(Self.rule)]
        #expect(await fixture.api("POST", "/rule-files", as: .admin, body: body).status == 409)
    }

    @Test func `the page begins with a valid rule, and shows mistakes, the difference and the file to commit`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let browser = try await fixture.logIn(as: .operator)
        #expect(await browser.get("/rules").text.contains("action=\"/workbench\""))
        let page = await browser.get("/workbench?name=welcome").text
        #expect(page.contains("rule: welcome") && page.contains("value=\"\(path(fixture, "welcome.yaml"))\""))
        #expect(!page.contains("value=\"save\"") && page.contains("console.edit: true"))
        func post(_ command: String, _ text: String, file: String? = nil) async -> ConsoleAnswer {
            await browser.post(
                "/workbench", [("command", command), ("file", file ?? path(fixture)), ("text", text), ("since", "1d")])
        }
        let start = try #require(page.firstMatch(of: /spellcheck="false">\n([^<]+)<\/textarea>/)).output.1
        let beginning = String(start).replacing("&quot;", with: "\"")
        #expect(await post("check", beginning).text.contains("role=\"status\" class=\"good\""))
        let wrong = await post("check", Self.rule.replacing("task.title", with: "tsk.title")).text
        #expect(wrong.contains("did you mean `task`?") && wrong.contains("<ins>+rule: welcome"))
        #expect(wrong.contains("<details><summary>The whole file to commit"))
        let taken = await post("check", Self.rule, file: fixture.path)
        #expect(taken.status == 409 && taken.text.contains("rule: welcome"))
        #expect(await post("save", Self.rule).status == 403)
        let begun = await post("backtest", Self.rule)
        #expect(begun.status == 303 && begun.field("Location")?.hasPrefix("/backtests/") == true)
        for hostile in HostileTexts.titles + ["\"><script>alert(1)</script>"] {
            let shown = await browser.get("/workbench?name=" + PercentEncoding.encode(hostile))
            #expect(shown.status == 200 && shown.text.matches(of: /<script|<img/).count == 1, "\(hostile)")
            let answer = await post("check", hostile, file: hostile)
            #expect(answer.text.matches(of: /<script|<img/).count == 1, "\(hostile)")
        }
    }

    @Test func `an operator cannot save a file from a page, even with console.edit`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let browser = try await fixture.logIn(as: .operator)
        let before = try fixture.ruleText()
        for place in ["/workbench", "/rules/acknowledge/workbench"] {
            let page = await browser.get("/rules/acknowledge/workbench").text
            let tag = String(page.firstMatch(of: /name="tag" value="([^"]*)"/)?.output.1 ?? "")
            let refused = await browser.post(
                place, [("command", "save"), ("file", path(fixture)), ("text", Self.rule), ("tag", tag)])
            #expect(refused.status == 403 && refused.text.contains("Saving needs the role"))
        }
        #expect(text(path(fixture)) == nil)
        #expect(try fixture.ruleText() == before)
    }

    @Test func `an admin saves a new file from the page`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true, mayEdit: true)
        let browser = try await fixture.logIn(as: .admin)
        let fields = [("command", "save"), ("file", path(fixture)), ("text", Self.rule.replacing("\n", with: "\r\n"))]
        let saved = await browser.post("/workbench", fields)
        let place = try #require(saved.field("Location"))
        #expect(saved.status == 303 && place.hasPrefix("/rules?saved="))
        #expect(text(path(fixture)) == Self.rule)
        #expect(await browser.get(place).text.contains("<code>\(path(fixture))</code> is saved."))
        let late = await browser.post("/workbench", fields)
        #expect(late.status == 409 && late.text.contains("already") && late.text.contains("rule: welcome"))
    }
}

@Suite struct `Coverage of a rule by recent events` {
    private static let rule = """
        rule: acknowledge
        on: task_created
        when: task.title != "nothing"
        do:
          - log: {text: "New: ${{ task.number }}"}
          - if: task.title == "never"
            log: {text: "Never: ${{ task.number }}"}
        """

    @Test func `the page of a rule marks the lines covered by recent events, without a back-test`() async throws {
        let fixture = try await ConsoleFixture(rule: Self.rule)
        let browser = try await fixture.logIn(as: .viewer)
        #expect(!(await browser.get("/rules/acknowledge").text.contains("✓ | ")))
        _ = try await fixture.happen(["Printer", "nothing"])
        let page = await browser.get("/rules/acknowledge").text
        #expect(page.contains("<span class=\"good\">✓ | when: task.title != &quot;nothing&quot;</span>"), "\(page)")
        #expect(page.contains("never true: `if`: task.title == &quot;never&quot;"))
        #expect(await fixture.api("GET", "/backtests").json["backtests"] == [])
        let coverage = await fixture.api("GET", "/rules/acknowledge/coverage").json
        #expect(coverage["events"] == 2 && coverage["since"]?.asString != nil)
        let points = coverage["points"]?.asArray ?? []
        #expect(points.contains { $0["kind"] == "rule" && $0["missing"]?.isNull == true }, "\(points)")
        #expect(points.contains { $0["kind"] == "step" && $0["missing"] == "not_met" && $0["line"] == 7 }, "\(points)")
    }

    @Test func `the coverage includes the events of older runs before many others, up to a limit`() async throws {
        let fixture = try await ConsoleFixture(
            rule: Self.rule.replacing("task.title != \"nothing\"", with: "task.title == \"Rare\""))
        let rare = try await fixture.happen(["Rare"])
        #expect(rare.count == 1)
        // Beyond the places of the bus that are looked at; only the first has deliveries of the rule among the latest.
        await fixture.clock.advance(by: .seconds(8 * 86_400))
        _ = try await fixture.store.append(
            (0..<4600).map { number in
                Event(
                    .taskCreated(
                        Snapshot(key: TaskKey("other\(number)"), number: "INC9\(number)", title: "Other", url: ""),
                        in: "incidents"),
                    facts: "other-\(number)", source: "incidents", subject: "incidents/other\(number)", at: fixture.clock.now)
            })
        let coverage = await fixture.api("GET", "/rules/acknowledge/coverage").json
        let points = coverage["points"]?.asArray ?? []
        let condition = points.first { $0["kind"] == "condition" && $0["line"] == 3 }
        #expect(condition?["missing"]?.isNull == true, "\(points)")
        #expect((500...1500).contains(coverage["events"]?.asInt ?? 0), "\(coverage["events"] ?? .null)")
    }

    @Test func `a rule with errors in its file is still shown`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        _ = try await fixture.happen(["Printer"])
        try "rule: [".write(toFile: fixture.path, atomically: true, encoding: .utf8)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/rules/acknowledge")
        #expect(page.status == 200 && page.text.contains("rule: ["))
        #expect(await fixture.api("GET", "/rules/acknowledge/coverage").status == 422)
    }
}
