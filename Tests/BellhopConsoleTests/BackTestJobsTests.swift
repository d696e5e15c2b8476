import BellhopAgent
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConsole

@Suite(.timeLimit(.minutes(5)), .closing) struct `Back-tests from the console` {
    static let other = ConsoleFixture.rule.replacing("nothing", with: "Scanner")

    /// The back-test at an address, when it is over.
    private func over(_ fixture: ConsoleFixture, _ id: String) async throws -> JSON {
        while true {
            let job = await fixture.api("GET", "/backtests/\(id)").json
            if job["finished"]?.asString != nil { return job }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    @Test func `the address of a back-test returns its progress, then its report`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        _ = try await fixture.happen("Printer", "Scanner", "Printer")
        fixture.work()
        let file: JSON = ["file": .string(fixture.path), "text": .string(Self.other)]
        let (status, job, answer) = await fixture.api(
            "POST", "/backtests", as: .operator, body: ["files": [file], "against": "in-force", "coverage": true])
        let id = try #require(job["id"]?.asString)
        #expect(status == 202 && answer.field("Location") == "/api/v1/backtests/" + id)
        let done = try await over(fixture, id)
        #expect(done["state"] == "done" && done["progress"]?.asDouble == 1, "\(done)")
        let report = done["report"]
        #expect(report?["events"] == 3 && report?["rules"]?[0]?["runs"] == 2)
        #expect(report?["difference"]?["same"] == 2 && report?["difference"]?["goes"]?.asArray?.count == 1)
        let points = report?["coverage"]?["files"]?[0]?["points"]?.asArray ?? []
        #expect(points.count == 4 && points.allSatisfy { $0["missing"]?.isNull == true }, "\(points)")
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/backtests/" + id)
        #expect(page.text.contains("Would be removed") && page.text.contains("✓ | ") && !page.text.contains("http-equiv"))
    }

    @Test func `a long report is truncated, and its page shows the number of deliveries`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        _ = try await fixture.happen((0..<600).map { "Task \($0)" })
        fixture.work()
        let id = await fixture.beginBackTest()
        let report = try await over(fixture, id)["report"]
        #expect(report?["events"] == 600 && report?["deliveries"]?.asArray?.count == BackTestJobs.maxInList)
        #expect(report?["cut"] == true && report?["count"] == 600)
        let browser = try await fixture.logIn(as: .viewer)
        let page = await browser.get("/backtests/" + id).text
        #expect(page.contains("<p>+ 400+</p>") || page.contains("<p>+ 500</p>"))
    }

    @Test func `files run beside the rules in force, alone, or in place of all of them`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        _ = try await fixture.happen("Printer", "Scanner", "nothing")
        fixture.work()
        let draft: JSON = ["file": "drafts/a.yaml", "text": .string(Self.other.replacing("acknowledge", with: "greet"))]
        func report(_ more: JSON.Object) async throws -> JSON? {
            var body: JSON.Object = ["files": [draft], "against": "in-force"]
            for (name, value) in more { body[name] = value }
            let begun = await fixture.api("POST", "/backtests", as: .operator, body: .object(body)).json
            return try await over(fixture, begun["id"]?.asString ?? "")["report"]
        }
        for scope in ["beside", "alone", "all"] {
            let report = try await report(["scope": .string(scope)])
            #expect(report?["rules"]?.asArray?.map { $0["rule"]?.asString } == ["greet"], "\(scope)")
            #expect(report?["difference"]?["counts"]?["comes"] == 2, "\(scope)")
            #expect(report?["difference"]?["counts"]?["goes"] == (scope == "all" ? 2 : 0), "\(scope)")
        }
        let named: JSON.Object = ["rules": ["acknowledge"]]
        #expect(try await report(named)?["rules"]?[0]?["runs"] == 2)
        let alone = await fixture.api(
            "POST", "/backtests", as: .operator, body: ["files": [draft], "rules": ["acknowledge"], "scope": "alone"])
        #expect(alone.status == 422 && alone.json["detail"]?.asString?.contains("no rule `acknowledge`") == true)
        let empty = await fixture.api(
            "POST", "/backtests", as: .operator,
            body: ["files": [["file": "drafts/a.yaml", "text": "# later"]], "scope": "alone"])
        #expect(empty.status == 422 && empty.json["detail"]?.asString?.contains("no rules") == true, "\(empty.json)")
    }

    @Test func `rules with mistakes and unknown rules are refused at once`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true)
        let file: JSON = ["file": .string(fixture.path), "text": .string(Self.other.replacing("title", with: "titel"))]
        let wrong = await fixture.api("POST", "/backtests", as: .operator, body: ["files": [file]])
        #expect(wrong.status == 422 && wrong.json["detail"]?.asString?.contains("a.yaml:3:") == true)
        let mistake = try #require((wrong.json["problems"]?[0]).flatMap(Diagnostic.init(json:)))
        #expect(mistake.place?.file == fixture.path && mistake.place?.line == 3 && mistake.place?.excerpt != nil)
        let unknown = await fixture.api("POST", "/backtests", as: .operator, body: ["rules": ["acknowlege"]])
        #expect(unknown.status == 422 && unknown.json["detail"]?.asString?.contains("`acknowledge`") == true)
        #expect(await fixture.api("POST", "/backtests", as: .operator, body: ["since": "soon"]).status == 422)
        #expect(await fixture.api("POST", "/backtests", as: .viewer, body: [:]).status == 403)
    }

    @Test func `only a few back-tests wait, and a person can end a waiting one`() async throws {
        let fixture = try await ConsoleFixture()
        var ids: [String] = []
        for _ in 0..<BackTestJobs.maxWaiting { ids.append(await fixture.beginBackTest()) }
        let surplus = await fixture.api("POST", "/backtests", as: .operator, body: [:])
        #expect(surplus.status == 429 && surplus.answer.field("Retry-After") == "10")
        #expect(await fixture.api("DELETE", "/backtests/" + ids[0], as: .viewer).status == 403)
        let ended = await fixture.api("DELETE", "/backtests/" + ids[0], as: .operator)
        #expect(ended.json["state"] == "ended" && ended.json["problem"]?.asString != nil)
        #expect(await fixture.api("POST", "/backtests", as: .operator, body: [:]).status == 202)
        #expect(await fixture.api("DELETE", "/backtests/" + ids[0], as: .operator).status == 200)
        #expect(await fixture.api("GET", "/backtests/" + ids[0]).status == 404)
    }

    @Test func `a back-test that takes too long ends, and reports are kept for an hour`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let fixture = try await ConsoleFixture(inFiles: true) { gate.wait() }
        fixture.work()
        let id = await fixture.beginBackTest()
        while await fixture.api("GET", "/backtests/\(id)").json["state"] != "running" { await Task.yield() }
        try await fixture.clock.waitForSleepers(1)
        try await fixture.clock.run(until: fixture.clock.now + BackTestJobs.timeout)
        let job = try await over(fixture, id)
        #expect(job["state"] == "ended" && job["problem"]?.asString?.contains("10 minutes") == true, "\(job)")
        gate.signal()
        await fixture.clock.advance(by: BackTestJobs.retention)
        #expect(await fixture.api("GET", "/backtests/\(id)").status == 404)
    }

    @Test func `a person can end a running back-test, and the next one begins`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let fixture = try await ConsoleFixture(inFiles: true) { gate.wait() }
        fixture.work()
        let (first, second) = (await fixture.beginBackTest(), await fixture.beginBackTest())
        while await fixture.api("GET", "/backtests/\(first)").json["state"] != "running" { await Task.yield() }
        #expect(await fixture.api("GET", "/backtests/\(second)").json["state"] == "waiting")
        #expect(await fixture.api("DELETE", "/backtests/\(first)", as: .operator).json["state"] == "ended")
        gate.signal()
        gate.signal()
        let next = try await over(fixture, second)
        #expect(next["state"] == "done")
        #expect(await fixture.api("GET", "/backtests/\(first)").json["report"]?.isNull == true)
    }

    @Test func `a store that cannot be read is reported`() async throws {
        let fixture = try await ConsoleFixture(inFiles: true) { () throws(StoreError) in
            throw StoreError(.busy, "The store is locked.")
        }
        fixture.work()
        let id = await fixture.beginBackTest()
        let job = try await over(fixture, id)
        #expect(job["state"] == "failed" && job["problem"] == "The store is locked.")
    }

    @Test func `a page shows a back-test's progress, and refreshes itself`() async throws {
        let fixture = try await ConsoleFixture()
        let browser = try await fixture.logIn(as: .operator)
        let begun = await browser.post("/backtests", [("rule", "acknowledge"), ("since", "1d")])
        let page = await browser.get(try #require(begun.field("Location")))
        #expect(page.text.contains("<progress") && page.text.contains("<noscript><meta http-equiv=\"refresh\" content=\"2\">"))
        #expect(await browser.get("/backtests").text.contains("acknowledge"))
        #expect(await browser.post((begun.field("Location") ?? "") + "/end").status == 303)
    }
}
