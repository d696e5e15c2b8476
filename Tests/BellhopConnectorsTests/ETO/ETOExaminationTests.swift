import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct ETOExaminationTests {
    let practice = ETOPractice()

    static let needs = ConnectionNeeds(
        sources: [
            .init(
                name: "visits", kind: "touchpoints", settings: Settings(["touchpoint": "14", "subject": ["501"]]),
                schema: TaskSchema([]))
        ],
        actions: [.init(rule: "r", action: "touchpoint", constants: ["touchpoint": "14", "subject": "501"])])

    init() {
        practice.eto.addTouchPoint(14, "Visit")
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: [])
    }

    private func examine(password: String = ETOPractice.password, _ more: JSON.Object = [:]) async throws -> [String] {
        try await practice.open(password: password, more).examine(Self.needs)
            .map { "\($0.state.rawValue) \($0.subject)" }
    }

    @Test func `the examination of a complete system reports every step, with one login and no writes`() async throws {
        #expect(
            try await examine(["program": "Housing"]) == [
                "ok connection", "ok login", "ok enterprise", "ok site", "ok site login", "ok program", "ok clock",
                "ok read visits", "unknown add to 14",
            ])
        #expect(practice.eto.counts.logins == 1)
        #expect(
            practice.simulation.requests.all.filter { $0.method != "GET" }.map(\.path) == ["/API/Security.svc/SSOAuthenticate/"])
    }

    @Test(
        arguments: [
            ("login", ["x": .null]), ("enterprise", ["enterprise": "Nowhere"]), ("site", ["site": "99"]),
            ("program", ["program": "Old"]),
        ] as [(String, JSON.Object)])
    func `a missing step is named, and the steps after it are not requested`(_ step: String, _ more: JSON.Object) async throws {
        let lines = try await examine(password: step == "login" ? "wrong" : ETOPractice.password, more)
        #expect(lines.suffix(2) == ["missing \(step)", "ok clock"])
        #expect(!practice.requestNames.contains("ListTouchPointResponses"))
        #expect(practice.eto.counts.failedLogins == (step == "login" ? 1 : 0))
    }

    @Test func `doctor, query and the agent try a refused password once in all, and a person's login tries it again`()
        async throws
    {
        let address = try await practice.simulation.serve()
        /// Runs the body with a new connection, as in another process.
        func ask(_ work: (ETOConnection) async throws -> Void) async throws -> Failure? {
            let connection = try await practice.open(at: address, password: "wrong")
            return await failure { try await work(connection) }
        }
        for _ in 0..<2 {
            _ = try await ask { connection in
                let findings = await connection.examine(Self.needs)
                #expect(findings.contains { $0.state == .missing && $0.subject == "login" })
            }
            // As both the agent and `query` do.
            let refused = try await ask { _ = try await practice.source($0).list(from: LastPoll()) }
            #expect(refused?.remedy == .pauseConnection)
        }
        #expect(practice.eto.counts.failedLogins == 1)
        #expect(try await ask { _ = try await $0.verifyLogin(Self.needs) } != nil)
        #expect(practice.eto.counts.failedLogins == 2)
    }

    @Test(arguments: ["GetSSOEnterprises", "GetSSOSites", "SSOSiteLogin"])
    func `a failing step of the services is reported by name, without a token`(_ step: String) async throws {
        practice.simulation.faults.add(.otherSystem(.etoDetail), path: "/API/Security.svc/\(step)", times: nil)
        let findings = try await practice.open().examine(Self.needs)
        let names = ["GetSSOEnterprises": "enterprise", "GetSSOSites": "site", "SSOSiteLogin": "site login"]
        #expect(findings.first { $0.state == .missing }?.subject == names[step])
        for secret in practice.eto.secrets { #expect(!"\(findings)".contains(secret)) }
    }

    @Test func `unreadable responses and a missing TouchPoint are reported`() async throws {
        practice.simulation.faults.add(.status(403, body: ""), path: "/API/TouchPoint.svc/ListTouchPointResponses", times: nil)
        #expect(try await examine().contains("missing read visits"))
        // They may be readable in their own program, and the examination does not change the program.
        #expect(try await examine(["program": "Housing"]).contains("unknown read visits"))
        #expect(practice.eto.counts.programChanges == 0)
        var needs = Self.needs
        needs.actions[0].constants["touchpoint"] = 99
        let findings = try await practice.open().examine(needs)
        #expect(findings.contains { $0.subject == "add to 99" && $0.state == .missing })
    }

    @Test func `a wrong program or TouchPoint in a source or rule is reported as missing, and nothing is changed`() async throws {
        func verdicts(_ source: JSON.Object, _ action: JSON.Object) async throws -> [Finding] {
            var needs = Self.needs
            for (name, value) in source { needs.sources[0].settings.values[name] = value }
            for (name, value) in action { needs.actions[0].constants[name] = value }
            return try await practice.open().examine(needs)
        }
        for program in ["Nope", "99"] as [JSON] {
            let findings = try await verdicts(["program": program], ["program": program])
            for subject in ["read visits", "add to 14"] {
                let finding = findings.first { $0.subject == subject }
                #expect(finding?.state == .missing && finding?.text.contains("Intake, Housing") == true, "\(subject)")
            }
        }
        let absent = try await verdicts(["touchpoint": "99"], [:]).first { $0.subject == "read visits" }
        #expect(absent?.state == .missing && absent?.text == "there is no TouchPoint 99 for this account")
        let right = try await verdicts(["program": "Intake"], ["program": "2"]).map { "\($0.state.rawValue) \($0.subject)" }
        #expect(right.contains("ok read visits") && right.contains("unknown add to 14"))
        #expect(practice.eto.counts.programChanges == 0)
    }

    @Test func `a clock that differs from the services' is reported`() async throws {
        let clock = TestClock(at: practice.clock.now - .seconds(600))
        let settings = practice.settings(try await practice.simulation.serve())
        var environment = practice.environment
        environment.clock = clock
        let connection = try await ETOConnection(name: "eto", settings: settings, in: environment).untilTestEnds()
        let findings = await connection.examine(Self.needs)
        #expect(findings.contains { $0.text == "this machine's clock is 600 s behind ETO's" })
    }
}
