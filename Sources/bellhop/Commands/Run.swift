import ArgumentParser
import BellhopAgent
import BellhopConsole
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopRules
import Glibc
import Logging
import UnixSignals

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Watch, and act: poll the sources, run the rules, make the deliveries.",
        discussion:
            """
            Runs until SIGTERM or SIGINT, then finishes what is in flight; a second signal ends it at once. SIGHUP reads the \
            rules and secrets again.

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
        // From here on SIGHUP does not end the agent: one that comes while it opens its store is handled afterwards.
        let hangups: UnixSignalsSequence? = if once { nil } else { await UnixSignalsSequence(trapping: .sighup) }
        try Workspace.requireLogins(configuration)
        let clock = SystemClock.ofThisRun(environment: config.environment)
        let story = log.story(clock: clock, zone: configuration.timeZone)
        let terminalLog = log.terminalLog(clock: clock, zone: configuration.timeZone)
        let logger = Logger(label: "bellhop") { _ in terminalLog }
        Console.writeNotes(to: terminalLog)
        let tell: SignalListener = if let story { { story.report($0) } } else { Signals.log(logger) }
        let listener = Signals.groupingRepetitions(tell, clock: clock)
        let options = Assembly.Options(
            clock: clock, listeners: [listener],
            output: { [zone = configuration.timeZone] in try await Console.agentData($0, in: zone) },
            checkpoint: CrashPoint(environment: config.environment).callAsFunction, patience: .seconds(5))
        let assembly = try await rethrowing(as: CommandError.init) { () async throws(AssemblyError) in
            try await Assembly(configuration, options: options)
        }
        for warning in assembly.warnings { Console.note(warning.rendered(colour: Console.noteHasColour)) }
        let forcedStop = ForcedStop { number, cause in
            let why = cause == .secondSignal ? "Second signal" : "Current work did not end in time"
            Console.note("\(why): Bellhop stops at once, and checks unfinished work at its next start.")
            Console.flushLog()
            _exit(128 + number)
        }
        defer { withExtendedLifetime(forcedStop) {} }
        if once {
            try await Stopping.onSignal(grace: .seconds(20)) { try await runOnce(assembly) }
        } else {
            do {
                try await Agent(assembly, logger: logger, environment: config.environment)
                    .run(with: [forcedStop.early], servers: { $0.servers(logger: logger) }, hangups: hangups)
                story?.say("Stopped.")
            } catch let error as StoreError {
                throw CommandError(error)
            } catch let error as ControlSocketError {
                throw CommandError(.cannotCreate, error.message)
            } catch let error as ServerProblem {
                throw CommandError(error.isTemporary ? .tryLater : .badConfiguration, error.message)
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
            try await assembly.recover()
            before = try await store.status(at: started)
            pass = try await assembly.engine.runOnce()
            after = try await store.status(at: assembly.context.clock.now)
            ended = try await countEnded(since: started, in: store)
        } catch {
            await assembly.shutdown()
            throw CommandError(error)
        }
        let refused = assembly.refusedRules
        await assembly.exporter?.flush()
        await assembly.shutdown()
        if let refused { throw CommandError(refused) }
        if let trouble = pass.trouble(before: before, after: after, ended: ended) { throw trouble }
    }

    /// How many dead and held deliveries ended since a moment. Read in pages, because there may be very many.
    private func countEnded(since moment: Timestamp, in store: any Store) async throws(StoreError) -> Int {
        var (count, query) = (0, DeliveryQuery(after: 0, states: [.dead, .held], limit: 500))
        while true {
            let page = try await store.deliveries(query)
            guard let last = page.last else { return count }
            count += page.count { ($0.finishedAt ?? .distantPast) >= moment }
            query.after = last.place
        }
    }
}

extension Engine.Pass {
    /// The most serious problem of `run --once`; nil if everything is done. Problems that need a person come first.
    /// - Parameters:
    ///   - before: the store before the pass.
    ///   - ended: how many deliveries the pass left dead or held.
    fileprivate func trouble(before: StoreStatus, after: StoreStatus, ended: Int) -> CommandError? {
        var failures: [Failure] = []
        var held: [String] = []
        for poll in polls {
            switch poll.outcome {
            case .failed(let failure): failures.append(failure)
            case .held: held.append(poll.source)
            case .unchanged, .baseline, .changed, .superseded: break
            }
        }
        if let failure = failures.first { return CommandError(failure) }
        if ended > 0 {
            return CommandError(
                .problem,
                "\(counted(ended, "delivery is", "deliveries are")) dead or held, and need\(ended == 1 ? "s" : "") a decision: see `bellhop deliveries`."
            )
        }
        if let paused = after.stops.first(where: { $0.stop.cause == .refusal && $0.waiting > 0 })?.stop {
            return CommandError(
                .problem, "\(paused.receiver) is paused: \(paused.sentence) Repair it, then `bellhop resume \(paused.receiver)`.")
        }
        if let unusable = after.backlog.first(where: \.isUnusable)?.failure { return CommandError(unusable) }
        let errors = Dictionary(before.rules.map { ($0.rule, $0.errors) }) { first, _ in first }
        let failed = after.rules.filter { $0.errors > errors[$0.rule] ?? 0 }
        if let rule = failed.first {
            let others = failed.count > 1 ? " \(failed.count - 1) more failed: see `bellhop status`." : ""
            return CommandError(.problem, "The rule \(rule.rule) failed: \(rule.lastError ?? "see `bellhop status`")\(others)")
        }
        if !held.isEmpty {
            let names = held.map { "`\($0)`" }.joined(separator: " and ")
            return CommandError(.tryLater, "The result of \(names) is held until the next poll shows the same: run this again.")
        }
        let left = after.deliveries[.available] ?? 0
        if left == 0 { return nil }
        return CommandError(
            .tryLater,
            "\(counted(left, "delivery is", "deliveries are")) still to be made, by the next run: see `bellhop deliveries`.")
    }
}

extension SystemClock {
    /// The machine's clock. In debug builds `BELLHOP_CLOCK_AHEAD=259200` sets it three days ahead, for tests in which processes follow
    /// each other over hours and days.
    fileprivate static func ofThisRun(environment: [String: String]) -> SystemClock {
        #if DEBUG
            if let seconds = environment["BELLHOP_CLOCK_AHEAD"].flatMap({ Int64($0) }) {
                return SystemClock(startingAt: SystemClock().now + .seconds(seconds), speed: 1)
            }
        #endif
        return SystemClock()
    }
}
