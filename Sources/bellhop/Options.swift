import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopStore
import Foundation
import Logging

/// Which configuration a command is for.
struct ConfigOptions: ParsableArguments {
    @Option(name: [.long, .customShort("c")], help: "The configuration file.")
    var config = "bellhop.yaml"

    var environment: [String: String] { ProcessInfo.processInfo.environment }
    var keychain: Keychain { Keychain(path: Keychain.standardPath(environment: environment)) }

    /// The configuration, checked.
    func load(focus: ConfigurationLoader.Focus = .everything) async throws(Trouble) -> Configuration {
        do throws(ConfigurationError) {
            return try await ConfigurationLoader(environment: environment, keychain: keychain).load(config, focus: focus)
        } catch {
            throw Trouble(error)
        }
    }

    /// Where the store of the configuration is: looking at it needs no secrets, and nothing else in the file to be in order.
    func storeLink() throws(Trouble) -> StoreLink { try storeLink(of: config) }

    /// The same for another bellhop.yaml.
    func storeLink(of file: String) throws(Trouble) -> StoreLink {
        do throws(ConfigurationError) {
            let place = try ConfigurationLoader(environment: environment, keychain: keychain).storePlace(file)
            return StoreLink(
                store: place.store, socket: ControlSocket.place(store: place.store, environment: environment), zone: place.zone,
                kinds: place.kinds)
        } catch {
            throw Trouble(error)
        }
    }

    /// Asks the running agent, or the store where none runs.
    func answer(_ inquiry: Inquiry) async throws(Trouble) -> JSON { try await storeLink().answer(inquiry) }

    /// The rows of an answer that is small enough to be held whole.
    func rows(_ inquiry: Inquiry) async throws(Trouble) -> [JSON] {
        var rows: [JSON] = []
        _ = try await storeLink().answer(inquiry) { rows.append($0) }
        return rows
    }
}

/// The way to what an agent knows: the agent itself, or its store.
struct StoreLink {
    let store: String
    let socket: ControlSocket.Place
    /// The zone of the times that people read.
    let zone: TimeZoneTable
    /// The kinds of the connections, by their names.
    let kinds: [String: String]

    /// False where no agent has ever run: the first thing it does is to make its store.
    var hasRun: Bool { Files.exist(store) }

    /// Hands out the rows of the answer as they are read, and returns its end.
    func answer(_ inquiry: Inquiry, row: (JSON) -> Void = { _ in }) async throws(Trouble) -> JSON {
        do throws(InquiryError) {
            if let end = try ControlClient(socket).ask(inquiry, row: row) { return end }
            var answer = Inquirer(store: try open(inquiry), clock: SystemClock(), kind: { [kinds] in kinds[$0] }).answer(inquiry)
            while true {
                switch try await answer.next() {
                case .rows(let rows): for value in rows { row(value) }
                case .end(let end): return end
                }
            }
        } catch {
            throw Trouble(error)
        }
    }

    private func open(_ inquiry: Inquiry) throws(InquiryError) -> SQLiteStore {
        do throws(StoreError) {
            // A store that is not there is told of, and not made.
            guard inquiry.changes, Files.exist(store) else { return try SQLiteStore.openForReading(path: store) }
            return try SQLiteStore.open(path: store)
        } catch {
            throw InquiryError(error)
        }
    }
}

extension Inquiry {
    /// True when it writes to the store.
    var changes: Bool {
        switch self {
        case .decide, .keepRefusal: true
        case .status, .events, .deliveries, .tasks, .keychainChanged: false
        }
    }
}

/// How a command prints data.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, for programs.")
    var json = false
}

/// How much an agent says of itself.
struct LogOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case debug, info, warning, error

        var threshold: Logger.Level {
            switch self {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        }
    }

    @Option(
        help: "How log lines on standard error look: text or json; by default, what happens in words on a terminal, else text.")
    var logFormat: Format?

    @Option(help: "The least important lines to print: debug, info, warning or error.")
    var logLevel = Level.info

    /// What happens in words, where a person looks on; nil where the log is for programs.
    func story(clock: any AgentClock, zone: TimeZoneTable) -> Story? {
        guard logFormat == nil, isatty(STDERR_FILENO) == 1 else { return nil }
        return Story(
            clock: clock, zone: zone, level: logLevel, showsIDs: true, isColoured: Console.noteHasColour,
            width: Screen.noteWidth, print: { Console.note($0) })
    }

    /// - Parameter story: tells the signals, so that the log need not.
    /// - Parameter zone: whose clocks a person reads; lines that no terminal shows have UTC.
    func logger(clock: any AgentClock, zone: TimeZoneTable, story: Story? = nil) -> Logger {
        Logger(label: "bellhop") { _ in
            TerminalLog(
                level: logLevel.threshold, format: logFormat == .json ? .json : .text, clock: clock,
                zone: isatty(STDERR_FILENO) == 1 ? zone : nil, leavesOutSignals: story != nil)
        }
    }
}
