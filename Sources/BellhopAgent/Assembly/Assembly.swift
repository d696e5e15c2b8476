public import BellhopConnectors
public import BellhopCore
public import BellhopEngine
import BellhopRules
import BellhopStore
import Glibc
public import Logging

/// Everything that one configuration needs to run, put together; nothing has been asked of anybody yet.
public struct Assembly: Sendable {
    public let configuration: Configuration
    public let surroundings: Surroundings
    public let connectors: Connectors
    public let shelf: RuleShelf
    public let engine: Engine
    /// The fingerprint of the rule files that were put in force at the start.
    let rulesAtStart: Fingerprint
    private let store: SQLiteStore
    /// What is to be said of the rule files that is no error.
    public let warnings: [Diagnostic]

    /// What the outside decides.
    public struct Options: Sendable {
        public var clock: any AgentClock
        public var logger: Logger
        public var keychain: Keychain
        /// Gets the lines of `log` actions that have no file.
        public var output: @Sendable (String) throws -> Void
        /// Hears every signal.
        public var observer: (@Sendable (Signal) -> Void)?
        public var checkpoint: @Sendable (Checkpoint) -> Void
        public var limits: Dispatcher.Limits

        public init(
            clock: any AgentClock = SystemClock(), logger: Logger, keychain: Keychain,
            output: @escaping @Sendable (String) throws -> Void,
            observer: (@Sendable (Signal) -> Void)? = nil, checkpoint: @escaping @Sendable (Checkpoint) -> Void = { _ in },
            limits: Dispatcher.Limits = .init()
        ) {
            self.clock = clock
            self.logger = logger
            self.keychain = keychain
            self.output = output
            self.observer = observer
            self.checkpoint = checkpoint
            self.limits = limits
        }
    }

    /// Opens the store, makes the connectors, loads the rules and writes down that they are in force.
    public init(_ configuration: Configuration, options: Options) async throws(AssemblyError) {
        self.configuration = configuration
        do throws(StoreError) {
            store = try SQLiteStore.open(path: configuration.store)
        } catch {
            throw .store(error)
        }
        surroundings = Surroundings(
            store: store, clock: options.clock, signals: Signals(logger: options.logger, observer: options.observer),
            checkpoint: options.checkpoint)
        connectors = try await Self.connectors(
            configuration, clock: options.clock, events: Intake(surroundings), notebook: store, output: options.output,
            login: { connection in try options.keychain.login(connection) })
        shelf = RuleShelf()
        let connectors = connectors
        let plans = Dictionary(configuration.sources.map { ($0.name, $0.plan) }) { first, _ in first }
        engine = Engine(
            surroundings, shelf: shelf,
            sources: connectors.sources.map { ($0, plans[$0.name] ?? PollPlan(cadence: .every(.seconds(60)))) },
            limits: options.limits, retention: configuration.retention, actions: { connectors.action(for: $0) })
        let loaded = try await Self.installRules(configuration, connectors, shelf, surroundings)
        rulesAtStart = loaded.found.fingerprint
        warnings = loaded.found.problems.all + loaded.book.warnings
    }

    /// Loads the rules as they are now and puts them in force; where they have errors, those in force stay.
    public func installRules() async throws(AssemblyError) {
        _ = try await Self.installRules(configuration, connectors, shelf, surroundings)
    }

    private static func installRules(
        _ configuration: Configuration, _ connectors: Connectors, _ shelf: RuleShelf, _ surroundings: Surroundings
    ) async throws(AssemblyError) -> RuleLoading.Loaded {
        let loaded: RuleLoading.Loaded
        do throws(Diagnostics) {
            loaded = try RuleLoading.book(configuration, sources: connectors.sources)
        } catch {
            throw .diagnostics(error)
        }
        // A folder that is moved away for a moment, or a file that an editor has just emptied, ends no rule.
        if loaded.book.rules.isEmpty, let before = shelf.book, !before.rules.isEmpty {
            throw .diagnostics(
                Diagnostics([
                    Diagnostic(
                        code: "no-rules", "there are no rules any more where there were \(before.rules.count)",
                        help: "to run without rules, stop the agent and start it again")
                ]))
        }
        do throws(StoreError) {
            try await shelf.install(loaded.book, in: surroundings)
        } catch {
            throw .store(error)
        }
        surroundings.signals.emit(.rulesLoaded(count: loaded.book.rules.count, warnings: loaded.book.warnings.count))
        return loaded
    }

    /// The connectors of a configuration, for those who need them without an agent.
    public static func connectors(
        _ configuration: Configuration, clock: any AgentClock, events: any EventSink, notebook: any Notebook,
        output: @escaping @Sendable (String) throws -> Void, login: @escaping @Sendable (String) throws -> Keychain.Login?
    ) async throws(AssemblyError) -> Connectors {
        let environment = ConnectorEnvironment(
            clock: clock, events: events, notebook: notebook,
            login: { connection in try login(connection).map { ($0.username, $0.password) } },
            loginMark: { connection in try login(connection)?.nonce }, baseFolder: configuration.folder, output: output)
        do throws(ConnectorErrors) {
            return try await Connectors(
                connections: configuration.connections.map { ($0.name, $0.kind, $0.settings) },
                sources: configuration.sources.map { ($0.name, $0.kind, $0.connection, $0.settings) }, environment: environment)
        } catch {
            throw .diagnostics(
                Diagnostics(
                    error.all.map { problem in
                        let setting = problem.setting.map { "`\($0)` of " } ?? ""
                        return Diagnostic(code: "bad-connection", "\(setting)`\(problem.connection)`: \(problem.message)")
                    }))
        }
    }

    /// Ends what the assembly holds open.
    public func shutdown() async {
        await connectors.shutdown()
        do throws(StoreError) {
            try await store.close()
        } catch {
            surroundings.signals.emit(.storeFailed(doing: "closing the store", error))
        }
    }
}

/// Why an agent cannot be put together.
public enum AssemblyError: Error, Sendable {
    /// The configuration or the rules have mistakes (exit 78).
    case diagnostics(Diagnostics)
    case store(StoreError)
}
