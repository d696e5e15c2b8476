import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct FaultTests {
    let office = Office()

    private func list(with fault: Fault) async throws -> Answer {
        office.instance.addTask(title: "A", assignedTo: "john.doe")
        office.instance.addTask(title: "B", assignedTo: "john.doe")
        office.simulation.faults.add(fault)
        return try await office.open { try await $0.list() }
    }

    @Test(arguments: [
        (Fault.internalError, 500), (.badGateway, 502), (.accepted, 202), (.forbidden, 403), (.redirectToLogin, 302),
        (.tooManyRequests(.unspecified), 429), (.status(418, body: "tea"), 418), (.hibernating, 200), (.loginPage, 200),
    ])
    func `a fault replaces the instance's answer`(_ fault: Fault, _ status: Int) async throws {
        let answer = try await list(with: fault)
        #expect(answer.status == status)
        #expect(office.instance.counts.logins == 0)
    }

    @Test func `a 429 states the wait in seconds, as a date, as a reset time, or not at all`() async throws {
        #expect(try await list(with: .tooManyRequests(.seconds(3600))).header("Retry-After") == "3600")
        let date = try await list(with: .tooManyRequests(.date(in: 90))).header("Retry-After")
        #expect(date == "Mon, 05 Jan 2026 09:01:30 GMT")
        let reset = try await list(with: .tooManyRequests(.rateLimitReset(in: 60)))
        #expect(reset.header("X-RateLimit-Reset") == "1767603660")
        #expect(reset.header("Retry-After") == nil)
        #expect(try await list(with: .tooManyRequests(.unspecified)).header("Retry-After") == nil)
    }

    @Test func `HTML can be sent in place of JSON`() async throws {
        #expect(try await list(with: .hibernating).text.contains("instance-hibernating-page"))
        #expect(try await list(with: .loginPage).text.contains("login.do"))
        let gateway = try await list(with: .badGateway)
        #expect(gateway.text.contains("nginx"))
        #expect(gateway.header("Content-Type") == "text/html;charset=UTF-8")
    }

    @Test func `a redirect can lead to any address`() async throws {
        let answer = try await list(with: .redirect(to: "https://idp.example.com/login"))
        #expect(answer.header("Location") == "https://idp.example.com/login")
    }

    @Test func `an answer can be cut, truncated or empty, and a query cancelled`() async throws {
        await #expect(throws: (any Error).self) { try await list(with: .cutBody) }
        let truncated = try await list(with: .truncatedJSON)
        #expect(truncated.status == 200)
        #expect(throws: JSONError.self) { try truncated.json() }
        #expect(try await list(with: .emptyList).text == #"{"result":{}}"#)
        let cancelled = try await list(with: .transactionCancelled)
        #expect(cancelled.status == 200)
        #expect(try cancelled.json()["error"]?["message"]?.asString?.hasPrefix("Transaction cancelled") == true)
        #expect(try cancelled.result?["Incident"]?.asArray?.count == 4)
    }

    @Test func `a reset before the request has no effect, and a reset after it loses only the reply`() async throws {
        let task = office.instance.addTask(title: "A")
        var client = try await office.open()
        office.simulation.faults.add(.resetBefore, "POST")
        await #expect(throws: (any Error).self) { try await client.comment("one", on: task.id) }
        #expect(office.instance.journal.isEmpty)
        office.simulation.faults.add(.resetAfter, "POST")
        await #expect(throws: (any Error).self) { try await client.comment("two", on: task.id) }
        #expect(office.instance.journal.map(\.text) == ["two"])
        #expect(try await client.comment("three", on: task.id).status == 201)
    }

    @Test func `a session lost during a request is answered 401 and is gone`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        client.authorization = nil
        office.simulation.faults.add(.sessionLost)
        let answer = try await client.list()
        #expect(answer.status == 401)
        #expect(answer.header("X-Is-Logged-In") == "false")
        #expect(office.instance.openSessions == 0)
    }

    @Test func `a write can take effect although its answer is an error`() async throws {
        let task = office.instance.addTask(title: "A")
        office.simulation.faults.add(FaultRule(.internalError, method: "POST", takesEffect: true))
        let answer = try await office.open { try await $0.comment("one", on: task.id) }
        #expect(answer.status == 500)
        #expect(office.instance.journal.count == 1)
    }

    @Test func `a 201 can be sent without a write`() async throws {
        let task = office.instance.addTask(title: "A")
        office.simulation.faults.add(.nothingWritten)
        let answer = try await office.open { try await $0.comment("one", on: task.id) }
        #expect(answer.status == 201)
        #expect(office.instance.journal.isEmpty)
    }

    @Test func `a fault rule skips and affects as many requests as configured`() {
        let plan = office.simulation.faults
        plan.add(.internalError, path: "/api", skip: 1, times: 2)
        plan.add(.badGateway)
        plan.add(.slow(milliseconds: 5), "POST", times: nil)
        let draws = (0..<5).map { _ in plan.draw(for: "GET", "/api/now").ending }
        #expect(draws == [.badGateway, .internalError, .internalError, nil, nil])
        #expect(plan.draw(for: "POST", "/hooks/ops").milliseconds == 5)
        #expect(plan.rules.map(\.struck) == [2, 1, 1])
    }

    @Test func `the seed determines random faults`() {
        func draws() -> [Bool] {
            let plan = FaultPlan(seed: 7)
            plan.add(FaultRule(.internalError, times: nil, probability: 0.5))
            return (0..<40).map { _ in plan.draw(for: "GET", "/").ending != nil }
        }
        #expect(draws() == draws())
        #expect(Set(draws()).count == 2)
    }

    @Test func `the server stops at once even while a request is delayed`() async throws {
        office.simulation.faults.add(.slow(milliseconds: 3_600_000))
        let clock = ContinuousClock()
        let start = clock.now
        try await SimulatorServer(office.simulation).serve { url in
            let request = Task {
                var mine = Client(url)
                return try await mine.list()
            }
            while office.simulation.requests.total == 0 { try await Task.sleep(for: .milliseconds(5)) }
            request.cancel()
        }
        #expect(clock.now - start < .seconds(300))
    }

    @Test func `a hanging host accepts a request but never answers`() async throws {
        let task = office.instance.addTask(title: "A")
        var client = try await office.open()
        client.timeout = .seconds(60)
        let patient = client
        for (takesEffect, kept) in [(false, []), (true, ["one"])] {
            office.simulation.faults.add(FaultRule(.hangs, method: "POST", takesEffect: takesEffect))
            let request = Task {
                var mine = patient
                return try await mine.comment("one", on: task.id).status
            }
            for _ in 0..<6000
            where office.simulation.faults.rules.last?.struck == 0 || office.instance.journal.map(\.text) != kept {
                try await Task.sleep(for: .milliseconds(5))
            }
            request.cancel()
            await #expect(throws: (any Error).self) { try await request.value }
            #expect(office.instance.journal.map(\.text) == kept)
        }
        #expect(try await client.list().status == 200)
    }

    @Test func `a falsely empty list states the count zero or the real count`() async throws {
        office.instance.addTask(title: "A")
        office.simulation.api.add("Door stuck")
        var client = try await office.open()
        let table = "/api/now/v2/table/incident?sysparm_query=active=true&sysparm_limit=10"
        for (fault, count) in [(Fault.emptyList, 0), (.emptyListCounted, 1)] {
            office.simulation.faults.removeAll()
            office.simulation.faults.add(fault, "GET", query: "active=true", times: nil)
            office.simulation.faults.add(fault, "GET", path: "/rest/v1", times: nil)
            let empty = try await client.get(table)
            #expect(try empty.result?.asArray?.isEmpty == true)
            #expect(empty.header("X-Total-Count") == String(count))
            let other = try await client.get(table.replacing("active=true", with: "numberISNOTEMPTY"))
            #expect(try other.result?.asArray?.count == 1)
            #expect(try await client.get("/rest/v1/list").json().asArray?.isEmpty == true)
            #expect(try await client.get("/rest/v1/page?page=1").json()["total"] == .int(count))
            #expect(try await client.get("/rest/v1/issues/1").json()["title"] == "Door stuck")
        }
    }

    @Test func `a 503 states when to retry`() async throws {
        let answer = try await list(with: .unavailable(.seconds(60)))
        #expect(answer.status == 503)
        #expect(answer.header("Retry-After") == "60")
    }

    @Test func `requests above a rate limit are answered 429 and counted`() async throws {
        let faults = office.simulation.faults
        var client = try await office.open()
        let rule = #"{"fault":"rate_limit","requests":2,"seconds":10,"retry_after":1,"path":"/hooks/ops"}"#
        #expect(try await client.send(.POST, "/simulator/faults", body: rule).status == 201)
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await client.send(.POST, "/hooks/ops", body: #"{"text":"a"}"#).status) }
        #expect(statuses == [200, 200, 429])
        #expect(try await client.send(.POST, "/hooks/other", body: #"{"text":"a"}"#).status == 200)
        office.clock.advance(seconds: 9)
        #expect(try await client.send(.POST, "/hooks/ops", body: #"{"text":"a"}"#).header("Retry-After") == "1")
        office.clock.advance(seconds: 1)
        #expect(try await client.send(.POST, "/hooks/ops", body: #"{"text":"a"}"#).status == 200)
        #expect(faults.rules.map(\.seen) == [5])
        #expect(faults.rules.map(\.struck) == [2])
        #expect(faults.rules.first?.rule.times == nil)
        #expect(office.simulation.receivers.received(by: "ops").count == 3)
    }

    @Test func `a port in use is reported`() async throws {
        let client = try await office.open()
        let port = try #require(client.base.split(separator: ":").last.flatMap { Int($0) })
        let error = await #expect(throws: SimulatorServer.Problem.self) {
            try await SimulatorServer(office.simulation, port: port).run()
        }
        guard case .cannotListen(port, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
