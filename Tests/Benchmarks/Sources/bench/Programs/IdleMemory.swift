import AsyncHTTPClient
import BellhopCore
import Glibc
import NIOCore
import NIOHTTP1

/// The memory of an agent that watches a thousand unchanging tasks on the simulated instance.
enum IdleMemory {
    static func run(_ bench: Bench, withConsole: Bool) async throws -> [Measurement] {
        let names =
            withConsole ? ["program.console-memory", "program.console-resident"] : ["program.memory", "program.resident"]
        guard let program = ProgramUnderTest(bench) else { return ProgramUnderTest.missing(names, bench) }
        let output = bench.folder + "/simulate"
        let simulator = try program.start(["simulate", "--still", "--port", "0"], output: .file(output))
        defer { simulator.stop() }
        let instance = try await Instance(address: address(in: output))
        // The same runtime and libraries, without work or data.
        let bare = Machine.memory("RssAnon", of: "\(simulator.process)") ?? 0
        let tasks = bench.size(1000)
        bench.say("\(tasks) tasks for the simulated instance")
        for number in 0..<tasks { try await instance.addTask(number) }

        let port = withConsole ? try freePort() : nil
        let file = try program.configure("idle", instance: instance.address, every: "1s", rules: 10, console: port)
        let socket = try ReadySocket(bench.folder + "/ready")
        let errors = bench.folder + "/run"
        let agent = try program.start(["run", "--config", file], ready: socket, output: .file(errors))
        defer { agent.stop() }
        guard socket.waitUntilReady(atMost: 30) else {
            throw BenchError("bellhop run did not become ready: \(Files.read(errors) ?? "")")
        }
        bench.say("the agent polls")
        // Wait for the baseline with all details, and some more polls.
        try await instance.waitForPolls(8)
        if let port {
            bench.say("a person looks at the console")
            let console = ConsoleUnderTest(port: port)
            let cookie = try await console.logIn()
            for path in ["/", "/events", "/tasks", "/rules", "/rules/team-1", "/deliveries", "/calendar", "/audit"] {
                _ = try await console.open(path, cookie: cookie)
            }
            try await console.close()
            // An agent gives memory back 15 seconds after its start.
            try await instance.waitForPolls(20)
        }
        var anonymous: [Double] = []
        var resident = 0
        for _ in 0..<5 {
            try await Task.sleep(for: .milliseconds(700))
            guard let memory = Machine.memory("RssAnon", of: "\(agent.process)") else { throw BenchError("the agent has ended") }
            anonymous.append(Double(memory))
            resident = Machine.memory("VmRSS", of: "\(agent.process)") ?? 0
        }
        try await instance.close()
        return [
            Measurement(
                names[0], .memory(anonymous.max() ?? .nan, per: nil),
                beside: .init(name: "`bellhop simulate`, just started", quantity: .memory(Double(bare), per: nil)),
                aim: .figure(atMost: withConsole ? 30_000_000 : 20_000_000),
                remark: "`RssAnon` of `bellhop run` with \(tasks) tasks, polled each second, the maximum of five samples "
                    + (withConsole
                        ? "after 20 polls, the first of them beside a person's look at eight pages of the console."
                        : "after eight polls.")),
            Measurement(
                names[1], .memory(Double(resident), per: nil), aim: .figure(atMost: 30_000_000),
                remark: "`VmRSS` of the same agent: with the pages of the program's file, which several agents share."),
        ]
    }

    private static func freePort() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 ? getsockname(socket, $0, &size) : -1
            }
        }
        guard code == 0 else { throw BenchError("there is no free port") }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    /// The address printed by the simulator.
    private static func address(in output: String) async throws -> String {
        for _ in 0..<200 {
            if let line = Files.read(output)?.split(separator: "\n").first, line.hasPrefix("http") { return String(line) }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchError("the simulator did not start: \(Files.read(output + ".errors") ?? "")")
    }
}

/// The simulated instance, used through its admin endpoint.
private struct Instance {
    let address: String
    private let client = HTTPClient(eventLoopGroupProvider: .singleton)

    init(address: String) { self.address = address }

    func close() async throws { try await client.shutdown() }

    func addTask(_ number: Int) async throws {
        let task: JSON = [
            "title": .string("The printer on floor \(number % 37) prints nothing but blank pages"), "assigned_to": "john.doe",
            "table": .string(["incident", "sc_task", "change_request"][number % 3]),
        ]
        var request = HTTPClientRequest(url: address + "/simulator/tasks")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: task.encoded()))
        _ = try await answer(to: request)
    }

    /// Waits until the list of tasks was requested `count` times.
    func waitForPolls(_ count: Int) async throws {
        for _ in 0..<600 {
            let requests = try await answer(to: HTTPClientRequest(url: address + "/simulator/requests"))
            if requests.ranges(of: "/v1/tracker/task").count >= count { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw BenchError("the agent did not poll \(count) times within two minutes")
    }

    private func answer(to request: HTTPClientRequest) async throws -> String {
        let response = try await client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 64 << 20)
        guard (200..<300).contains(Int(response.status.code)) else {
            throw BenchError("the simulated instance answered \(response.status): \(String(buffer: body))")
        }
        return String(buffer: body)
    }
}
