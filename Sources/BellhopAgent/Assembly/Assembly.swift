public import BellhopConnectors
public import BellhopCore
public import BellhopEngine
import BellhopInbound
import BellhopRules
import BellhopStore
public import BellhopTelemetry
import Glibc

/// Everything that one configuration needs to run, assembled; no request has been sent yet.
public struct Assembly: Sendable {
    public let configuration: Configuration
    public let context: EngineContext
    public let connectors: Connectors
    public let shelf: RuleShelf
    public let engine: Engine
    let rules: RuleInstallation
    /// The fingerprint of the files from which the rules in force at the start were loaded.
    let rulesAtStart: Fingerprint
    let runtimeFacts: RuntimeFacts
    private let store: any Store
    let storeWatch: StoreWatch
    /// The agent's metrics and health.
    public let telemetry: AgentTelemetry
    /// Sends metrics and traces to an OpenTelemetry receiver; nil if bellhop.yaml names none.
    public let exporter: TelemetryExporter?
    /// Logs people in to the console with their accounts; nil without `openid`.
    let provider: OpenIDProvider?
    /// Warnings about the rule files.
    public let warnings: [Diagnostic]

    /// The caller's choices.
    public struct Options: Sendable {
        public var clock: any AgentClock
        /// Listeners that receive every signal, in addition to the agent's own.
        public var listeners: [SignalListener]
        /// Receives the lines of `log` actions without a file.
        public var output: LogSink
        public var checkpoint: @Sendable (Checkpoint) -> Void
        public var limits: Dispatcher.Limits
        /// The registry that counts metrics; nil to make a new one.
        public var metrics: MetricsRegistry?
        /// How long to wait for the store if another process has it.
        public var patience: Duration

        public init(
            clock: any AgentClock = SystemClock(), listeners: [SignalListener], output: @escaping LogSink,
            checkpoint: @escaping @Sendable (Checkpoint) -> Void = { _ in }, limits: Dispatcher.Limits = .init(),
            metrics: MetricsRegistry? = nil, patience: Duration = .zero
        ) {
            self.clock = clock
            self.listeners = listeners
            self.output = output
            self.checkpoint = checkpoint
            self.limits = limits
            self.metrics = metrics
            self.patience = patience
        }
    }

    /// Opens the store, makes the connectors, loads the rules and records that they are in force.
    public init(_ configuration: Configuration, options: Options) async throws(AssemblyError) {
        self.configuration = configuration
        do throws(StoreError) {
            store = try await Stores.open(configuration.store, patience: options.patience)
        } catch {
            throw .store(error)
        }
        let watch = StoreWatch(clock: options.clock)
        storeWatch = watch
        let facts = RuntimeFacts()
        runtimeFacts = facts
        let clock = options.clock
        let registry = options.metrics ?? MetricsRegistry(clock: clock)
        let counting = Signals.metrics(in: registry)
        let signals = Signals([watch.record, { facts.record($0, at: ClockReading(clock)) }, counting] + options.listeners)
        var context = EngineContext(store: store, clock: options.clock, signals: signals, checkpoint: options.checkpoint)
        context.silenceEntries = configuration.silences
        context.tracer = configuration.telemetry.receiver?.sampling.map { Tracer($0) }
        self.context = context
        let connectors = try await Self.connectors(
            configuration, clock: options.clock, events: Intake(context), notebook: store, output: options.output,
            login: { [keychain = configuration.keychain] connection in try keychain.login(connection) },
            tokens: configuration.keychain, keychain: configuration.keychain.path, keepsRates: true)
        self.connectors = connectors
        let shelf = RuleShelf()
        self.shelf = shelf
        let rules = RuleInstallation(configuration, connectors, shelf, context)
        self.rules = rules
        let plans = Dictionary(configuration.sources.map { ($0.name, $0.plan) }) { first, _ in first }
        engine = Engine(
            context, shelf: shelf,
            sources: connectors.sources.map { ($0, plans[$0.name] ?? PollPlan(cadence: .every(.seconds(60)))) },
            limits: options.limits, retention: configuration.retention, receivers: { connectors.limits(of: $0) },
            onSchemaChange: { _ in await rules.reload(isForFields: true) }, actions: { connectors.action(for: $0) })
        // A source that takes tasks is opened with its first request; the maintenance may prune the store before that.
        store.keepScopes(configuration.inbound.tasks.keys.map { SentTasks.scope($0).id })
        let telemetry = AgentTelemetry(registry, at: configuration.telemetry.place, clock: clock) {
            [
                store, engine, started = ClockReading(clock), names = configuration.connections.map(\.name),
                senders = configuration.inbound.endpoints.map(\.source)
            ] in
            let now = ClockReading(clock)
            var reading = AgentReading(now: now.now, started: started.time(by: now))
            reading.status = try? await store.status(at: reading.now)
            reading.storeRefusesChanges = await watch.isFailing(store)
            reading.sources = connectors.sources.map(\.name)
            reading.senders = senders
            reading.polled = facts.polled(at: now)
            reading.connections = names
            let inForce = shelf.book?.rules
            reading.rules = inForce?.map(\.name)
            reading.actions = Set((inForce ?? []).flatMap { $0.uses.map(\.action) })
            reading.refusedRules = rules.refusal?.errorCount ?? 0
            reading.inFlight = engine.inFlight
            reading.hangingLoops = engine.hangingLoops
            return reading
        }
        self.telemetry = telemetry
        let tracer = context.tracer
        exporter = try configuration.telemetry.receiver.map { receiver throws(AssemblyError) in
            do throws(ConnectorError) {
                return TelemetryExporter(
                    receiver, over: try HTTPConnection(receiver.http, clock: clock), tracer: tracer,
                    telemetry: telemetry, clock: clock, signals: signals, instance: configuration.store)
            } catch {
                throw .diagnostics(
                    Diagnostics([Diagnostic(code: "bad-connection", "`telemetry`: \(error.message)", at: nil)]))
            }
        }
        provider = try configuration.console.openID.map { openID throws(AssemblyError) in
            do throws(ConnectorError) {
                let http = HTTPConnection.Configuration(name: "openid", ca: openID.ca, timeout: .seconds(10), maxBody: 1 << 20)
                return OpenIDProvider(openID.settings, over: try HTTPConnection(http, clock: clock), clock: clock)
            } catch {
                throw .diagnostics(Diagnostics([Diagnostic(code: "bad-connection", "`openid`: \(error.message)", at: nil)]))
            }
        }
        // Start with the fields of the sources that are in the store. Each source reads the other fields before its first poll.
        await connectors.prepare(offline: true)
        let loaded = try await rules.install()
        rulesAtStart = rules.fingerprint(loaded.found)
        warnings = loaded.found.problems.all + loaded.book.warnings + (try await Self.refusedTokens(configuration, store))
    }

    /// Warnings about tokens of the console that are refused, for example because bellhop.yaml now has users of these names.
    private static func refusedTokens(
        _ configuration: Configuration, _ store: any Store
    ) async throws(AssemblyError) -> [Diagnostic] {
        let users = configuration.console.users.map(\.name)
        return try await rethrowing(as: AssemblyError.store) { () async throws(StoreError) in
            try await store.consoleTokens().compactMap { token in
                guard let refusal = ConsoleToken.refusal(of: token.name, users: users) else { return nil }
                let isOfUser = users.contains(token.name)
                let why = isOfUser ? "bellhop.yaml names a user `\(token.name)`" : refusal
                return Diagnostic(
                    .warning, code: "refused-token",
                    "the token `\(token.name.visible)` that `bellhop console token` made is not accepted: \(why)",
                    at: configuration.place(ofConsole: "users"),
                    help: "run `bellhop console token remove \(token.name.visible)`"
                        + (isOfUser ? ", or choose another name for the user" : " and make one with another name"))
            }
        }
    }

    /// The connectors of a configuration, for commands that run without an agent.
    /// - Parameters:
    ///   - hasPlaceholders: true if addresses may be placeholders, so that logins are not compared with them.
    ///   - keychain: the path of the keychain, which rules must not write to.
    ///   - keepsRates: whether the rates of connections survive a restart.
    public static func connectors(
        _ configuration: Configuration, clock: any AgentClock, events: any EventSink, notebook: any Notebook,
        output: @escaping LogSink, login: @escaping @Sendable (String) throws -> Keychain.Login?,
        tokens: any TokenStorage, hasPlaceholders: Bool = false, keychain: String? = nil, keepsRates: Bool = false
    ) async throws(AssemblyError) -> Connectors {
        let connectors: Connectors
        let environment = ConnectorEnvironment(
            clock: clock, events: events, notebook: notebook,
            login: { connection in try login(connection).map { ($0.username, $0.password) } },
            loginMark: { connection in try login(connection)?.nonce },
            loginPlace: { connection in hasPlaceholders ? nil : try login(connection)?.place }, tokens: tokens,
            baseFolder: configuration.folder, output: output, logPlaces: LogPlaces(configuration, keychain: keychain),
            allowsExec: configuration.allowsExec, keepsRates: keepsRates)
        do throws(ConnectorErrors) {
            connectors = try await Connectors(
                connections: configuration.connections.map { ($0.name, $0.kind, $0.settings) },
                sources: configuration.sources.map { ($0.name, $0.kind, $0.connection, $0.settings) }, environment: environment)
        } catch {
            throw .diagnostics(
                Diagnostics(
                    error.all.map { problem in
                        let setting = problem.setting.map { "`\($0)` of " } ?? ""
                        return Diagnostic(
                            code: "bad-connection", "\(setting)`\(problem.connection)`: \(problem.message)",
                            at: configuration.places.place(
                                of: problem.connection, in: problem.isOfSource ? "sources" : "connections",
                                setting: problem.setting))
                    }))
        }
        let problems = sameScopes(among: connectors.sources, configuration)
        if problems.hasErrors {
            await connectors.shutdown()
            throw .diagnostics(problems)
        }
        return connectors
    }

    /// Reports sources that read the same tasks as another: they would share their stored state.
    private static func sameScopes(among sources: [any Source], _ configuration: Configuration) -> Diagnostics {
        var known: [Scope.ID: [String]] = [:]
        var found = Diagnostics()
        for source in sources {
            defer { known[source.scope.id, default: []].append(source.name) }
            guard let other = known[source.scope.id]?.first(where: { areComparable(source.name, $0, configuration) }) else {
                continue
            }
            let line = configuration.places.place(of: other, in: "sources", setting: nil)?.line
            let place = line.map { " (line \($0))" } ?? ""
            found.report(
                Diagnostic(
                    code: "same-scope",
                    "source `\(source.name)` would read the same \(source.shows == .page ? "page" : "tasks") "
                        + "as source `\(other)`\(place)",
                    at: configuration.places.place(of: source.name, in: "sources", setting: nil),
                    help: "keep one of them; rules name sources with `from`"))
        }
        return found
    }

    /// Whether two sources with the same scope read from the same system. False if placeholders hide this.
    private static func areComparable(_ one: String, _ other: String, _ configuration: Configuration) -> Bool {
        let entries = [one, other].compactMap { configuration.source($0) }
        if entries.contains(where: \.hasPlaceholders) { return false }
        let connections = Set(entries.map(\.connection))
        return connections.count == 1 || !connections.contains { configuration.connection($0)?.hasPlaceholders ?? true }
    }

    /// The errors in the current rule files, because of which the previous rules stay in force; nil without errors.
    public var refusedRules: Diagnostics? { rules.refusal }

    /// Recovers what an earlier run left behind.
    public func recover() async throws(StoreError) { try await engine.recover(besides: configuration.inbound.sources) }

    /// Closes everything that the assembly holds open.
    public func shutdown() async {
        await connectors.shutdown()
        do throws(StoreError) {
            try await store.close()
        } catch {
            context.signals.emit(.storeFailed(doing: "closing the store", error))
        }
    }
}

/// Why an agent cannot be assembled.
public enum AssemblyError: Error, Sendable {
    /// The configuration or the rules have mistakes (exit 78).
    case diagnostics(Diagnostics)
    case store(StoreError)
}

extension LogPlaces {
    /// Allows log files below the folder of a configuration and the folders that it names, except in place of Bellhop's own files.
    public init(_ configuration: Configuration, keychain: String?) {
        var own: [Own] = [.file(configuration.file), .file(configuration.store)] + configuration.rules.map(Own.rules)
        if let keychain { own.append(.file(keychain)) }
        for case .folder(let folder) in configuration.secretStores { own.append(.folder(folder)) }
        self.init(folders: [configuration.folder] + configuration.logFolders, own: own)
    }
}
