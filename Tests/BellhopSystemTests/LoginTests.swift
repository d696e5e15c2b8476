import BellhopCore
import BellhopStore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Wrong, missing and stored passwords, and sessions that end.
@Suite(.timeLimit(.minutes(5)), .closing) struct LoginTests {
    private static let rules = """
        rules:
          - rule: acknowledge
            on: task_created
            once: task.id
            do: [{comment: Seen}]
          - rule: alarm
            on: [login_event, ks_login_event]
            when: "!event.data.ok"
            do: [{notify: {to: ops, title: "Login to ${{ event.data.connection }} failed"}}]

        """

    private static func fromKeychain(_ address: String) -> String {
        """
        version: 1
        connections:
          snow: {kind: servicenow, instance: "\(address)", auth: {keychain: true}}
          ops: {kind: slack, url: "${{ env.CHAT_URL }}", rate: 1000/s}
        sources:
          my-work: {kind: tracker, connection: snow, initial: emit}

        """
    }

    @Test func `a wrong password is tried once in any number of runs, until it changes`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        for _ in 1...3 {
            let refused = try await stage.bellhop("run", "--once", password: Secrets.wrongPassword)
            #expect(refused.code == 77)
            #expect(refused.errors.contains("error: "))
            stage.time.pass(.seconds(3600))
        }
        #expect(stage.instance.counts.failedLogins == 1)
        let alarms = stage.simulation.receivers.received(by: "ops")
        #expect(alarms.count { $0.text.contains("Login to snow failed") } == 1)

        let other = try await stage.bellhop("run", "--once", password: Secrets.wrongPassword + "-2")
        #expect(other.code == 77)
        #expect(stage.instance.counts.failedLogins == 2)

        let right = try await stage.bellhop("run", "--once")
        #expect(right.code == 0, "\(right.errors)")
        #expect(stage.instance.counts.failedLogins == 2)
        #expect(stage.notes(on: task.id).count == 1)
    }

    @Test func `query, doctor and the agent together try a wrong password once, in whatever order they run`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        func ask() async throws {
            for command in [["doctor"], ["query", "my-work"], ["doctor"], ["query", "my-work"]] {
                let refused = await (try stage.start(command, password: Secrets.wrongPassword)).end()
                #expect(refused.code == 77, "\(command): \(refused.output) \(refused.errors)")
            }
        }
        try await ask()
        #expect(stage.instance.counts.failedLogins == 1)
        let agent = try stage.start(["run"], password: Secrets.wrongPassword)
        try await eventually("the refusal is reported") { agent.errorsSoFar.contains("refuses the password of john.doe") }
        try await ask()
        #expect(stage.instance.counts.failedLogins == 1)

        // Another wrong password, which the agent does not have: it remembers the refusal for the commands.
        for _ in 1...2 {
            let other = await (try stage.start(["doctor"], password: Secrets.wrongPassword + "-2")).end()
            #expect(other.code == 77)
        }
        #expect(stage.instance.counts.failedLogins == 2)
        #expect(await agent.stop().code == 0)
        let right = try await stage.bellhop("query", "my-work")
        #expect(right.code == 0, "\(right.errors)")
    }

    @Test func `a login that is tried while another command has the store replaces its refusal`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let refused = try await stage.bellhop("run", "--once", password: Secrets.wrongPassword)
        #expect(refused.code == 77)
        stage.instance.setPassword(of: Stage.user, to: Secrets.wrongPassword)
        let logins = stage.instance.counts.logins
        let store = try Stores.open(stage.folder.path + "/bellhop.db")
        let login = try stage.start(["login", "snow"], password: Secrets.wrongPassword)
        try await eventually("it logs in") { stage.instance.counts.logins > logins }
        try await store.close()
        let tried = await login.end()
        #expect(tried.code == 0, "\(tried.errors)")
        let run = try await stage.bellhop("run", "--once", password: Secrets.wrongPassword)
        #expect(run.code == 0, "\(run.errors)")
    }

    @Test func `a missing login is reported with its command, and works once it is stored`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.fromKeychain)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let missing = try await stage.bellhop("run", "--once")
        #expect(missing.code == 77)
        #expect(missing.errors.contains("bellhop login snow"))
        #expect(stage.instance.counts.failedLogins == 0)

        let wrong = try await stage.bellhop("login", "snow", input: "\(Stage.user)\n\(Secrets.wrongPassword)\n")
        #expect(wrong.code == 77)
        let right = try await stage.bellhop("login", "snow", input: "\(Stage.user)\n\(Secrets.password)\n")
        #expect(right.code == 0, "\(right.errors)")
        #expect(try stage.folder.mode("keychain.json") == 0o600)

        let run = try await stage.bellhop("run", "--once")
        #expect(run.code == 0, "\(run.errors)")
        #expect(stage.notes(on: task.id).count == 1)
        #expect(try await stage.events().contains { $0["type"] == "ks_login_event" && $0.at("data", "ok") == true })
    }

    @Test func `a failed login leaves the stored one unchanged and in use`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.fromKeychain)
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let right = try await stage.bellhop("login", "snow", input: "\(Stage.user)\n\(Secrets.password)\n")
        #expect(right.code == 0, "\(right.errors)")
        let stored = try #require(FileManager.default.contents(atPath: stage.folder.path + "/keychain.json"))
        for input in ["\(Stage.user)\n\(Secrets.wrongPassword)\n", "nobody\n\(Secrets.wrongPassword)\n"] {
            let wrong = try await stage.bellhop("login", "snow", input: input)
            #expect(wrong.code == 77)
            #expect(FileManager.default.contents(atPath: stage.folder.path + "/keychain.json") == stored)
        }
        let run = try await stage.bellhop("run", "--once")
        #expect(run.code == 0, "\(run.errors)")
        #expect(stage.notes(on: task.id).count == 1)

        // Even if the instance refuses the stored login, it stays stored.
        stage.simulation.faults.add(.status(401, body: "{}"), times: nil)
        stage.time.pass(.seconds(3600))
        #expect(try await stage.bellhop("run", "--once").code == 77)
        #expect(FileManager.default.contents(atPath: stage.folder.path + "/keychain.json") == stored)
    }

    @Test func `a login whose reply is a login page is refused`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.fromKeychain)
        stage.simulation.faults.add(.loginPage, times: nil)
        let refused = try await stage.bellhop("login", "snow", input: "\(Stage.user)\n\(Secrets.password)\n")
        #expect(refused.code == 77, "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: stage.folder.path + "/keychain.json"))
    }

    @Test func `after a session ends during a run there is one new login, and no change is lost`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let agent = try stage.start(["run"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        for number in 1...3 {
            let logins = stage.instance.counts.logins
            stage.instance.expireSessions()
            let task = stage.instance.addTask(title: "Number \(number)", assignedTo: Stage.user)
            try await eventually("the task is acknowledged") { stage.notes(on: task.id).count == 1 }
            // One session for reading and one for writing.
            #expect(stage.instance.counts.logins - logins <= 2)
        }
        #expect(await agent.stop().code == 0)
        let events = try await stage.events()
        #expect(events.contains { $0["type"] == "session_expired" })
        #expect(events.count { $0["type"] == "task_created" } == 3)
        for task in stage.instance.tasks { #expect(stage.notes(on: task.id).count == 1) }
    }
}
