import BellhopTesting
import Glibc
import Simulator
import Synchronization
import Simulator
import Testing

/// What systemd hears of an agent that it runs with `Type=notify` (sd_notify(3)).
@Suite(.timeLimit(.minutes(5))) struct ServiceManagerTests {
    private static let rules = "rule: note\non: task_created\ndo: [{log: A}]\n"

    @Test func `the service manager learns when the agent is ready and when it stops`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            let ear = try Ear(stage.folder.path + "/notify.sock")
            let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": ear.name])
            try await eventually("it is ready") { ear.heard.contains { $0.hasPrefix("READY=1\n") } }
            #expect(try await stage.bellhop("status").output.contains("is running: process"))
            #expect(ear.heard.count == 1)
            agent.send(SIGTERM)
            try await eventually("it stops") { ear.heard.contains { $0.hasPrefix("STOPPING=1\n") } }
            #expect(await agent.end().code == 0)
            #expect(ear.heard.count == 2)
        }
    }

    @Test func `an abstract name is a socket as well, and a manager that does not listen harms nothing`() async throws {
        try await Stage.set(rules: Self.rules) { stage in
            let ear = try Ear("@bellhop-test-\(getpid())-\(UInt32.random(in: 0 ... .max))")
            let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": ear.name])
            try await eventually("it is ready") { ear.heard.contains { $0.hasPrefix("READY=1\n") } }
            agent.send(SIGTERM)
            #expect(await agent.end().code == 0)

            let deaf = try stage.start(["run"], environment: ["NOTIFY_SOCKET": stage.folder.path + "/nobody.sock"])
            try await eventually("it polls") { deaf.errorsSoFar.contains("The source was polled") }
            deaf.send(SIGTERM)
            #expect(await deaf.end().code == 0)
        }
    }

    @Test func `an instance that never answers delays nothing else`() async throws {
        let silent = try SilentServer()
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
        try await Stage.set(rules: rules, configuration: configuration) { stage in
            let ear = try Ear(stage.folder.path + "/notify.sock")
            stage.instance.addTask(title: "One", assignedTo: Stage.user)
            let agent = try stage.start(["run"], environment: ["NOTIFY_SOCKET": ear.name])
            try await eventually("it is ready") { ear.heard.contains { $0.hasPrefix("READY=1\n") } }
            #expect(try await stage.bellhop("status").output.contains("is running: process"))
            try await eventually("the healthy source is polled") { agent.outputSoFar.contains("A One") }
            try await eventually("schedules come due") { agent.outputSoFar.contains("tick") }
            // None of this waited for the silent instance to be given up.
            #expect(!agent.errorsSoFar.contains("127.0.0.1:\(silent.port)"), "\(agent.errorsSoFar)")
            agent.send(SIGTERM)
            #expect(await agent.end().code == 0)
        }
    }

    @Test func `an agent that cannot start never says that it is ready`() async throws {
        try await Stage.set(rules: "rule: note\non: task_crated\ndo: [{log: A}]\n") { stage in
            let ear = try Ear(stage.folder.path + "/notify.sock")
            let ended = try await stage.bellhop("run", environment: ["NOTIFY_SOCKET": ear.name])
            #expect(ended.code == 78)
            #expect(ear.heard.isEmpty)
        }
    }
}

/// A datagram socket, as the service manager has it.
///
/// A class, because it owns an open file and keeps what it heard.
private final class Ear: Sendable {
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

    /// All datagrams so far.
    var heard: [String] {
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

/// An address at which connections are made and nothing is ever said.
private final class SilentServer: Sendable {
    let port: UInt16
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isBound, "\(String(cString: strerror(errno)))")
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }
}
