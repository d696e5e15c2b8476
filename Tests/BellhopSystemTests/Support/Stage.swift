import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Synchronization
import Testing

/// The environment of the program under test: a simulated instance that outlives it, and a folder with its configuration.
struct Stage: Sendable {
    let simulation: Simulation
    let time: ShiftedTime
    let folder: TemporaryFolder
    let address: String
    /// The output of all processes, searched for secrets at the end.
    private let transcript: Transcript

    var instance: SimulatedInstance { simulation.instance }

    static let user = "john.doe"

    /// The configuration of most tests. Its secrets come from the environment.
    static func configuration(_ address: String, every: String = "1s", extra: String = "") -> String {
        """
        version: 1
        connections:
          snow: {kind: servicenow, instance: "\(address)", auth: {basic: {username: \(user), password: "${{ env.PASSWORD }}"}}}
          ops: {kind: slack, url: "${{ env.CHAT_URL }}", rate: 1000/s}
          hook: {kind: webhook, url: "${{ env.HOOK_URL }}", secret: "${{ env.SIGNING }}"}
        sources:
          my-work: {kind: tracker, connection: snow, every: \(every), initial: emit}
        \(extra)

        """
    }

    /// Sets everything up until the test ends, with the instance's address for `ADDRESS` in the rules; then searches everything
    /// printed and written for secrets.
    static func set(
        rules: String, configuration: (String) -> String = { configuration($0) }, settings: InstanceSettings = InstanceSettings(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Stage {
        let time = ShiftedTime()
        let simulation = Simulation(settings: settings, now: { time.now })
        simulation.instance.addUser(user, password: Secrets.password, name: "John Doe")
        let folder = try TemporaryFolder()
        let address = try await untilTestEnds { try await SimulatorServer(simulation).serve($0) }
        if !rules.isEmpty { try folder.write("rules/rules.yaml", rules.replacing("ADDRESS", with: address)) }
        try folder.write("bellhop.yaml", configuration(address))
        let stage = Stage(simulation: simulation, time: time, folder: folder, address: address, transcript: Transcript())
        whenTestEnds { try stage.checkSecrets(sourceLocation) }
        return stage
    }

    func start(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", password: String = Secrets.password,
        under wrapper: [String] = []
    ) throws -> Program {
        var all = Secrets.environment(address: address, password: password).merging(environment) { _, new in new }
        if time.ahead != 0 { all["BELLHOP_CLOCK_AHEAD"] = "\(time.ahead)" }
        let command = wrapper + [Repository.program] + arguments
        let program = try Program(
            Array(command.dropFirst()), program: command[0], in: folder.path, environment: all, input: input)
        transcript.note(program)
        return program
    }

    /// Runs the program until it ends.
    @discardableResult
    func bellhop(
        _ arguments: String..., environment: [String: String] = [:], input: String = "", password: String = Secrets.password
    ) async throws -> Program.Ended {
        try await start(arguments, environment: environment, input: input, password: password).end()
    }

    /// Starts an agent, which runs until the test ends.
    @discardableResult
    func startAgent() async throws -> Program {
        let agent = try start(["run"])
        whenTestEnds {
            let ended = await agent.stop()
            #expect(ended.code == 0, "\(ended.errors)")
        }
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        return agent
    }

    /// All events, oldest first.
    func events() async throws -> [JSON] {
        let ended = try await bellhop("events", "--json", "--limit", "1000000")
        try #require(ended.code == 0, "\(ended.errors)")
        return try ended.output.split(separator: "\n").map { try JSON.parse(String($0)) }
    }

    /// All deliveries, or those in the given states.
    func deliveries(_ states: String...) async throws -> [JSON] {
        let program = try start(["deliveries", "--json", "--limit", "1000000"] + states.flatMap { ["--state", $0] })
        let ended = await program.end()
        try #require(ended.code == 0, "\(ended.errors)")
        return try ended.output.split(separator: "\n").map { try JSON.parse(String($0)) }
    }

    /// Our own notes on a task.
    func notes(on task: String) -> [JournalEntry] { instance.journal(of: task, .workNotes).filter { $0.author == Self.user } }

    private func checkSecrets(_ sourceLocation: SourceLocation) throws {
        for (index, text) in transcript.texts.enumerated() {
            Secrets.check(text, in: "the output of process \(index + 1)", sourceLocation: sourceLocation)
        }
        for name in try folder.files where name != "keychain.json" && !name.hasPrefix("secrets/") {
            guard let data = FileManager.default.contents(atPath: "\(folder.path)/\(name)") else { continue }
            Secrets.check(bytes: Array(data), in: name, sourceLocation: sourceLocation)
        }
    }
}

/// The output of processes.
///
/// A class with a mutex, because several tasks of a test start processes.
private final class Transcript: Sendable {
    private let outputs = Mutex<[@Sendable () -> String]>([])

    func note(_ program: Program) { outputs.withLock { $0.append(program.said) } }

    var texts: [String] { outputs.withLock { $0.map { $0() } } }
}

/// Waits until a condition is true, as long as a slow machine may need.
func eventually(
    _ description: String, within limit: Duration = .seconds(60), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("timed out waiting until \(description)", sourceLocation: sourceLocation)
}
