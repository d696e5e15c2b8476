import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite struct RESTActionTests {
    let practice = WebPractice()
    var api: SimulatedAPI { practice.api }

    private func perform(_ arguments: JSON.Object, connection: JSON.Object = [:], times: Int = 1) async throws -> Receipt {
        try await practice.open(connection) { connection in
            let action = try #require(connection.action("rest"))
            let delivery = SampleDelivery.make("rest", .values(arguments), to: "api")
            for _ in 1..<times { _ = try? await action.perform(delivery, attempt: SampleDelivery.first) }
            return try await action.perform(delivery, attempt: SampleDelivery.first)
        }
    }

    private func failure(_ arguments: JSON.Object, connection: JSON.Object = [:]) async -> Failure? {
        await BellhopConnectorsTests.failure { _ = try await perform(arguments, connection: connection) }
    }

    @Test func `an issue is made, and its id is in the receipt`() async throws {
        let receipt = try await perform(
            ["path": "issues", "json": ["title": "Fan broken", "priority": 1], "check": ["state": "open"], "receipt": "id"])
        #expect(api.issues.map(\.title) == ["Fan broken"])
        #expect(receipt.summary.hasPrefix("201 from api (127.0.0.1:"))
        #expect(receipt.summary.hasSuffix("): 1"))
    }

    @Test func `a lost answer is asked for again under the same key, and nothing is done twice`() async throws {
        practice.simulation.faults.add(.resetAfter)
        _ = try await perform(["path": "issues", "json": ["title": "once"]], times: 2)
        #expect(api.issues.count == 1 && api.writes == 1)
        let keys = practice.simulation.requests.all.map { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] == keys[1])
        #expect(keys[0] == SampleDelivery.make("rest", .values([:]), to: "api").id.text)
    }

    @Test func `a rule may want a lost answer held, except for what can be repeated`() async {
        api.add("a")
        for (method, path, remedy) in [
            ("POST", "issues", Failure.Remedy.hold), ("PATCH", "issues/1", .hold), ("PUT", "issues/1", .retry(after: nil)),
        ] {
            practice.simulation.faults.add(.resetAfter)
            let failure = await failure([
                "method": .string(method), "path": .string(path), "json": ["title": "b"], "unanswered": "hold",
            ])
            #expect(failure?.remedy == remedy, "\(method): \(failure?.message ?? "none")")
        }
        practice.simulation.faults.add(.resetBefore)
        #expect(await failure(["path": "issues", "json": ["title": "b"]])?.remedy == .retry(after: nil))
    }

    @Test func `each method does what it says`() async throws {
        api.add("a")
        _ = try await perform(["method": "PUT", "path": ["issues", "1"], "json": ["title": "b"]])
        #expect(api.issues.first?.title == "b")
        _ = try await perform(["method": "GET", "path": "issues/1", "check": ["title": "b"]])
        _ = try await perform(["method": "DELETE", "path": "issues/1", "expect": 204, "headers": ["idempotency-key": "another"]])
        #expect(api.issues.isEmpty)
        #expect(practice.simulation.requests.all.map(\.method) == ["PUT", "GET", "DELETE"])
        #expect(practice.simulation.requests.all[1].header("Idempotency-Key") == nil)
    }

    @Test func `an answer that does not say what it must is refused`() async {
        let failure = await failure(["path": "issues", "json": ["title": "a"], "check": ["state": "closed"]])
        #expect(failure?.reason == .refused && failure?.remedy == .giveUp)
        #expect(failure?.message.contains(#"`state` is "open", not "closed""#) == true, "\(failure?.message ?? "")")
    }

    @Test func `a part of a path cannot lead elsewhere`() async throws {
        api.add("a")
        #expect(await failure(["method": "DELETE", "path": ["issues", "1/../2?x"]])?.reason == .goneOrHidden)
        #expect(practice.simulation.requests.all.last?.path == "/rest/v1/issues/1/../2?x")
        for path in ["https://evil.example/x", "//evil.example", "a/../../admin", ["a", ".."], ["a", ""]] as [JSON] {
            let failure = await failure(["path": path])
            #expect(failure?.reason == .badArguments && failure?.remedy == .giveUp)
        }
        #expect(practice.simulation.requests.total == 1)
    }

    @Test(
        arguments: [
            (.tooManyRequests(.seconds(30)), .throttled, .retry(after: .seconds(30))),
            (.internalError, .serverError, .retry(after: nil)),
            (.forbidden, .forbidden, .giveUp), (.redirect(to: "/rest/v1/issues"), .refused, .giveUp),
        ] as [(Fault, Failure.Reason, Failure.Remedy)])
    func `refusals are what they are for a webhook`(_ fault: Fault, _ reason: Failure.Reason, _ remedy: Failure.Remedy) async {
        practice.simulation.faults.add(fault)
        let failure = await failure(
            ["path": "issues", "json": ["title": "a"]], connection: ["auth": ["bearer": "s3cret-token"]])
        #expect(failure?.reason == reason && failure?.remedy == remedy)
        #expect(api.writes == 0)
    }

    @Test func `credentials of the connection win over a rule's own`() async throws {
        api.door = .field("Authorization", "Bearer right")
        _ = try await perform(
            ["path": "issues", "json": ["title": "a"], "headers": ["authorization": "Bearer wrong"]],
            connection: ["auth": ["bearer": "right"]])
        #expect(api.writes == 1)
    }
}
