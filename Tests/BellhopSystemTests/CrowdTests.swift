import BellhopCore
import BellhopTesting
import Foundation
import Glibc
import Simulator
import Testing

/// Clients that connect to a running agent and send nothing.
@Suite(.timeLimit(.minutes(5)), .closing) struct `Idle connections to an agent` {
    private static let rules = """
        rule: acknowledge
        on: task_created
        do:
          - comment: Seen
          - exec: {command: ["true"]}
        """

    @Test func `idle connections leave file descriptors for the store, the receivers and programs`() async throws {
        let port = try FreePort.find()
        let extra = """
            allow_exec: true
            console: {listen: "127.0.0.1:\(port)", users: [{name: ada, token: "${{ env.CLIENT_SECRET }}-of-ada", role: operator}]}
            """
        let stage = try await Stage.set(rules: Self.rules, configuration: { Stage.configuration($0, extra: extra) })
        let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "ulimit -n 512; exec \"$@\"", "sh"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        try await eventually("it listens") {
            sockets += LoopbackListener.connection(to: port).map { [$0] } ?? []
            return !sockets.isEmpty
        }
        sockets += (1...600).compactMap { _ in LoopbackListener.connection(to: port) }
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await eventually("the program ran") { try await stage.deliveries("done").contains { $0["action"] == "exec" } }
        try await eventually("the comment is written") { stage.notes(on: task.id).count == 1 }
        #expect(await agent.stop().code == 0)
    }

    /// How long a process has used a processor, in hundredths of a second (proc(5)).
    private static func processorTime(of process: Int32) throws -> Int {
        let facts = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: ") ").last ?? ""
        return facts.split(separator: " ").dropFirst(11).prefix(2).compactMap { Int($0) }.reduce(0, +)
    }

    @Test func `an agent without a free file descriptor waits for one instead of keeping a processor busy`() async throws {
        let stage = try await Stage.set(rules: "rule: note\non: task_created\ndo: [{log: x}]\n")
        let limit = 96
        let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "ulimit -n \(limit); exec \"$@\"", "sh"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        var clients: [Int32] = []
        defer { for client in clients { close(client) } }
        let path = stage.folder.path + "/bellhop.db.sock"
        for _ in 1...limit { clients.append(try #require(Self.connection(toPath: path))) }
        try await eventually("it has no free file descriptor") {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(agent.id)/fd").count == limit
        }
        let before = try Self.processorTime(of: agent.id)
        try await Task.sleep(for: .seconds(1))
        #expect(try Self.processorTime(of: agent.id) - before < 50)
        while let client = clients.popLast() { close(client) }
        try await eventually("it answers again") {
            try await stage.bellhop("status").output.contains("is running: process \(agent.id)")
        }
        #expect(await agent.stop().code == 0)
    }

    /// A new connection to a socket file; nil if nothing listens there.
    private static func connection(toPath path: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let code = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if code == 0 { return socket }
        close(socket)
        return nil
    }
}
