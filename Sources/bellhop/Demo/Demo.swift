import ArgumentParser
import BellhopAgent
import BellhopConsole
import BellhopCore
import BellhopEngine
import Glibc
import Logging
import ServiceLifecycle
import Simulator
import Synchronization
import UnixSignals

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See it work: a simulated ServiceNow, the shipped rules, and a Monday morning that runs fast.",
        discussion: """
            Everything is real but the instance: HTTP, the store, the rules, the deliveries. It takes about a minute and needs \
            nothing. Exits with 0 only if the instance really received the acknowledgement, the digest and the alert.
            """)

    @Option(help: "How much faster than real time the morning runs, from 16 to 120.")
    var speed = 40.0

    @Flag(help: "Keep the folder with the store, the configuration and the rules, and say where it is.")
    var keep = false

    @Flag(help: "Go on after the morning, with the console, until interrupted.")
    var stay = false

    /// Monday, 5 January 2026, 08:27 in Berlin: three minutes before the digest is due.
    static let start = Timestamp(seconds: 1_767_598_020)

    /// The terminal sends SIGHUP when its window is closed; a demonstration that `nohup` started then continues.
    private static let signals: [UnixSignal] =
        Stopping.isIgnored(SIGHUP) ? [.sigterm, .sigint] : [.sigterm, .sigint, .sighup]

    func validate() throws {
        if !(speed >= 16 && speed <= 120) { throw ValidationError("--speed must be from 16 to 120.") }
    }

    func run() async throws {
        let forcedStop = ForcedStop(Self.signals.map(\.rawValue)) { number, _ in Glibc.exit(128 + number) }
        defer { withExtendedLifetime(forcedStop) {} }
        let early = forcedStop.early
        let folder = try DemoFolder(isKept: keep)
        let clock = DemoClock(startingAt: Self.start, speed: speed)
        // The sessions must outlast the morning of half an hour.
        var settings = InstanceSettings()
        settings.sessionSeconds = 4 * 3600
        let simulation = Simulation(settings: settings, seed: 7, now: { clock.now.microseconds })
        simulation.instance.addUser("john.doe", password: "demo", name: "John Doe")
        _ = simulation.instance.addPeople()
        var scenario = Scenario.demo(for: "john.doe", from: Self.start.microseconds)
        for happening in scenario.tick(to: Self.start.microseconds) { simulation.instance.apply(happening) }
        let script = scenario
        let story = DemoStory(clock: clock, zone: ZoneFiles.zone("Europe/Berlin") ?? .utc)
        async let _ = clock.run()
        let verdict = try await SimulatorServer(simulation).serve { address -> DemoVerdict? in
            let token = stay ? ConsoleToken.random() : nil
            try folder.write(address: address, token: token)
            story.open(address: address, speed: speed)
            let isOver = try await watch(folder, simulation, script, clock, story, token: token, early: early)
            return isOver ? DemoVerdict(simulation) : nil
        }
        guard let verdict else {
            story.interrupted(folder: keep ? folder.path : nil)
            throw ExitCode(128 + SIGINT)
        }
        if !stay { story.close(verdict, folder: keep ? folder.path : nil) }
        if !verdict.isGood { throw ExitCode(CommandError.Code.problem.rawValue) }
    }

    /// Runs the agent until the morning is over; false if interrupted before.
    /// - Parameters:
    ///   - token: the console's token; the demonstration then continues until it is interrupted. Nil to end it after the morning.
    ///   - early: ends the demonstration if a signal came before the agent listens for signals.
    private func watch(
        _ folder: DemoFolder, _ simulation: Simulation, _ script: Scenario, _ clock: DemoClock, _ story: DemoStory,
        token: String?, early: any Service
    ) async throws -> Bool {
        let keychain = Keychain(path: folder.path + "/keychain.json")
        let loader = ConfigurationLoader(environment: [:], keychain: keychain)
        let pace = DemoPace(sources: ["my-work", "incidents"])
        let assembly: Assembly
        do {
            let configuration = try await loader.load(folder.path + "/bellhop.yaml")
            assembly = try await Assembly(
                configuration,
                options: Assembly.Options(
                    clock: clock, listeners: [{ pace.observe($0) }, { story.report($0) }], output: { story.log($0) }))
        } catch let error as ConfigurationError {
            throw CommandError(error)
        } catch let error as AssemblyError {
            throw CommandError(error)
        }
        let quiet = Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() }
        let port = Mutex(0)
        let folder = keep ? folder.path : nil
        let scenario = DemoScenario(simulation: simulation, script: script, clock: clock, pace: pace) {
            guard let token else { return false }
            story.close(DemoVerdict(simulation), folder: folder)
            story.printLogin(console: "http://127.0.0.1:\(port.withLock { $0 })", token: token)
            return true
        }
        try await Agent(assembly, logger: quiet, environment: [:]).run(
            with: [scenario, early],
            servers: { view in
                token == nil ? [] : [ConsoleServer(view, logger: quiet) { listening in port.withLock { $0 = listening } }]
            }, signals: Self.signals)
        return scenario.isOver
    }
}

/// Plays the scenario, and ends the demonstration a little after it.
///
/// A class over a mutex, because the command reads afterwards whether it finished.
private final class DemoScenario: Service {
    private let simulation: Simulation
    private let script: Scenario
    private let clock: DemoClock
    private let pace: DemoPace
    private let ended = Mutex(false)
    /// Called after the scenario; returns whether the demonstration continues.
    private let goesOn: @Sendable () -> Bool

    init(
        simulation: Simulation, script: Scenario, clock: DemoClock, pace: DemoPace, goesOn: @escaping @Sendable () -> Bool
    ) {
        self.goesOn = goesOn
        self.simulation = simulation
        self.script = script
        self.clock = clock
        self.pace = pace
    }

    var isOver: Bool { ended.withLock { $0 } }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                try await self.simulation.play(self.script, report: { self.pace.follow($0) }, isReady: { self.pace.isReady })
                while !self.pace.isReady { try await Task.sleep(for: .milliseconds(50)) }
                try await self.clock.sleep(for: .seconds(120))
                self.ended.withLock { $0 = true }
                if self.goesOn() { while true { try await Task.sleep(for: .seconds(3600)) } }
            } catch is CancellationError {
                // Interrupted: end the demonstration.
            }
        }
    }
}
