import BellhopTesting
import Glibc
import Simulator
import Synchronization
import Testing

/// The notifications to systemd by an agent with `Type=notify` (sd_notify(3)).
@Suite(.timeLimit(.minutes(5)), .closing) struct ServiceManagerTests {
    private static let rules = "rule: note\non: task_created\ndo: [{log: A}]\n"

    @Test func `the service manager is notified when the agent is ready and when it stops`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let manager = try NotifySocket(stage.folder.path + "/notify.sock")
        let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": manager.name])
        try await eventually("it is ready") { manager.received.contains { $0.hasPrefix("READY=1\n") } }
        #expect(try await stage.bellhop("status").output.contains("is running: process"))
        #expect(manager.received.count == 1)
        agent.send(SIGTERM)
        try await eventually("it stops") { manager.received.contains { $0.hasPrefix("STOPPING=1\n") } }
        #expect(await agent.end().code == 0)
        #expect(manager.received.count == 2)
    }

    @Test func `with a watchdog, the agent reports that it is alive until it stops`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let manager = try NotifySocket(stage.folder.path + "/notify.sock")
        let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"])
        try await eventually("it has said so three times") { manager.received.count { $0 == "WATCHDOG=1" } >= 3 }
        #expect(await agent.stop().code == 0)
        #expect(manager.received.last?.hasPrefix("STOPPING=1\n") == true)
        // A watchdog for another process.
        let other = try stage.start(
            ["run"], environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000", "WATCHDOG_PID": "1"])
        let before = manager.received.count
        try await eventually("it is ready") { manager.received.count > before }
        try await Task.sleep(for: .seconds(1))
        await other.stop()
        #expect(!manager.received.dropFirst(before).contains("WATCHDOG=1"))
    }

    @Test func `abstract sockets are supported, and a manager that does not listen is ignored`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let manager = try NotifySocket("@bellhop-test-\(getpid())-\(UInt32.random(in: 0 ... .max))")
        let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": manager.name])
        try await eventually("it is ready") { manager.received.contains { $0.hasPrefix("READY=1\n") } }
        try await eventually("it has a baseline") { agent.errorsSoFar.contains("is its baseline") }
        #expect(await agent.stop().code == 0)

        let unheard = try stage.start(["run"], environment: ["NOTIFY_SOCKET": stage.folder.path + "/missing.sock"])
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("it polls") { unheard.outputSoFar.contains("A") }
        #expect(await unheard.stop().code == 0)
    }

    @Test func `each line of the log tells the journal its level, and no other reader`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        func lines(_ script: String) async throws -> [Substring] {
            let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "\(script); exec \"$@\"", "sh"])
            try await eventually("a poll fails") { agent.errorsSoFar.contains("A poll failed") }
            return await agent.stop().errors.split(separator: "\n")
        }
        func levels(of text: String, in lines: [Substring]) -> Set<Substring> {
            Set(lines.filter { $0.contains(text) }.map { $0.prefix(3) })
        }
        stage.simulation.faults.add(.hibernating, times: nil)
        let journal = try await lines("export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)")
        #expect(levels(of: "A poll failed", in: journal) == ["<3>"])
        #expect(levels(of: "The rules are loaded", in: journal) == ["<6>"])
        let other = try await lines("export JOURNAL_STREAM=1:1")
        #expect(other.contains { $0.contains("A poll failed") } && !other.contains { $0.hasPrefix("<") })
    }

    @Test func `an instance that never answers does not delay the others`() async throws {
        let silent = try LoopbackListener()
        let configuration = { (address: String) in
            Stage.configuration(
                address,
                extra: (1...3).map {
                    "  slow\($0): {kind: table, connection: silent, table: incident, query: \"priority=\($0)\"}"
                }
                .joined(separator: "\n")
            )
            .replacing(
                "connections:\n",
                with: """
                    connections:
                      silent: {kind: servicenow, instance: "http://127.0.0.1:\(silent.port)", auth: {basic: {username: \(Stage.user), password: "${{ env.PASSWORD }}"}}}

                    """)
        }
        let rules = """
            rule: note
            on: task_created
            from: my-work
            do: [{log: "A ${{ task.title }}"}]
            ---
            rule: tick
            on: {every: 1s}
            from: slow1
            do: [{log: tick}]
            """
        let stage = try await Stage.set(rules: rules, configuration: configuration)
        let manager = try NotifySocket(stage.folder.path + "/notify.sock")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": manager.name])
        try await eventually("it is ready") { manager.received.contains { $0.hasPrefix("READY=1\n") } }
        #expect(try await stage.bellhop("status").output.contains("is running: process"))
        try await eventually("the healthy source is polled") { agent.outputSoFar.contains("A One") }
        try await eventually("schedules come due") { agent.outputSoFar.contains("tick") }
        // The agent did all this before it gave up on the silent instance.
        #expect(!agent.errorsSoFar.contains("127.0.0.1:\(silent.port)"), "\(agent.errorsSoFar)")
        #expect(await agent.stop().code == 0)
    }

    @Test func `an agent that cannot start never reports that it is ready`() async throws {
        let stage = try await Stage.set(rules: "rule: note\non: task_crated\ndo: [{log: A}]\n")
        let manager = try NotifySocket(stage.folder.path + "/notify.sock")
        let ended = try await stage.bellhop("run", environment: ["NOTIFY_SOCKET": manager.name])
        #expect(ended.code == 78)
        #expect(manager.received.isEmpty)
    }
}

/// A datagram socket like the service manager's.
///
/// A class, because it owns an open file and keeps the datagrams.
private final class NotifySocket: Sendable {
    let name: String
    private let socket: Int32
    private let messages = Mutex<[String]>([])

    init(_ name: String) throws {
        self.name = name
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
        }
        try #require(bound == 0, "\(String(cString: strerror(errno)))")
    }

    deinit { close(socket) }

    /// All datagrams received so far.
    var received: [String] {
        messages.withLock { messages in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count >= 0 else { return messages }
                messages.append(String(decoding: buffer[..<count], as: UTF8.self))
            }
        }
    }
}
