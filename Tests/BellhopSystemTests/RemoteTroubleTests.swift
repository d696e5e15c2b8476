import BellhopCore
import BellhopTesting
import Simulator
import Testing

/// Instances that do not answer, or answer wrongly.
@Suite(.timeLimit(.minutes(5)), .closing) struct RemoteTroubleTests {
    private static let rules = "rule: acknowledge\non: task_created\nonce: task.id\ndo: [{comment: Seen}]\n"

    @Test func `a source whose instance accepts connections but never answers is shown as preparing`() async throws {
        let silent = try LoopbackListener()
        defer { withExtendedLifetime(silent) {} }
        func configuration(_ here: String) -> String {
            """
            version: 1
            connections:
              snow: {kind: servicenow, instance: "\(here)", auth: {basic: {username: john.doe, password: "${{ env.PASSWORD }}"}}}
              away: {kind: servicenow, instance: "http://127.0.0.1:\(silent.port)", auth: {basic: {username: a, password: b}}}
            sources:
              my-work: {kind: tracker, connection: snow, every: 1s}
              problems: {kind: table, connection: away, table: problem, every: 1s}

            """
        }
        let stage = try await Stage.set(rules: "", configuration: configuration)
        try stage.folder.write("rules/none", "")
        let agent = try stage.start(["run"])
        func sources() async throws -> [JSON] {
            let status = try await stage.bellhop("status", "--json")
            return status.code == 0 ? try JSON.parse(status.output)["sources"]?.asArray ?? [] : []
        }
        try await eventually("one is fine") { try await sources().contains { $0["state"] == "fine" } }
        let away = try #require(try await sources().first { $0["source"] == "problems" }, "the source is missing")
        #expect(away["state"] == "preparing" && away["since"]?.asString != nil, "\(away)")
        let text = try await stage.bellhop("status").output
        #expect(text.split(separator: "\n").contains { $0.hasPrefix("problems") && $0.contains("preparing") }, "\(text)")
        #expect(await agent.stop().code == 0)
    }

    @Test func `a hibernating instance is reported as hibernating, and no change is lost`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let first = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await stage.bellhop("run", "--once")
        stage.simulation.faults.add(.hibernating, times: nil)
        let second = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        for _ in 1...2 {
            let asleep = try await stage.bellhop("run", "--once")
            #expect(asleep.code == 69)
            #expect(asleep.errors.contains("hibernat"))
            stage.time.pass(.seconds(3600))
        }
        stage.simulation.faults.removeAll()
        let awake = try await stage.bellhop("run", "--once")
        #expect(awake.code == 0, "\(awake.errors)")
        let types = try await stage.events().compactMap { $0["type"]?.asString }.filter { $0.hasPrefix("task_") }
        #expect(types == ["task_created", "task_created"])
        for task in [first, second] { #expect(stage.notes(on: task.id).count == 1) }
        #expect(stage.instance.counts.failedLogins == 0)
    }

    /// Faulty answers to a poll.
    static let halfAnswers: [Fault] = [
        .cutBody, .truncatedJSON, .transactionCancelled, .emptyList, .internalError, .badGateway, .accepted, .resetBefore,
        .resetAfter, .loginPage, .redirectToLogin, .tooManyRequests(.seconds(1)), .status(200, body: "{}"),
        .status(200, body: "[]"),
    ]

    @Test(arguments: halfAnswers) func `a faulty answer to a poll loses no task and removes none`(_ fault: Fault) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        for number in 1...3 { stage.instance.addTask(title: "Number \(number)", assignedTo: Stage.user) }
        try await stage.bellhop("run", "--once")
        let fourth = stage.instance.addTask(title: "Number 4", assignedTo: Stage.user)
        stage.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work")
        let spoilt = try await stage.bellhop("run", "--once")
        #expect([0, 1, 69, 75].contains(spoilt.code), "\(spoilt.errors)")
        #expect(stage.simulation.faults.struck == 1)
        stage.time.pass(.seconds(600))
        let clean = try await stage.bellhop("run", "--once")
        #expect(clean.code == 0, "\(clean.errors)")
        let types = try await stage.events().compactMap { $0["type"]?.asString }.filter { $0.hasPrefix("task_") }
        #expect(types == Array(repeating: "task_created", count: 4))
        #expect(stage.notes(on: fourth.id).count == 1)
    }

    /// The fates of a request for a comment, and whether it is written.
    static let uncertainReplies: [(Fault, Bool)] = [
        (.resetAfter, true), (.resetBefore, false), (.cutBody, true), (.badGateway, false), (.badGateway, true),
        (.internalError, false), (.internalError, true), (.accepted, false), (.truncatedJSON, true), (.nothingWritten, false),
        (.tooManyRequests(.seconds(5)), false), (.sessionLost, false),
    ]

    @Test(arguments: uncertainReplies)
    func `a comment whose reply is lost or wrong is written exactly once`(_ fault: Fault, _ isWritten: Bool) async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        stage.simulation.faults.add(FaultRule(fault, method: "POST", path: "/api/x_snc_my_work", takesEffect: isWritten))
        for _ in 1...6 {
            try await stage.bellhop("run", "--once")
            stage.time.pass(.seconds(600))
        }
        #expect(stage.simulation.faults.struck == 1)
        #expect(stage.notes(on: task.id).map(\.text) == ["Seen"])
        #expect(try await stage.deliveries().map { $0["state"] } == ["done"])
    }

    @Test func `a failing source does not keep another from being polled`() async throws {
        func configuration(_ address: String) -> String {
            """
            version: 1
            connections:
              away: {kind: servicenow, instance: "http://127.0.0.1:9", auth: {basic: {username: x, password: "${{ env.PASSWORD }}"}}}
              snow: {kind: servicenow, instance: "\(address)", auth: {basic: {username: john.doe, password: "${{ env.PASSWORD }}"}}}
            sources:
              first: {kind: tracker, connection: away, every: 1s}
              my-work: {kind: tracker, connection: snow, every: 1s, initial: emit}

            """
        }
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let once = try await stage.bellhop("run", "--once")
        #expect(once.code == 69)
        #expect(stage.notes(on: task.id).count == 1)

        let agent = try stage.start(["run"])
        let other = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the other source is read") { stage.notes(on: other.id).count == 1 }
        #expect(await agent.stop().code == 0)
    }
}
