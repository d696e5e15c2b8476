import BellhopCore
import BellhopTesting
import Glibc
import Simulator
import Testing

/// Strangers that connect to a running agent and send nothing.
@Suite(.timeLimit(.minutes(5))) struct `Idle connections to an agent` {
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
        try await Stage.set(rules: Self.rules, configuration: { Stage.configuration($0, extra: extra) }) { stage in
            let agent = try stage.start(["run"], under: ["/bin/sh", "-c", "ulimit -n 512; exec \"$@\"", "sh"])
            try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            try await eventually("it listens") {
                sockets += Self.connection(port).map { [$0] } ?? []
                return !sockets.isEmpty
            }
            sockets += (1...600).compactMap { _ in Self.connection(port) }
            let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
            try await eventually("the program ran") { try await stage.deliveries("done").contains { $0["action"] == "exec" } }
            try await eventually("the comment is written") { stage.notes(on: task.id).count == 1 }
            #expect(await agent.stop().code == 0)
        }
    }

    /// A new connection to a port of this machine; nil if nothing listens there.
    private static func connection(_ port: Int) -> Int32? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code == 0 { return socket }
        close(socket)
        return nil
    }
}
