import ArgumentParser
import BellhopAgent
import BellhopConsole
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopRules
import Glibc
import NIOCore

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Watch, and act: poll the sources, run the rules, make the deliveries.",
        discussion:
            """
            Runs until SIGTERM or SIGINT, then finishes what is in flight; a second signal ends it at once. SIGHUP reads the \
            rules again.

            With --once the exit code says what happened: 0 when all is done; 1 when a rule failed, or a delivery is dead or \
            held; 69 when a source could not be reached; 75 when something is left for the next run; 77 when a login was \
            refused; 78 when the configuration or a rule has an error.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Poll each source once, make the deliveries that can be made now, and exit.")
    var once = false

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)  // The agent must not end when the program that reads its output ends.
        ProcessLimits.allowManyFiles()
        umask(0o077)  // The agent's files are for its own user: store, socket, logs.
        let configuration = try await config.load()
        try Workspace.requireLogins(configuration)
        let clock = SystemClock.ofThisRun(environment: config.environment)
        let story = log.story(clock: clock, zone: configuration.timeZone)
        let logger = log.logger(clock: clock, zone: configuration.timeZone)
        let report: SignalListener = if let story { { story.report($0) } } else { Signals.log(logger) }
        let options = Assembly.Options(
            clock: clock, listeners: [report],
            output: { [zone = configuration.timeZone] in try await Console.agentData($0, in: zone) },
            checkpoint: CrashPoint(environment: config.environment).callAsFunction)
        let assembly: Assembly
        do throws(AssemblyError) {
            assembly = try await Assembly(configuration, options: options)
        } catch {
            throw CommandError(error)
        }
        for warning in assembly.warnings { Console.note(warning.rendered(colour: Console.noteHasColour)) }
        let secondSignal = SecondSignal()
        defer { withExtendedLifetime(secondSignal) {} }
        if once {
            try await Stopping.onSignal(grace: .seconds(20)) { try await runOnce(assembly) }
        } else {
            do {
                try await Agent(assembly, logger: logger, environment: config.environment)
                    .run(servers: { $0.servers(logger: logger) })
                story?.say("Stopped.")
            } catch let error as StoreError {
                throw CommandError(error)
            } catch let error as ControlSocketError {
                throw CommandError(.cannotCreate, error.message)
            } catch let error as ServerProblem {
                throw CommandError(error.isTemporary ? .tryLater : .badConfiguration, error.message)
            } catch let error as IOError {
                throw CommandError(.cannotCreate, "The control socket beside the store cannot be made: \(error.description).")
            }
        }
    }

    private func runOnce(_ assembly: Assembly) async throws {
        let pass: Engine.Pass
        let before: StoreStatus
        let after: StoreStatus
        let ended: Int
        do throws(StoreError) {
            let store = assembly.context.store
            let started = assembly.context.clock.now
            try await assembly.engine.recover()
            before = try await store.status(at: started)
            pass = try await assembly.engine.runOnce()
            after = try await store.status(at: assembly.context.clock.now)
            ended = try await store.deliveries(DeliveryQuery(states: [.dead, .held], limit: .max))
                .count { ($0.finishedAt ?? .distantPast) >= started }
        } catch {
            await assembly.shutdown()
            throw CommandError(error)
        }
        let refused = assembly.refusedRules
        await assembly.exporter?.flush()
        await assembly.shutdown()
        if let refused { throw CommandError(refused) }
        if let trouble = PassVerdict(pass, before: before, after: after, ended: ended).trouble { throw trouble }
    }
}
