import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopRules
import BellhopStore
import Glibc
public import Logging
public import ServiceLifecycle
public import UnixSignals

/// The running agent: the engine, the reloader and the control socket in one service group that handles SIGTERM.
public struct Agent: Sendable {
    private let assembly: Assembly
    private let logger: Logger
    private let environment: [String: String]

    public init(_ assembly: Assembly, logger: Logger, environment: [String: String]) {
        (self.assembly, self.logger, self.environment) = (assembly, logger, environment)
    }

    /// Runs until SIGTERM or SIGINT, then finishes what is in flight.
    /// - Parameters:
    ///   - further: services that live as long as the agent.
    ///   - servers: makes the servers for people and tools that bellhop.yaml asks for.
    ///   - hangups: the SIGHUPs that ask for a reload, if they are trapped already.
    /// - Throws: ``ControlSocketError`` when the socket or its private folder cannot be made.
    public func run(
        with further: [any Service] = [], servers: (AgentView) -> [any Service] = { _ in [] },
        signals: [UnixSignal] = [.sigterm, .sigint], hangups: UnixSignalsSequence? = nil
    ) async throws {
        let handler = Self.handler(assembly)
        let secrets = SecretReloader(assembly, handler: handler, environment: environment)
        let reloader = Reloader(assembly: assembly, environment: environment, secrets: secrets, hangups: hangups)
        let inquirer = inquirer(secrets)
        let server = ControlServer(
            at: ControlSocket.place(store: assembly.configuration.store, environment: environment), inquirer: inquirer)
        var work: [any Service] = [assembly.engine]
        if let handler, let place = assembly.configuration.inbound.place {
            work.append(InboundServer(at: place, handler: handler, logger: errorLogger))
        }
        work += servers(view(inquirer))
        if let exporter = assembly.exporter { work.append(exporter) }
        var services: [any Service] = further
        // The group stops the last one first, and waits for it. The server comes after `UnusedMemory`, which may wait for the long reads
        // for people: the stop of the server ends them.
        services += [
            SimultaneousServices(services: work, logger: errorLogger),
            UnusedMemory(clock: assembly.context.clock, store: assembly.context.store), assembly.storeWatch, reloader, server,
        ]
        services.append(
            SystemdNotifier(
                environment: environment, clock: assembly.context.clock,
                isLive: { [engine = assembly.engine] in engine.hangingLoops.isEmpty }))
        var group = ServiceGroupConfiguration(
            services: services.map {
                // If a `further` service ends, all services end. The agent's own services end only when they are stopped, or fail: then,
                // too, the engine finishes the deliveries that are in progress.
                .init(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            }, gracefulShutdownSignals: signals, logger: errorLogger)
        group.maximumGracefulShutdownDuration = .seconds(30)
        do {
            try await assembly.recover()
            try await ServiceGroup(configuration: group).run()
        } catch {
            await assembly.shutdown()
            throw error
        }
        await assembly.shutdown()
    }

    /// Decides on requests from other systems; nil if bellhop.yaml has no `inbound`.
    private static func handler(_ assembly: Assembly) -> InboundHandler? {
        let configuration = assembly.configuration.inbound
        guard configuration.place != nil else { return nil }
        let (engine, signals) = (assembly.engine, assembly.context.signals)
        let (intake, context) = (Intake(assembly.context), assembly.context)
        let tasks = configuration.tasks.reduce(into: [String: SentTasks]()) { $0[$1.key] = SentTasks($1.key, $1.value) }
        return InboundHandler(
            configuration.endpoints, clock: assembly.context.clock,
            storeEvents: { events throws(StoreError) in
                do throws(StoreError) {
                    try await intake.emit(events)
                } catch {
                    signals.emit(.storeFailed(doing: "storing an event from outside", error))
                    throw error
                }
            }, storeTasks: { source, items throws(Failure) in try await tasks[source]?.take(items, in: context) },
            poll: { engine.pollSoon($0) },
            refused: { signals.emit(.requestRefused(source: $0, status: $1.status, reason: $1.text)) },
            unique: { Hexadecimal.random(words: 2) })
    }

    /// Logs errors only: the other messages about the life cycle of services do not help the user.
    private var errorLogger: Logger {
        var logger = logger
        logger.logLevel = .error
        return logger
    }

    private func view(_ inquirer: Inquirer) -> AgentView {
        let (configuration, shelf) = (assembly.configuration, assembly.shelf)
        let file: @Sendable (String) -> [UInt8]? = { path in shelf.book.flatMap { Self.content(of: path, in: $0) } }
        let workshop = RuleWorkshop(
            inquirer, places: RulePlaces(configuration.rules, in: configuration.folder), book: { shelf.book }, file: file
        ) { [store = configuration.store] () throws(StoreError) in try Stores.openForReading(store) }
        return AgentView(
            inquirer: inquirer, clock: assembly.context.clock, configuration: configuration.console,
            zone: configuration.timeZone, connections: configuration.connections.map { ($0.name, $0.kind) },
            rates: Self.rates(configuration.connections),
            book: { shelf.book }, file: file, eventBell: assembly.context.bells.router, telemetry: assembly.telemetry,
            provider: assembly.provider, workshop: workshop)
    }

    private static func rates(_ connections: [Configuration.ConnectionEntry]) -> [String: String] {
        connections.reduce(into: [:]) { rates, connection in
            let kind = Catalogue.connections.first { $0.kind == connection.kind }
            rates[connection.name] =
                connection.settings.record("rate").flatMap(Rate.init)?.text
                ?? kind?.settings.first { $0.name == "rate" }?.fallback
        }
    }

    /// The bytes of a file that has rules in force; nil for any other.
    static func content(of path: String, in book: RuleBook) -> [UInt8]? {
        book.rules.contains { $0.file == path } ? RuleFinder.read(path)?.bytes : nil
    }

    private func inquirer(_ secrets: SecretReloader) -> Inquirer {
        let started = assembly.context.clock.now
        let assembly = assembly
        return Inquirer(
            store: assembly.context.store, clock: assembly.context.clock,
            connection: { assembly.configuration.connection($0) }, users: assembly.configuration.console.users.map(\.name),
            agent: Inquirer.Agent(
                facts: {
                    var facts: JSON.Object = [
                        "version": .string(BellhopVersion.text), "pid": .int(Int64(getpid())),
                        "started": .string(started.rfc3339), "in_flight": .int(Int64(assembly.engine.inFlight)),
                        "rules": .int(Int64(assembly.shelf.book?.rules.count ?? 0)),
                        "refused_rules": .int(Int64(assembly.refusedRules?.errorCount ?? 0)),
                        "store_trouble": assembly.storeWatch.last?.json ?? .null,
                        "hanging": .array(assembly.engine.hangingLoops.map(JSON.string)),
                        "notices": .object(
                            assembly.engine.notices.reduce(into: [:]) { $0[$1.key] = .array($1.value.map(JSON.string)) }),
                    ]
                    for (name, fact) in assembly.runtimeFacts.facts(at: ClockReading(assembly.context.clock)) {
                        facts[name] = fact
                    }
                    return facts
                },
                sources: {
                    assembly.connectors.sources.map { (name: $0.name, scope: $0.scope) }
                        + assembly.configuration.inbound.tasks.keys.map { (name: $0, scope: SentTasks.scope($0)) }
                }, underway: { assembly.engine.underway }, wake: { assembly.context.bells.dispatcher.ring() },
                pause: { stop throws(StoreError) in try await assembly.engine.pause(stop) },
                resume: { receiver throws(StoreError) in try await assembly.engine.resume(receiver) },
                applySilences: { () async throws(StoreError) in try await assembly.engine.applySilences() },
                applyPauses: { () async throws(StoreError) in try await assembly.rules.applyPauses() },
                book: { assembly.shelf.book }, events: assembly.context.bells.router,
                applyKeychainChange: { change, place in await secrets.answer(change, in: place) }))
    }
}

/// Services that are asked to stop at the same time; a service group asks one after the other. If one fails, the others are asked to stop,
/// too, and finish what is under way.
private struct SimultaneousServices: Service {
    let services: [any Service]
    let logger: Logger

    func run() async throws {
        let each = services.map { service in
            ServiceGroup(
                configuration: .init(
                    services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)], logger: logger))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for one in each { group.addTask { try await one.run() } }
            do {
                for try await _ in group {}
            } catch {
                for one in each { await one.triggerGracefulShutdown() }
                while await group.nextResult() != nil {}
                throw error
            }
        }
    }
}

public enum BellhopVersion {
    public static let text = "0.1.0"
}
