import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopFiles
import BellhopRules
import BellhopStore
import FoundationEssentials
import Glibc
import Logging

/// The configuration that a command uses.
struct ConfigOptions: ParsableArguments {
    @Option(name: [.long, .customShort("c")], help: "The configuration file.", completion: .file())
    var config = "bellhop.yaml"

    var environment: [String: String] { ProcessInfo.processInfo.environment }
    var keychain: Keychain { Keychain(path: Keychain.standardPath(environment: environment)) }
    var loader: ConfigurationLoader { ConfigurationLoader(environment: environment, keychain: keychain) }

    func load(focus: ConfigurationLoader.Focus = .everything) async throws(CommandError) -> Configuration {
        let loader = loader
        return try await rethrowing(as: CommandError.init) { () async throws(ConfigurationError) in
            try await Stopping.cancelledBySignals { [config] () async throws(ConfigurationError) -> Configuration in
                try await loader.load(config, focus: focus)
            }
        }
    }

    /// The link to the store. Finding it needs no secrets, and other parts of bellhop.yaml may have mistakes.
    func storeLink() throws(CommandError) -> StoreLink { try storeLink(of: config) }

    func storeLink(of file: String) throws(CommandError) -> StoreLink {
        try rethrowing(as: CommandError.init) { () throws(ConfigurationError) in
            let place = try loader.storePlace(file)
            return StoreLink(
                store: place.store, socket: ControlSocket.place(store: place.store, environment: environment), zone: place.zone,
                connections: place.connections, events: place.events, users: place.users)
        }
    }
}

/// The agent that a command queries: the agent of this bellhop.yaml, or an agent on another machine through its console.
struct AgentOptions: ParsableArguments {
    @OptionGroup var files: ConfigOptions

    @Option(
        help:
            "The address of a console: asks the agent there, with the token in BELLHOP_TOKEN. BELLHOP_CA names a PEM file of a private authority."
    )
    var console: String?

    var environment: [String: String] { files.environment }

    /// The agent's files.
    /// - Throws: with --console, because the files are on another machine.
    func localFiles() throws(CommandError) -> ConfigOptions {
        if console == nil { return files }
        throw CommandError(.usage, "This needs the files beside the agent, so it does not work with --console.")
    }

    func storeLink() throws(CommandError) -> StoreLink {
        guard let console else { return try files.storeLink() }
        let zone = environment["TZ"].flatMap { ZoneFiles.zone($0) } ?? .utc
        return StoreLink(
            store: "", socket: ControlSocket.place(store: "", environment: environment), zone: zone, connections: [:], events: [],
            users: [], console: try ConsoleClient(console, environment: environment))
    }
}

/// Access to an agent's data: through the running agent, its store, or its console.
struct StoreLink {
    let store: String
    let socket: ControlSocket.Place
    let zone: TimeZoneTable
    /// The connections by name, without secrets in their settings.
    let connections: [String: Configuration.ConnectionEntry]
    /// The types of events that bellhop.yaml declares.
    let events: [String]
    /// The names of the console's users in bellhop.yaml.
    let users: [String]
    /// The console through which the agent is queried; nil for the agent of this machine.
    var console: ConsoleClient?
    /// The rules of the files, for a replay while no agent runs.
    var book: RuleBook?
    /// How long a change waits for another process that has the store: a command has it for a moment, and an agent that starts listens soon.
    var patience = Duration.seconds(5)
    /// How many seconds of silence of the running agent end an inquiry.
    var agentTimeout = 30

    /// Whether an agent has ever run. An agent creates the store when it starts.
    var hasRun: Bool { console != nil || Files.exist(store) }

    /// The identity of the store's present file; nil without a file on this machine.
    var file: FileIdentity? { console == nil ? FileIdentity(of: store) : nil }

    /// Answers an inquiry: calls `row` for each row as it is read, and returns the end of the answer.
    func answer(_ inquiry: Inquiry, row: (JSON) -> Void = { _ in }) async throws(CommandError) -> JSON {
        if let console { return try await console.ask(inquiry, row: row) }
        do throws(InquiryError) {
            let deadline = ContinuousClock.now + patience
            while true {
                if let end = try askAgent(inquiry, row: row) { return end }
                let opened: any Store
                do throws(InquiryError) { opened = try open(inquiry) } catch {
                    guard error.storeKind == .busy, ContinuousClock.now < deadline,
                        (try? await Task.sleep(for: .milliseconds(20))) != nil
                    else { throw error }
                    continue
                }
                return try await answer(inquiry, from: opened, row: row)
            }
        } catch {
            throw CommandError(error)
        }
    }

    /// The end of the running agent's answer; nil if no agent listens.
    private func askAgent(_ inquiry: Inquiry, row: (JSON) -> Void) throws(InquiryError) -> JSON? {
        do throws(InquiryError) { return try ControlClient(socket, timeout: agentTimeout).ask(inquiry, row: row) } catch {
            // An agent that stops ends inquiries that wait for the next event; one that hangs may go on.
            guard [.cutOff, .silent].contains(error.kind), case .events(_, waits: true) = inquiry else { throw error }
            if error.kind == .silent {
                Console.note("The running agent does not answer: look at its log. Events follow when it does.")
            }
            return [:]
        }
    }

    private func answer(_ inquiry: Inquiry, from store: any Store, row: (JSON) -> Void) async throws(InquiryError) -> JSON {
        let silentAgent = if case .status = inquiry { Stores.process(holding: self.store) } else { Int32?.none }
        var answer = Inquirer(
            store: store, clock: SystemClock(), connection: { [connections] in connections[$0] }, users: users, book: book,
            silentAgent: silentAgent
        ).answer(inquiry)
        while true {
            switch try await answer.next() {
            case .rows(let rows): for value in rows { row(value) }
            case .end(let end): return end
            }
        }
    }

    /// All rows of an answer, for small answers.
    func rows(_ inquiry: Inquiry) async throws(CommandError) -> [JSON] {
        var rows: [JSON] = []
        _ = try await answer(inquiry) { rows.append($0) }
        return rows
    }

    /// - Throws: if there is no rule of one of these names in ``book``, or at the agent if that is nil.
    func checkRules(_ names: [String]) async throws(CommandError) {
        guard !names.isEmpty else { return }
        let known: [String]
        if let book {
            known = book.rules.map(\.name)
        } else {
            known = try await answer(.status)["rules"].elements.compactMap { $0["rule"]?.asString }
        }
        for name in names where !known.contains(name) {
            throw CommandError(.usage, Suggestion.unknownRule(name, among: known))
        }
    }

    /// The store, for reading beside a running agent.
    func openForReading() throws(CommandError) -> any Store {
        do throws(StoreError) { return try Stores.openForReading(store) } catch { throw CommandError(error) }
    }

    private func open(_ inquiry: Inquiry) throws(InquiryError) -> any Store {
        do throws(StoreError) {
            // Opening to read reports a missing store, instead of creating one.
            guard inquiry.changes, Files.exist(store) else { return try Stores.openForReading(store) }
            return try Stores.open(store)
        } catch {
            guard error.kind == .busy, let process = Stores.process(holding: store) else { throw InquiryError(error) }
            throw InquiryError(
                .store,
                "An agent (process \(process)) has the store, but does not answer on its socket: try again, and restart it if that does not help.",
                storeKind: .busy)
        }
    }
}

extension Inquiry {
    var changes: Bool {
        switch self {
        case .apply, .edit, .pause, .resume, .addSilence, .endSilence, .forget, .keepRefusal, .addToken, .removeToken: true
        case .replay(let request): !request.isTrial
        case .status, .activity, .tokens, .events, .deliveries, .audit, .history, .tasks, .form, .silences, .keychainChanged:
            false
        }
    }
}

extension Suggestion {
    /// The message about a name that does not exist, with the nearest name, or else the hint; without a hint, with all names.
    static func unknown(_ kind: String, _ name: String, among names: [String], otherwise hint: String? = nil) -> String {
        if names.isEmpty, hint == nil { return "There is no \(kind) `\(name.visible)`." }
        let help = didYouMean(name, among: names) ?? hint ?? "use \(names.map { "`\($0)`" }.joined(separator: ", "))."
        return "There is no \(kind) `\(name.visible)`: \(help)"
    }

    static func unknownRule(_ name: String, among known: [String]) -> String {
        unknown("rule", name, among: known, otherwise: "`bellhop status` lists the rules.")
    }
}

extension DurationText {
    /// - Throws: a `ValidationError` if the value of an option is not a duration. The option must be parsed `.unconditional`: otherwise
    ///   the parser takes `-1h` for an option.
    static func validate(_ text: String?, option: String) throws {
        guard let text else { return }
        do { _ = try parse(text) } catch { throw ValidationError("\(option): \(error)") }
    }
}

/// How a command prints data.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, for programs.")
    var json = false
}

/// A command that prints data. With --json, its errors are JSON too, unless it has already printed data.
protocol DataCommand: AsyncParsableCommand {
    var output: OutputOptions { get }
}

/// The format and level of an agent's log.
struct LogOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case debug, info, warning, error

        var threshold: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
    }

    @Option(
        help: "How log lines on standard error look: text or json; by default, sentences on a terminal, else text.")
    var logFormat: Format?

    @Option(help: "The least important lines to print: debug, info, warning or error.")
    var logLevel = Level.info

    /// The reporter that prints sentences for people; nil if the log is for programs.
    func story(clock: any AgentClock, zone: TimeZoneTable) -> Story? {
        guard logFormat == nil, isatty(STDERR_FILENO) == 1 else { return nil }
        return Story(
            clock: clock, zone: zone, level: logLevel, showsIDs: true, isColoured: Console.noteHasColour,
            width: Screen.noteWidth, print: { Console.note($0) })
    }

    /// - Parameter zone: the time zone for terminals; other output uses UTC.
    func terminalLog(clock: any AgentClock, zone: TimeZoneTable) -> TerminalLog {
        TerminalLog(
            logLevel: logLevel.threshold, format: logFormat ?? .text, clock: clock,
            zone: isatty(STDERR_FILENO) == 1 ? zone : nil, isForJournal: isJournal)
    }

    /// Whether standard error goes to systemd's journal (systemd.exec(5)).
    private var isJournal: Bool {
        var facts = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(STDERR_FILENO, &facts) == 0 else { return false }
        return String(cString: stream) == "\(facts.st_dev):\(facts.st_ino)"
    }
}
