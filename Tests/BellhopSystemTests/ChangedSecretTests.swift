import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Secrets and logins that change while an agent runs.
@Suite(.timeLimit(.minutes(5)), .closing) struct ChangedSecretTests {
    private static func configuration(_ address: String) -> String {
        """
        version: 1
        connections:
          snow: {kind: servicenow, instance: "\(address)", auth: {keychain: true}}
          hook: {kind: webhook, url: "${{ secret.hook_url }}"}
        sources:
          my-work: {kind: tracker, connection: snow, every: 1s, initial: emit}

        """
    }

    /// Stores the secrets of the configuration, and starts an agent.
    private func started(hook: String) async throws -> (Stage, Program) {
        let stage = try await Stage.set(rules: StoppingTests.rules, configuration: Self.configuration)
        try await Self.logIn(stage, password: Secrets.password)
        let set = try await stage.bellhop("secret", "set", "hook_url", input: "\(stage.address)/webhook/\(hook)\n")
        #expect(set.code == 0, "\(set.errors)")
        return (stage, try await stage.startAgent())
    }

    @discardableResult
    private static func logIn(_ stage: Stage, password: String) async throws -> Program.Ended {
        let login = try await stage.bellhop("login", "snow", input: "\(Stage.user)\n\(password)\n")
        #expect(login.code == 0, "\(login.errors)")
        return login
    }

    @Test func `a resumed receiver gets its deliveries at the newly stored address, without a restart`() async throws {
        let (stage, _) = try await started(hook: "old")
        stage.simulation.receivers.setAnswer(of: "old", status: 404, body: "gone")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the receiver is paused") {
            try await stage.bellhop("status").output.contains("hook has been paused since")
        }
        let set = try await stage.bellhop("secret", "set", "hook_url", input: "\(stage.address)/webhook/new\n")
        #expect(set.errors.contains("The running agent uses it from now on (connection `hook`)."), "\(set.errors)")
        let resumed = try await stage.bellhop("resume", "hook")
        #expect(resumed.output == "hook is resumed.\n", "\(resumed.errors)")
        try await eventually("it arrives at the new address") {
            stage.simulation.receivers.received(by: "new").contains { $0.isAccepted }
        }
    }

    @Test func `a changed shared secret is used at once by the agents of all projects that refer to it`() async throws {
        let stage = try await Stage.set(rules: StoppingTests.rules, configuration: Self.configuration)
        try await Self.logIn(stage, password: Secrets.password)
        let shared = try await stage.bellhop("secret", "set", "hook_url", "--shared", input: "\(stage.address)/webhook/old\n")
        #expect(shared.code == 0, "\(shared.errors)")
        try await stage.startAgent()
        // Two other projects: the secret is replaced in one; the other's store is unknown here.
        try stage.folder.write("other/bellhop.yaml", "version: 1\nproject: p0000000000f\n")
        try stage.folder.write("third/bellhop.yaml", "version: 1\nproject: p0000000000e\n")
        for project in ["other", "third"] {
            let own = try await stage.bellhop("secret", "set", "mine", "--config", "\(project)/bellhop.yaml", input: "x\n")
            #expect(own.code == 0, "\(own.errors)")
        }
        try stage.folder.write("third/bellhop.yaml", "version: 1\nproject: p0000000000e\nstore: ${{ env.NOT_SET }}\n")
        let set = try await stage.bellhop(
            "secret", "set", "hook_url", "--shared", "--config", "other/bellhop.yaml",
            input: "\(stage.address)/webhook/new\n")
        let file = stage.folder.path + "/bellhop.yaml"
        #expect(set.errors.contains("The running agent of \(file) uses it from now on (connection `hook`)."), "\(set.errors)")
        #expect(set.errors.contains("An agent of \(stage.folder.path)/third/bellhop.yaml uses it once it is restarted"))
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("it arrives at the new address") {
            stage.simulation.receivers.received(by: "new").contains { $0.isAccepted }
        }
        #expect(stage.simulation.receivers.received(by: "old").isEmpty)
    }

    @Test
    func `a secret that changed in a file is used after SIGHUP, and one that cannot be read leaves the old one in use`()
        async throws
    {
        func configuration(_ address: String) -> String {
            Self.configuration(address).replacing("version: 1\n", with: "version: 1\nsecrets: [keychain, {folder: secrets}]\n")
                .replacing("  hook:", with: "  steady: {kind: webhook, url: \"${{ secret.steady_url }}\"}\n  hook:")
        }
        let stage = try await Stage.set(rules: StoppingTests.rules, configuration: configuration)
        try await Self.logIn(stage, password: Secrets.password)
        for name in ["hook", "steady"] {
            try stage.folder.write("secrets/\(name)_url", "\(stage.address)/webhook/old\n")
        }
        let agent = try await stage.startAgent()
        try stage.folder.write("secrets/hook_url", "\(stage.address)/webhook/new\n")
        agent.send(SIGHUP)
        try await eventually("it is in use") { agent.errorsSoFar.contains("The changed secrets are in use.") }
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("a message arrives at the new address") {
            stage.simulation.receivers.received(by: "new").contains { $0.isAccepted }
        }
        unlink(stage.folder.path + "/secrets/hook_url")
        agent.send(SIGHUP)
        try await eventually("it cannot be read") { agent.errorsSoFar.contains("The changed secrets are not in use.") }
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("another message arrives there") {
            stage.simulation.receivers.received(by: "new").count { $0.isAccepted } == 2
        }
        #expect(stage.simulation.receivers.received(by: "old").isEmpty)
        #expect(
            agent.errorsSoFar.ranges(of: "The changed secrets are in use.").count == 1,
            "an unchanged connection is left alone")
    }

    @Test func `removing a secret stops the deliveries of its connection, and storing it again resumes them`() async throws {
        let (stage, agent) = try await started(hook: "one")
        let removed = try await stage.bellhop("secret", "remove", "hook_url")
        #expect(removed.errors.contains("The running agent now rests connection `hook`."), "\(removed.errors)")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the delivery waits") { agent.errorsSoFar.contains("waits until its connection works again") }
        #expect(stage.simulation.receivers.received(by: "one").isEmpty)
        let check = try await stage.bellhop("status", "--check")
        #expect(check.code == 1 && (check.output + check.errors).contains("connection hook does not use the changed"))
        try await stage.bellhop("secret", "set", "hook_url", input: "\(stage.address)/webhook/one\n")
        try await eventually("it arrives") { stage.simulation.receivers.received(by: "one").contains { $0.isAccepted } }
    }

    @Test func `a logout stops all polls, and a login resumes them at once`() async throws {
        let (stage, agent) = try await started(hook: "one")
        let out = try await stage.bellhop("logout", "snow")
        #expect(out.code == 0, "\(out.errors)")
        try await eventually("the source is failing") { agent.errorsSoFar.contains("holds no login for snow") }
        let asked = stage.simulation.requests.count("GET", path: "/api")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        #expect(stage.simulation.requests.count("GET", path: "/api") == asked)
        // A source that waits for a login is polled again after five minutes; this test does not wait that long.
        let login = try await Self.logIn(stage, password: Secrets.password)
        #expect(login.errors.contains("The running agent uses it from now on (connection `snow`)."), "\(login.errors)")
        try await eventually("it works again") { agent.errorsSoFar.contains("The source works again.") }
        try await eventually("the new task is seen") {
            stage.simulation.receivers.received(by: "one").contains { $0.isAccepted }
        }
    }

    @Test func `a login of another user needs a restart, which the command reports`() async throws {
        let (stage, _) = try await started(hook: "one")
        stage.instance.addUser("jane.roe", password: Secrets.password, name: "Jane Roe")
        let login = try await stage.bellhop("login", "snow", input: "jane.roe\n\(Secrets.password)\n")
        #expect(login.errors.contains("The running agent must be restarted to use it"), "\(login.errors)")
    }

    @Test func `a command that changed another keychain than the agent's says that the agent does not use it`() async throws {
        let (stage, agent) = try await started(hook: "one")
        let set = try await stage.bellhop(
            "secret", "set", "hook_url", environment: ["BELLHOP_KEYCHAIN": stage.folder.path + "/secrets/other.json"],
            input: "\(stage.address)/webhook/two\n")
        #expect(set.code == 0)
        #expect(set.errors.contains("The running agent reads another keychain, "), "\(set.errors)")
        #expect(!set.errors.contains("from now on"), "\(set.errors)")
        #expect(!agent.errorsSoFar.contains("The changed secrets are in use."))
    }

    @Test func `a login in bellhop.yaml that was tried reaches the agent also from a command with another keychain`() async throws
    {
        let stage = try await Stage.set(rules: StoppingTests.rules)
        try await stage.startAgent()
        let login = try await stage.bellhop(
            "login", "snow", environment: ["BELLHOP_KEYCHAIN": stage.folder.path + "/secrets/other.json"])
        #expect(login.code == 0)
        #expect(login.errors.contains("The running agent uses it from now on (connection `snow`)."), "\(login.errors)")
        let shared = try await stage.bellhop("login", "snow", "--shared")
        #expect(shared.code == 64 && shared.errors.contains("has its login in bellhop.yaml"), "\(shared.errors)")
    }

    @Test func `without an agent, a command that stores a secret does not mention an agent`() async throws {
        let stage = try await Stage.set(rules: "", configuration: Self.configuration)
        let set = try await stage.bellhop("secret", "set", "hook_url", input: "\(stage.address)/webhook/one\n")
        #expect(set.code == 0)
        #expect(!set.errors.contains("agent"))
    }

    @Test func `two projects that share a keychain do not replace each other's logins`() async throws {
        let stage = try await Stage.set(rules: "", configuration: Self.configuration)
        try await Self.logIn(stage, password: Secrets.password)
        try stage.folder.write("other/bellhop.yaml", Self.configuration(stage.address))
        stage.instance.addUser("jane.roe", password: Secrets.password, name: "Jane Roe")
        let other = try await stage.bellhop(
            "login", "snow", "--config", "other/bellhop.yaml", input: "jane.roe\n\(Secrets.password)\n")
        #expect(other.code == 0, "\(other.errors)")
        #expect(!other.errors.contains("replaces the login"))
        let out = try await stage.bellhop("logout", "snow", "--config", "other/bellhop.yaml")
        #expect(out.code == 0, "\(out.errors)")
        let check = try await stage.bellhop("check")
        #expect(!check.errors.contains("no-login"), "\(check.errors)")
    }
}
