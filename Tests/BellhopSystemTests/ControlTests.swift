import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Other commands during a run of the agent, and rules that change during it.
@Suite(.timeLimit(.minutes(5)), .closing) struct ControlTests {
    private static func logging(_ word: String) -> String {
        "rule: note\non: task_created\ndo: [{log: \"\(word) ${{ task.title }}\"}]\n"
    }

    @Test func `status says of a running agent without its socket file that it does not answer`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        #expect(unlink(stage.folder.path + "/bellhop.db.sock") == 0)
        let status = try await stage.bellhop("status")
        #expect(status.output.contains("the agent does not answer; this is read from the store"))
        #expect(status.output.contains("An agent (process \(agent.id)) has the store"))
        await agent.stop()
        let after = try await stage.bellhop("status")
        #expect(after.output.contains("no agent is running"))
    }

    @Test func `events --follow prints events as they happen`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        try await stage.startAgent()
        let follower = try stage.start(["events", "--follow"])
        try await eventually("it shows what was there") { follower.outputSoFar.contains("login_event") }
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("it shows the new task") { follower.outputSoFar.contains("One") }
        stage.instance.updateTask(task.id, set: ["short_description": "Two"])
        try await eventually("it shows the change") { follower.outputSoFar.contains("One → Two") }
        follower.send(SIGINT)
        let ended = await follower.end()
        #expect(ended.code == 130)
        #expect(ended.output.split(separator: "\n").count { $0.contains("task_created") } == 1)
    }

    @Test func `a dead delivery can be retried in the running agent`() async throws {
        let stage = try await Stage.set(rules: StoppingTests.rules)
        stage.simulation.receivers.setAnswer(of: "hook", status: 400, body: "gone")
        try await stage.startAgent()
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the delivery is dead") { try await stage.deliveries("dead").count == 1 }
        stage.simulation.receivers.setAnswer(of: "hook", status: nil)
        let retry = try await stage.bellhop("deliveries", "retry", "--all", "--yes")
        #expect(retry.code == 0, "\(retry.errors)")
        #expect(retry.output == "1 delivery will be tried again.\n")
        try await eventually("the webhook arrives") {
            stage.simulation.receivers.received(by: "hook").contains { $0.isAccepted }
        }
        try await eventually("it is done") { try await stage.deliveries("done").count == 1 }
    }

    @Test func `an agent that cannot listen at its socket interrupts no delivery`() async throws {
        let stage = try await Stage.set(rules: StoppingTests.rules)
        let hook = stage.simulation.receivers
        hook.setAnswer(of: "hook", status: 400, body: "gone")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let first = try await stage.startAgent()
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the delivery is dead") { try await !stage.deliveries("dead").isEmpty }
        await first.stop()
        hook.setAnswer(of: "hook", status: nil)
        #expect(try await stage.bellhop("deliveries", "retry", "--all", "--yes").code == 0)
        let socket = stage.folder.path + "/bellhop.db.sock"
        try stage.folder.write("bellhop.db.sock", "mine")
        for _ in 0..<3 {
            let ended = try await stage.start(["run"]).end()
            #expect(ended.code == 73 && ended.errors.contains("this file is not a socket"), "\(ended.errors)")
            #expect(!ended.errors.contains("The agent ended before the attempt did"), "\(ended.errors)")
        }
        unlink(socket)
        let last = try await stage.startAgent()
        try await eventually("all are done") {
            try await stage.deliveries("dead", "available", "running", "held").isEmpty
        }
        await last.stop()
        let attempts = try await stage.deliveries("done").compactMap { $0["attempts"]?.asInt }.reduce(0, +)
        #expect(attempts > 1 && attempts == hook.received(by: "hook").count)
    }

    @Test func `a running agent forgets a task: its wait ends, and its next event starts a new one`() async throws {
        let rules = """
            rules:
              - rule: wait
                on: [task_created, task_changed]
                when: task.title != ""
                for: 5h
                do: [{log: "W ${{ task.title }}"}]
              - rule: note
                on: [task_created, task_changed]
                once: task.id
                do: [{log: "A ${{ task.title }}"}]

            """
        let stage = try await Stage.set(rules: rules)
        let agent = try await stage.startAgent()
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let other = stage.instance.addTask(title: "Other", assignedTo: Stage.user)
        func waits() async throws -> Int64? {
            try JSON.parse(try await stage.bellhop("status", "--json").output).at("waits")?.asArray?.first?["count"]?.asInt
        }
        try await eventually("both wait") { try await waits() == 2 }
        let forgot = try await stage.bellhop("forget", task.number)
        #expect(forgot.code == 0, "\(forgot.errors)")
        #expect(
            forgot.output
                == "Forgot \(task.number):\n  rule note: `once` lets it run again\n  rule wait: 1 wait of `for` ended\n")
        #expect(try await waits() == 1)
        stage.instance.updateTask(task.id, set: ["short_description": "Two"])
        stage.instance.updateTask(other.id, set: ["short_description": "Other again"])
        try await eventually("it waits again") { try await waits() == 2 }
        try await eventually("the rule runs again") { agent.outputSoFar.contains("A Two") }
        #expect(!agent.outputSoFar.contains("A Other again"))
        // Without an agent.
        await agent.stop()
        let ended = try await stage.bellhop("forget", "One", "--json")
        #expect(ended.code != 0)
        let changed = try #require(stage.instance.tasks.first { $0.title == "Two" })
        #expect(try JSON.parse(try await stage.bellhop("forget", changed.id, "--json").output)["ended"]?.asArray?.count == 2)
    }

    @Test func `a second agent on the same store is refused, and the first continues`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        for arguments in [["run"], ["run", "--once"]] {
            let second = await (try stage.start(arguments)).end()
            #expect(second.code == 75)
            #expect(second.errors.contains("Another agent (process \(agent.id)) holds the store"))
        }
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the first still acts") { agent.outputSoFar.contains("A One") }
    }

    @Test func `an emptied or truncated rule file leaves its rules in force, and a deleted one ends them`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        try stage.folder.write("rules/other.yaml", "rule: other\non: task_created\ndo: [{log: O}]\n")
        let agent = try await stage.startAgent()
        try stage.folder.write("rules/rules.yaml", "# rule: note\n")
        try await eventually("the loss is refused") {
            agent.errorsSoFar.contains("this file has no rules any more; it had `note`")
        }
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the old rule still runs") { agent.outputSoFar.contains("A One") }
        unlink(stage.folder.path + "/rules/rules.yaml")
        try await eventually("one rule is left") {
            try JSON.parse(try await stage.bellhop("status", "--json").output)["agent"]?["rules"] == 1
        }
        // Moving the folder away ends no rule.
        rename(stage.folder.path + "/rules", stage.folder.path + "/away")
        agent.send(SIGHUP)
        try await eventually("the loss of all is refused") {
            agent.errorsSoFar.contains("there are no rules now; before, there were 1")
        }
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the last rule still runs") { agent.outputSoFar.contains("O\n") }
    }

    @Test func `a broken rule leaves the old rules in force, and a good one replaces them`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the first rule acts") { agent.outputSoFar.contains("A One") }

        try stage.folder.write("rules/rules.yaml", "rule: note\non: task_created\nwehn: true\ndo: [{log: \"B\"}]\n")
        try await eventually("the broken rule is refused") { agent.errorsSoFar.contains("did you mean `when`?") }
        #expect(agent.errorsSoFar.contains("the old ones stay in force"))
        let line = agent.errorsSoFar.split(separator: "\n").first { $0.contains("unknown-key") } ?? ""
        #expect(line.contains("place=rules/rules.yaml:3:1") && line.contains("a rule has no setting `wehn`"), "\(line)")
        #expect(!agent.errorsSoFar.contains("~~~"), "a report in the log is one line")
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the old rule acts") { agent.outputSoFar.contains("A Two") }

        try stage.folder.write("rules/rules.yaml", Self.logging("C"))
        try await eventually("the new rule is loaded") {
            agent.errorsSoFar.split(separator: "\n").count { $0.contains("The rules are loaded") } == 2
        }
        stage.instance.addTask(title: "Three", assignedTo: Stage.user)
        try await eventually("the new rule acts") { agent.outputSoFar.contains("C Three") }
        #expect(!agent.outputSoFar.contains("B"))
        #expect(!agent.outputSoFar.contains("A Three"))
        #expect(!agent.outputSoFar.contains("C One"), "a new rule gets only events after its loading")
    }

    @Test func `a new rule file is loaded, and a deleted one is unloaded`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        try stage.folder.write("rules/more.yaml", "rule: more\non: task_created\ndo: [{log: \"M ${{ task.title }}\"}]\n")
        try await eventually("the new file is loaded") { agent.errorsSoFar.contains("count=2") }
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("both rules act") {
            agent.outputSoFar.contains("A One") && agent.outputSoFar.contains("M One")
        }
        unlink(stage.folder.path + "/rules/more.yaml")
        try await eventually("the file's end is noticed") {
            agent.errorsSoFar.split(separator: "\n").last { $0.contains("The rules are loaded") }?.contains("count=1") ?? false
        }
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        try await eventually("the first rule acts") { agent.outputSoFar.contains("A Two") }
        #expect(!agent.outputSoFar.contains("M Two"))
    }

    @Test func `each state of a changed configuration is reported once, and a change of another file is not`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        let good = Stage.configuration(stage.address, every: "2s")
        func count(_ words: String) -> Int { agent.errorsSoFar.split(separator: "\n").count { $0.contains(words) } }
        let (wrong, changed) = ("The changed configuration has mistakes", "The configuration changed; restart to use it.")
        try stage.folder.write("compose.yaml", "version: 3\n")
        try stage.folder.write("bellhop.yaml", good + "sorces: {}\n")
        try await eventually("it says so") { count(wrong) == 1 }
        #expect(agent.errorsSoFar.contains("sorces"))
        try stage.folder.write("bellhop.yaml", "connections: [\n")
        try stage.folder.write("bellhop.yaml", good)
        try await eventually("it says so") { count("The configuration is readable and has no mistakes any more.") == 1 }
        try await eventually("it warns") { count(changed) == 1 }
        #expect(count(wrong) == 1)
        let warning = agent.errorsSoFar.split(separator: "\n").first { $0.contains(changed) }
        #expect(warning?.contains("warning") == true)
    }

    @Test func `a running agent reports its status, with each source's last successful poll`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try await stage.startAgent()
        #expect(try await stage.bellhop("status").output.contains("is running: process \(agent.id)"))
        func status() async throws -> JSON { try JSON.parse(try await stage.bellhop("status", "--json").output) }
        func polled() async throws -> String {
            try await status()["sources"]?.asArray?.first?["last_poll"]?.asString ?? ""
        }
        #expect(try await status().at("agent", "pid")?.asInt == Int64(agent.id))
        let first = try await polled()
        #expect(!first.isEmpty)
        try await eventually("a poll without news counts as well") { try await polled() > first }
        await agent.stop()
        #expect(try await stage.bellhop("status").output.contains("no agent is running"))
    }

    @Test func `an agent whose store path is too long for a socket beside it can be reached`() async throws {
        let deep = String(repeating: "deeper-and-", count: 10) + "deeper"
        func configuration(_ address: String) -> String { Stage.configuration(address, extra: "store: \(deep)/bellhop.db") }
        let stage = try await Stage.set(rules: Self.logging("A"), configuration: configuration)
        try stage.folder.write("\(deep)/keep", "")
        try stage.folder.write("run/keep", "")
        let environment = ["XDG_RUNTIME_DIR": stage.folder.path + "/run"]
        let agent = try stage.start(["run"], environment: environment)
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        let status = try await stage.bellhop("status", environment: environment)
        #expect(status.output.contains("is running: process \(agent.id)"))
        #expect(await agent.stop().code == 0)
    }

    @Test func `the log says once that the rules are loaded, also if a source then reads its fields`() async throws {
        let table = "  incidents: {kind: table, connection: snow, table: incident, every: 1s}"
        let stage = try await Stage.set(rules: Self.logging("A"), configuration: { Stage.configuration($0, extra: table) })
        let agent = try await stage.startAgent()
        func count(_ words: String...) -> Int {
            agent.errorsSoFar.split(separator: "\n").count { line in words.allSatisfy { line.contains($0) } }
        }
        try await eventually("the table is polled") { count("The source was polled", "incidents") > 0 }
        #expect(count("The rules are loaded") == 1)
    }

    @Test func `SIGHUP reads the rules again, also if it comes while the agent opens its store`() async throws {
        let stage = try await Stage.set(rules: Self.logging("A"))
        let agent = try stage.start(["run"])
        let store = stage.folder.path + "/bellhop.db"
        while agent.isRunning, access(store, F_OK) != 0 { try await Task.sleep(for: .microseconds(200)) }
        for loads in 2...3 {
            agent.send(SIGHUP)
            try await eventually("the rules are loaded again") {
                agent.errorsSoFar.split(separator: "\n").count { $0.contains("The rules are loaded") } == loads
            }
        }
        let ended = await agent.stop()
        #expect(ended.code == 0, "\(ended.errors)")
    }
}
