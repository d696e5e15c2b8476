import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopTesting
import Foundation
import Testing

@testable import BellhopConsole

@Suite struct `The API` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    /// Values for the parameters of paths.
    private func target(
        _ operation: BellhopConsole.Operation, _ events: [Event], _ deliveries: [JSON], silence: String = "0123456789ab"
    ) -> String {
        var path = operation.path
        let values = [
            "{event}": events[0].id.text, "{delivery}": deliveries.first?["id"]?.asString ?? "", "{rule}": "acknowledge",
            "{receiver}": "ops", "{silence}": silence, "{task}": "INC1000", "{backtest}": "0123456789abcdef",
        ]
        for (name, value) in values { path = path.replacing(name, with: value) }
        return operation.id == "explain" ? path + "?event=" + events[0].id.text : path
    }

    private static let bodies: [String: JSON] = [
        "edit": ["before": "a", "after": "b"], "decide": ["command": "retry", "deliveries": ["00"]],
        "addSilence": ["for": "1h"], "inquire": ["inquiry": "status"], "saveRuleFile": ["text": "x"],
        "checkRuleFile": ["text": "x"], "testRuleFile": ["text": "x"],
        "makeRuleFile": ["file": "rules/new.yaml", "text": "x"], "checkNewRuleFile": ["file": "rules/new.yaml", "text": "x"],
        "testNewRuleFile": ["file": "rules/new.yaml", "text": "x"],
    ]

    @Test func `every operation answers with a status and a body that the document announces`() async throws {
        let events = try await fixture.happen("A printer burns", "Another")
        let deliveries = await fixture.api("GET", "/deliveries").json["deliveries"]?.asArray ?? []
        #expect(deliveries.count == 2)
        let silence = await fixture.api("POST", "/silences", as: .operator, body: ["for": "2h"]).json["id"]?.asString ?? ""
        for operation in Operations.all {
            if case .events = operation.content { continue }
            let body = Self.bodies[operation.id] ?? (operation.id == "replay" ? ["events": [.string(events[0].id.text)]] : [:])
            let (status, json, answer) = await fixture.api(
                operation.method.rawValue, target(operation, events, deliveries, silence: silence), as: .admin,
                body: operation.body == nil ? nil : body)
            #expect(
                status == operation.success || OpenAPI.problems(of: operation).contains(status),
                "\(operation.id): \(status) \(json)")
            if status == operation.success, case .json(let schema) = operation.content {
                #expect(schema.complaint(about: json, named: OpenAPI.schemas) == nil, "\(operation.id)")
            } else if status != operation.success {
                #expect(Schema.named("Problem").complaint(about: json, named: OpenAPI.schemas) == nil, "\(operation.id)")
                #expect(answer.field("Content-Type") == "application/problem+json")
            }
        }
    }

    @Test func `the document has each operation once, and only schemas that it defines`() async throws {
        let document = try #require(await fixture.api("GET", "/openapi.json").json.asObject)
        let text = JSON.object(document).text
        #expect(Set(Operations.all.map(\.id)).count == Operations.all.count)
        for operation in Operations.all {
            let described = document["paths"]?[operation.path]?[operation.method.rawValue.lowercased()]
            #expect(described?["operationId"]?.asString == operation.id)
            let matches = described?["parameters"]?.asArray?.filter { $0["name"] == "If-Match" } ?? []
            #expect(matches.count == (operation.problems.contains(412) ? 1 : 0))
            #expect(described?["responses"]?[String(operation.success)] != nil && described?["responses"]?["401"] != nil)
        }
        for match in text.matches(of: /#\/components\/schemas\/(\w+)/) {
            #expect(document["components"]?["schemas"]?[String(match.output.1)] != nil)
        }
    }

    @Test func `an unknown address, method, parameter or member is refused with the known ones`() async throws {
        #expect(await fixture.api("GET", "/nothing").status == 404)
        let wrong = await fixture.api("DELETE", "/status")
        #expect(wrong.status == 405 && wrong.answer.field("Allow") == "GET")
        #expect(await fixture.api("GET", "/deliveries/decisions").answer.field("Allow") == "POST")
        let parameter = await fixture.api("GET", "/events?sorce=x")
        #expect(parameter.status == 400 && parameter.json["detail"]?.asString?.contains("`source`") == true)
        let distant = await fixture.api("GET", "/deliveries?zzzzzzz=x").json["detail"]?.asString ?? ""
        #expect(distant.hasPrefix("There is no parameter `zzzzzzz`; there are: ") && distant.contains("`state`"))
        #expect(Words(language: .german).sentence(distant).hasPrefix("Es gibt keinen Filter `zzzzzzz`; es gibt: `"))
        #expect(await fixture.api("GET", "/events?limit=0").status == 400)
        #expect(await fixture.api("GET", "/events?limit=99999999999999999999").status == 400)
        #expect(await fixture.api("GET", "/events?since=tomorrow").status == 400)
        for path in ["/events?type=task_craeted", "/events/stream?type=task_craeted"] {
            let type = await fixture.api("GET", path)
            #expect(type.status == 400 && type.json["detail"]?.asString?.contains("`task_created`") == true)
        }
        let member = await fixture.api("POST", "/silences", as: .operator, body: ["for": "1h", "whn": "x"])
        #expect(member.status == 422 && member.json["detail"]?.asString?.contains("`when`") == true)
        #expect(await fixture.api("POST", "/silences", as: .operator, body: ["for": 4]).status == 422)
        #expect(await fixture.api("GET", "/rules/acknowlege").json["detail"]?.asString?.contains("`acknowledge`") == true)
    }

    @Test func `pages of events show each event once, even while others arrive`() async throws {
        _ = try await fixture.happen((0..<25).map { "Task \($0)" })
        var later = 100
        for path in ["/events", "/events?where=true"] {
            var (ids, before): ([String], Int64?) = ([], nil)
            let join = path.contains("?") ? "&" : "?"
            repeat {
                let page = await fixture.api("GET", "\(path)\(join)limit=7" + (before.map { "&before=\($0)" } ?? "")).json
                ids += (page["events"]?.asArray ?? []).compactMap { $0["data"]?["task"]?["number"]?.asString }
                before = page["next"]?.asInt
                _ = try await fixture.happen(["Later"], from: later)
                later += 1
            } while before != nil
            #expect(ids.filter { Int($0.dropFirst(3))! < 1100 } == (0..<25).reversed().map { "INC\(1000 + $0)" })
        }
    }

    @Test func `an id with which several events begin is refused, as an empty one is`() async throws {
        // More than the sixteen first digits that an id may have.
        let events = try await fixture.happen((0..<17).map { "Task \($0)" })
        let starts = Dictionary(grouping: events) { String($0.id.text.prefix(1)) }
        let start = try #require(starts.first { $0.value.count > 1 }?.key)
        for path in ["/explanations?event=", "/explanations/test?event=", "/events/"] {
            #expect(await fixture.api("GET", path + start, as: .operator).status == 409, "\(path)")
            #expect(await fixture.api("GET", path + events[0].id.text, as: .operator).status == 200, "\(path)")
        }
        for path in ["/explanations?event=", "/explanations?task=", "/explanations/test?event="] {
            #expect(await fixture.api("GET", path, as: .operator).status == 400, "\(path)")
        }
        let browser = try await fixture.logIn(as: .operator)
        for path in ["/events/\(start)", "/events/\(start)/test"] { #expect(await browser.get(path).status == 409, "\(path)") }
    }

    @Test func `a search takes a condition of the rules, and a wrong condition is explained`() async throws {
        _ = try await fixture.happen(["Printer", "Scanner", "Printer"])
        func numbers(_ when: String) async -> [String] {
            let page = await fixture.api("GET", "/events?where=" + PercentEncoding.encode(when)).json
            return (page["events"]?.asArray ?? []).compactMap { $0["data"]?["task"]?["number"]?.asString }
        }
        #expect(await numbers("task.title == 'Printer'") == ["INC1002", "INC1000"])
        #expect(await numbers("event.type == 'task_created' && task.number.endsWith('1')") == ["INC1001"])
        let wrong = await fixture.api("GET", "/events?where=" + PercentEncoding.encode("tsk.title == 'x'"))
        #expect(wrong.status == 422 && wrong.json["detail"]?.asString?.contains("`task`") == true)
        // With the place of the mistake, for programs.
        let mistake = (wrong.json["problems"]?.asArray ?? []).compactMap(Diagnostic.init(json:)).first
        #expect(mistake?.place == .init(file: "<where>", line: 1, column: 1, length: 3, excerpt: "tsk.title == 'x'"))
        #expect(mistake?.help == "did you mean `task`?" && mistake?.code == "unknown-name")
        for path in ["/events", "/deliveries", "/tasks", "/events/stream"] {
            let long = await fixture.api("GET", path + "?where=" + String(repeating: "%20", count: 8192) + "1")
            #expect(long.status == 422 && long.json["detail"]?.asString?.contains("at most 8192") == true, "\(path)")
        }
        let silence = await fixture.api("POST", "/silences", as: .operator, body: ["for": "1h", "when": "tsk == 1"])
        #expect(silence.status == 422 && silence.json["problems"]?[0]?["file"] == "<when>")
    }

    @Test func `an answer that has not changed is not sent again`() async throws {
        let first = await fixture.api("GET", "/rules").answer
        let tag = try #require(first.field("ETag"))
        let second = await fixture.api("GET", "/rules", headers: [("If-None-Match", tag)]).answer
        #expect(second.status == 304 && second.bytes.isEmpty)
        // HEAD has the fields that GET has.
        #expect(await fixture.api("HEAD", "/rules").answer.field("ETag") == tag)
        #expect(await fixture.api("HEAD", "/rules", headers: [("If-None-Match", tag)]).status == 304)
        _ = try await fixture.view.ask(.pause(.rule("acknowledge"), reason: ""))
        #expect(await fixture.api("GET", "/rules", headers: [("If-None-Match", tag)]).status == 200)
    }

    @Test func `a search ends at its time limit, and says where the next one continues`() async throws {
        _ = try await fixture.happen((0..<10).map { "Printer \($0)" })
        let book = try #require(fixture.view.book())
        let filter = try EventFilter("true", context: book.context)
        var (seen, place): ([Int64], Int64?) = ([], nil)
        for _ in 0..<4 {
            var looked = 0
            let page = try await filter.search(
                EventQuery(limit: 100), limit: 100, before: place, at: fixture.clock.now,
                isOver: {
                    looked += 1
                    return looked == 3
                }
            ) { query in try await fixture.view.inquirer.newest(query) }
            seen += page.rows.compactMap { $0["sequence"]?.asInt }
            place = page.next
        }
        #expect(seen == Array((1...10).reversed()))
        #expect(place == nil)
    }

    @Test func `inquiries of the command line get the rows of the control socket`() async throws {
        _ = try await fixture.happen(["Printer", "Scanner"])
        let answer = await fixture.api("POST", "/inquiries", body: Inquiry.events(EventQuery()).json).answer
        #expect(answer.field("X-Accel-Buffering") == "no")
        var stream = try answer.stream
        var text = ""
        while let piece = try await stream.next() { text += piece }
        let lines = text.split(separator: "\n").compactMap { try? JSON.parse(String($0)) }
        #expect(lines.count == 3 && lines[0]["row"]?["type"] == "task_created" && lines[2]["end"]?["end"] == 2)
    }
}

@Suite struct `Inquiries and request bodies` {
    @Test func `an inquiry that fails has the status and the form of a problem`() async throws {
        let fixture = try await ConsoleFixture()
        let unknown = await fixture.api("POST", "/inquiries", as: .operator, body: Inquiry.endSilence("nosuch").json)
        #expect(unknown.status == 409 && unknown.answer.field("Content-Type") == "application/problem+json")
        #expect(unknown.json["detail"].textOrEmpty.contains("`nosuch`"))
        for limit: JSON in [0, -5, "many", 1.5] {
            for kind in ["events", "deliveries", "audit", "history"] {
                let answer = await fixture.api("POST", "/inquiries", body: ["inquiry": .string(kind), "limit": limit])
                #expect(answer.status == 422 && answer.json["detail"].textOrEmpty.contains("`limit`"), "\(kind) \(limit)")
            }
        }
        #expect(await fixture.api("POST", "/inquiries", body: ["inquiry": "events", "limit": 1]).status == 200)
    }

    @Test func `a request without a body needs no content type, unless its operation needs a body`() async throws {
        let fixture = try await ConsoleFixture()
        for path in ["/writes/pause", "/writes/resume", "/receivers/ops/pause", "/rules/acknowledge/pause"] {
            #expect(await fixture.api("POST", path, as: .operator).status == 200, "\(path)")
        }
        for path in ["/deliveries/decisions", "/replays", "/inquiries"] {
            #expect(await fixture.api("POST", path, as: .operator).status == 422, "\(path)")
        }
        let typed = ConsoleRequest(
            "POST", "/api/v1/writes/pause",
            headers: [("Authorization", "Bearer \(ConsoleFixture.tokens[.operator] ?? "")"), ("Content-Type", "text/plain")])
        #expect(await fixture.desk.answer(typed).status == 415)
        let document = await fixture.api("GET", "/openapi.json").json["paths"]
        func isRequired(_ path: String) -> JSON? { document?[path]?["post"]?["requestBody"]?["required"] }
        #expect(isRequired("/writes/pause") == false && isRequired("/replays") == true && isRequired("/inquiries") == true)
    }
}

@Suite struct `Reasons` {
    @Test func `a reason of more than 1,000 bytes is refused, because every status has it`() async throws {
        let fixture = try await ConsoleFixture()
        func answers(_ reason: String) async -> [Int] {
            var answers: [Int] = []
            for path in ["/rules/acknowledge/pause", "/receivers/ops/pause", "/writes/pause"] {
                answers.append(await fixture.api("POST", path, as: .operator, body: ["reason": .string(reason)]).status)
            }
            let silence: JSON = ["for": "1h", "reason": .string(reason)]
            return answers + [await fixture.api("POST", "/silences", as: .operator, body: silence).status]
        }
        #expect(await answers(String(repeating: "ü", count: 501)) == [409, 409, 409, 409])
        #expect(try await fixture.store.pauses() == [])
        #expect(try await fixture.store.stops() == [])
        #expect(try await fixture.store.silences() == [])
        #expect(await answers(String(repeating: "ü", count: 500)) == [200, 200, 200, 200])
        let browser = try await fixture.logIn(as: .operator)
        let page = await browser.post("/silences", [("for", "2h"), ("reason", String(repeating: "x", count: 1001))])
        #expect(page.status == 409 && page.text.contains("The reason has 1001 bytes"))
    }
}

@Suite struct `The guide to the console` {
    @Test func `the guide lists every operation with its role`() throws {
        let table =
            "| operation | role | |\n|---|---|---|\n"
            + Operations.all.map { "| `\($0.method.rawValue) /api/v1\($0.path)` | \($0.role.rawValue) | \($0.summary) |\n" }
            .joined()
        let path = "Sources/BellhopAgent/BellhopAgent.docc/Console-API.md"
        let page = try Repository.text(path)
        let (begin, end) = ("<!-- operations -->\n\n", "\n<!-- end -->\n")
        if ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil {
            let head = page.components(separatedBy: begin)[0]
            try (head + begin + table + end).write(to: Repository.root.appending(path: path), atomically: true, encoding: .utf8)
        } else {
            #expect(page.contains(begin + table + end), "Write it with BELLHOP_RECORD=1.")
        }
    }

    @Test func `the guide lists every page`() throws {
        let page = try Repository.text("Sources/BellhopAgent/BellhopAgent.docc/Console.md")
        for path in Set(Pages.all.compactMap { $0.path.split(separator: "/").first }) { #expect(page.contains("`/\(path)")) }
    }
}
