import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct ExaminationTests {
    let practice = Practice()
    var instance: SimulatedInstance { practice.instance }

    static let schema = TaskSchema([
        .init("number", .text), .init("state", .int), .init("caller", .text, path: "assigned_to.name"),
    ])
    static let tracker = ConnectionNeeds.SourceNeed(name: "my-work", kind: "tracker", settings: Settings(), schema: schema)
    static let needs = ConnectionNeeds(
        sources: [tracker],
        actions: [
            .init(rule: "r", action: "comment"), .init(rule: "r", action: "comment", constants: ["visibility": "customer"]),
            .init(rule: "r", action: "update", fields: ["state"]), .init(rule: "r", action: "attach"),
            .init(rule: "r", action: "create", fields: ["short_description"], constants: ["table": "problem"]),
        ])

    static let rules: [SimulatedAccessRule] = [
        .init("incident", .write, roles: ["itil", "sn_incident_write"]), .init("incident", .read, roles: ["nobody"]),
        .init("task.*", .write, roles: ["itil"]), .init("*", .create, roles: ["itil"]),
    ]

    init() {
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        practice.instance.addNote("A note", .workNotes, on: task.id, by: "john.doe")
    }

    private func examine(_ needs: ConnectionNeeds = Self.needs, password: String = "correct horse") async throws -> [String] {
        try await practice.open(password: password).examine(needs)
            .map { "\($0.state.rawValue) \($0.subject)" }
    }

    @Test func `a complete instance passes every check, and nothing is written`() async throws {
        instance.accessRules = Self.rules
        let before = instance.revision
        #expect(
            try await examine() == [
                "ok connection", "ok login", "ok clock", "ok task tracker", "ok read task", "ok read journal",
                "ok write work_notes", "ok write comments", "ok update", "ok attach", "ok create problem",
            ])
        #expect(instance.revision == before)
        #expect(practice.simulation.requests.all.allSatisfy { $0.method == "GET" })
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a wrong password is reported on one line, and tried once`() async throws {
        #expect(try await examine(password: "wrong") == ["ok connection", "missing login"])
        #expect(instance.counts.failedLogins == 1)
    }

    @Test func `an unreachable instance is reported on one line`() async throws {
        let connection = try practice.connection("http://127.0.0.1:9")
        let findings = await connection.examine(Self.needs)
        #expect(findings.map(\.state) == [.missing])
        #expect(findings[0].reason == .unreachable)
    }

    @Test func `a missing update set is an error for a tracker and a note for comments`() async throws {
        instance.settings.hasTracker = false
        #expect(try await examine().contains("missing task tracker"))
        #expect(try await examine(ConnectionNeeds(actions: Self.needs.actions)).contains("note task tracker"))
    }

    @Test func `unreadable records, journal and roles are each reported with a remedy`() async throws {
        instance.changeUser("john.doe") {
            $0.tasks = .forbidden
            $0.journal = .forbidden
            $0.attachments = .forbidden
            $0.roles = []
        }
        let lines = try await examine()
        for line in [
            "note read task", "note read journal", "missing read files", "missing read problem", "unknown write work_notes",
            "unknown update",
        ] { #expect(lines.contains(line), "\(line)") }
    }

    private func lines(_ rules: [SimulatedAccessRule]?, roles: [String] = ["itil"]) async throws -> [String: Finding] {
        instance.accessRules = rules
        instance.changeUser("john.doe") { $0.roles = roles }
        let findings = try await practice.open().examine(Self.needs)
        return Dictionary(findings.map { ($0.subject, $0) }) { first, _ in first }
    }

    @Test func `with hidden access rules write access is unknown, and the remedy names the permission to check`() async throws {
        for roles in [["itil"], ["admin"], []] {
            let lines = try await lines(nil, roles: roles)
            let note = try #require(lines["write work_notes"])
            #expect(note.state == .unknown)
            #expect(note.remedy?.contains("may write `work_notes` of incident (sys_security_acl)") == true)
            #expect(note.text.contains(roles.first ?? "neither the role"))
        }
    }

    @Test func `the most specific access rule decides, of the table and of the field`() async throws {
        let rules = Self.rules + [.init("incident.work_notes", .write, roles: ["note_writer"])]
        let lines = try await lines(rules)
        #expect(lines["write work_notes"]?.state == .missing)
        #expect(lines["write work_notes"]?.remedy == "ask for the role note_writer")
        #expect(lines["write work_notes"]?.reason == .forbidden)
        #expect(lines["write comments"]?.state == .ok)
        let table = try await self.lines([.init("incident", .write, roles: ["boss"]), .init("incident.*", .write)])
        #expect(table["write comments"]?.text == "the access rule incident requires the role boss")
        #expect(table["attach"]?.state == .missing)
        #expect(table["create problem"]?.state == .unknown)
    }

    @Test func `conditions and scripts of access rules are not evaluated, and admin passes`() async throws {
        let rules: [SimulatedAccessRule] = [
            .init("task", .write, condition: "active=true"), .init("*", .create, roles: ["itil"], script: "answer = false"),
        ]
        let lines = try await lines(rules)
        #expect(lines["update"]?.state == .unknown)
        #expect(lines["update"]?.text.contains("the access rule task depends on a condition or a script") == true)
        #expect(lines["create problem"]?.state == .unknown)
        let admin = try await self.lines(rules, roles: ["admin"])
        #expect(admin["update"]?.state == .ok)
        // Of several rules with one name, one is enough.
        let two = try await self.lines(rules + [.init("task", .write, roles: ["itil"])])
        #expect(two["update"]?.state == .ok)
    }

    @Test func `wrong fields in a source or a rule are reported`() async throws {
        practice.simulation.faults.add(.sloppyQueries, times: nil)
        instance.addTask("problem", title: "Old")
        var needs = Self.needs
        needs.sources[0].schema.fields.append(.init("pririty", .int))
        needs.actions.append(.init(rule: "x", action: "update", fields: ["stat"]))
        needs.actions.append(.init(rule: "y", action: "create", fields: ["colour"], constants: ["table": "problem"]))
        let texts = try await practice.open().examine(needs).map(\.text)
        for text in [
            "source my-work: no `pririty`", "rule x: the table incident shows no `stat`",
            "rule y: the table problem shows no `colour`",
        ] { #expect(texts.contains(text), "\(text)") }
    }

    @Test func `an unknown field in a filter, an order or a list is reported as in a poll`() async throws {
        let settings = Settings([
            "table": "incident", "where": ["any": [["pririty": 1, "active": true]], "sort": ["colour"]],
            "fields": ["number", "stat"],
        ])
        let before = instance.revision
        let connection = try await practice.open()
        let source = try TableSource(name: "incidents", settings: settings, connection: connection)
        let need = ConnectionNeeds.SourceNeed(name: "incidents", kind: "table", settings: settings, schema: source.schema)
        let findings = await connection.examine(ConnectionNeeds(sources: [need]))
        let reported = findings.filter { $0.subject == "fields" }
        #expect(reported.allSatisfy { $0.state == .missing && $0.reason == .badArguments && $0.remedy?.isEmpty == false })
        #expect(
            reported.map(\.text.quotedNames) == [
                ["pririty", "where", "priority"], ["colour", "where"], ["stat", "fields", "state"],
            ], "\(reported.map(\.text))")
        let failure = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.message == reported.first?.text)
        // Each wrong name is reported once.
        #expect(findings.filter { $0.subject == "read incident" }.map(\.state) == [.ok])
        #expect(instance.revision == before)
    }

    @Test func `without access to the dictionary, an unknown field is still reported`() async throws {
        let settings = Settings(["table": "incident", "query": "pririty=1"])
        practice.instance.changeUser("john.doe") { $0.dictionary = .forbidden }
        let schema = try TaskFields.schema(nil, display: .values, source: "incidents")
        let need = ConnectionNeeds.SourceNeed(name: "incidents", kind: "table", settings: settings, schema: schema)
        let findings = try await practice.open().examine(ConnectionNeeds(sources: [need]))
        #expect(findings.contains { $0.subject == "fields" && $0.text.contains("no field `pririty`, which `query` of source") })
    }

    @Test func `a page is reported with its text, or with the reason why it cannot be watched`() async throws {
        instance.setPage("/board.do", "<title>Board</title><main id=who>Ada</main>")
        func need(_ name: String, _ settings: JSON.Object) -> ConnectionNeeds.SourceNeed {
            .init(name: name, kind: "page", settings: Settings(settings), schema: TaskSchema([]))
        }
        let needs = ConnectionNeeds(sources: [
            need("board", ["path": "board.do", "select": "#who"]), need("other", ["path": "board.do", "select": "#nobody"]),
            need("gone", ["path": "nowhere.do"]),
        ])
        let findings = try await practice.open().examine(needs)
        let pages = findings.filter { $0.subject.hasPrefix("read ") }
        #expect(
            pages.map { "\($0.state.rawValue) \($0.subject)" } == ["ok read board", "missing read other", "missing read gone"])
        #expect(pages.first?.text == "a page with 3 characters of text")
        #expect(pages.dropFirst().allSatisfy { $0.remedy?.contains("check that `path` is right") == true })
        #expect(pages.dropFirst().first?.text.contains("has no element that matches `select`") == true)
        #expect(practice.simulation.requests.all.allSatisfy { $0.method == "GET" })
    }

    @Test func `a wrong clock, a limit and a time zone are reported`() async throws {
        instance.settings.rateLimit = 100
        instance.changeUser("john.doe") { $0.timeZone = "Europe/Berlin" }
        var needs = Self.needs
        needs.sources[0].settings = Settings(["display": "both"])
        let clock = TestClock(at: practice.clock.now - .seconds(600))
        let settings = practice.settings(try await practice.simulation.serve())
        var environment = practice.environment()
        environment.clock = clock
        let connection = try ServiceNowConnection(name: "snow", settings: settings, in: environment).untilTestEnds()
        let findings = await connection.examine(needs)
        let texts = findings.map { "\($0.state.rawValue) \($0.subject): \($0.text)" }
        #expect(texts.contains("note clock: this machine's clock is 600 s behind the instance's"))
        #expect(texts.contains("note rate limit: the instance accepts 100 requests an hour from this account"))
        #expect(texts.contains("ok time zone: labels show times in Europe/Berlin; values are UTC"))
    }

    @Test(arguments: [Fault.hibernating, .redirect(to: "https://sso.example/"), .badGateway])
    func `an address that is not an instance is reported with its answer`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, times: nil)
        let findings = try await practice.open().examine(Self.needs)
        #expect(findings.map(\.state) == [.ok, .missing])
        let reasons: [Failure.Reason?] = [.hibernating, .loginRequired, .gateway]
        #expect(reasons.contains(findings.last?.reason))
    }
}

@Suite(.closing) struct NetworkExaminationTests {
    private func examine(_ address: String, ca: String? = nil, at now: Timestamp? = nil) async throws -> [Finding] {
        let clock = TestClock(at: now ?? Timestamp(seconds: 1_800_000_000))
        return await NetworkExamination(configuration: .init(name: "x", ca: ca), address: try HTTPAddress(address), clock: clock)
            .findings()
    }

    @Test func `a certificate is reported with its expiry, or with the reason why it is not trusted`() async throws {
        let server = try await TLSServer.serve()
        let ca = FileManager.default.temporaryDirectory.appending(path: "bellhop-ca-\(UInt64.random(in: 0 ... .max)).pem").path
        try TLSServer.certificate.write(toFile: ca, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let good = try await examine("https://localhost:\(server.port)/", ca: ca)
        #expect(good.map(\.state) == [.ok, .ok, .ok])
        #expect(good.last?.text == "trusted; the certificate is valid until 2126-10-28")
        let unknown = try await examine("https://localhost:\(server.port)/")
        #expect(unknown.last?.text.contains("an authority that this machine does not trust") == true)
        #expect(unknown.last?.reason == .tls)
        let other = try await examine("https://127.0.0.1:\(server.port)/", ca: ca)
        #expect(other.last?.text == "the certificate is not for the name 127.0.0.1 but for localhost")
    }

    @Test func `an unknown host and a closed port have different messages`() async throws {
        #expect(try await examine("https://no-such-host.invalid/").map(\.subject) == ["name"])
        let closed = try await examine("https://127.0.0.1:9/")
        #expect(closed.map(\.subject) == ["connection"])
        #expect(closed[0].state == .missing)
    }
}

extension String {
    /// The single words in backticks.
    fileprivate var quotedNames: [String] {
        split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map {
            String($0.element)
        }
    }
}
