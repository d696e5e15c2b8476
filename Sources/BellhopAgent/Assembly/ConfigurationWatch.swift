import BellhopCore
import BellhopEngine

/// Notices that bellhop.yaml has changed since the agent's start, is missing or cannot be read; changes take effect at the next start.
struct ConfigurationWatch {
    private let assembly: Assembly
    private let loader: ConfigurationLoader

    /// How long a missing file may be being replaced.
    private static let longestReplacement = Duration.seconds(2)

    init(_ assembly: Assembly, environment: [String: String]) {
        self.assembly = assembly
        loader = ConfigurationLoader(environment: environment, keychain: assembly.configuration.keychain)
    }

    /// Checks whenever the file's folder changes or the bell rings, until cancelled.
    func run(_ asked: Bell) async {
        let (file, folder) = (assembly.configuration.file, assembly.configuration.folder)
        var changes = ConfigurationChanges(of: file, running: assembly.configuration.content ?? [])
        await withDiscardingTaskGroup { group in
            if let changes = Watcher.changes(in: [folder.isEmpty ? "." : folder]) {
                group.addTask { for await _ in changes { asked.ring() } }
            }
            var wasUnreadable = false
            while !Task.isCancelled {
                // Catch changes made before the watch was set.
                let (content, error) = Self.read(file)
                let maybeReplaced = content == nil && !wasUnreadable
                wasUnreadable = content == nil
                if changes.isNew(content), !maybeReplaced {
                    let mistake = if let content { await problem(of: content) } else { error }
                    for signal in changes.take(content, problem: mistake) { assembly.context.signals.emit(signal) }
                    assembly.runtimeFacts.record(changes)
                }
                let clock = assembly.context.clock
                await asked.wait(until: maybeReplaced ? clock.now + Self.longestReplacement : nil, on: clock)
                await Reloader.waitForQuiet(asked)
            }
            group.cancelAll()
        }
    }

    /// The file's bytes, or why it cannot be read.
    static func read(_ file: String) -> (content: [UInt8]?, error: String?) {
        do throws(PrivateFile.FileError) {
            let content = try PrivateFile.readAny(file)
            return (content, content == nil ? "There is no \(file)." : nil)
        } catch {
            return (nil, error.message)
        }
    }

    /// The first mistake; nil without one. Secrets are not read: they may change without the file.
    private func problem(of content: [UInt8]) async -> String? {
        do throws(ConfigurationError) {
            _ = try await loader.load(content, file: assembly.configuration.file, focus: .shape)
            return nil
        } catch {
            switch error {
            case .diagnostics(let problems): return problems.all.first { $0.severity == .error }?.line ?? ""
            case .unreadable(let message): return message
            case .secret: return nil
            }
        }
    }
}

/// Decides which signals a change of bellhop.yaml causes: each trouble and its end are reported once.
struct ConfigurationChanges {
    enum Trouble { case mistakes, unreadable }

    private let file: String
    private let running: [UInt8]
    /// The latest content; nil if the file was missing or could not be read.
    private var seen: [UInt8]?
    /// Why the agent could not start with the file as it is now; nil if it could.
    private(set) var trouble: Trouble?
    /// Whether the latest content without a mistake differs from the one in use.
    private(set) var needsRestart = false

    /// - Parameter running: the file's bytes at the agent's start.
    init(of file: String, running: [UInt8]) {
        self.file = file
        self.running = running
        seen = running
    }

    func isNew(_ content: [UInt8]?) -> Bool { content != seen }

    /// - Parameters:
    ///   - content: nil if the file is missing or cannot be read.
    ///   - problem: the first mistake in it, or why it cannot be read.
    mutating func take(_ content: [UInt8]?, problem: String?) -> [Signal] {
        seen = content
        let before = trouble
        guard let content else {
            trouble = .unreadable
            return before == .unreadable ? [] : [.configurationUnreadable(file: file, problem: problem ?? "")]
        }
        if let problem {
            trouble = .mistakes
            return before == .mistakes ? [] : [.configurationWrong(file: file, problem: problem)]
        }
        trouble = nil
        needsRestart = content != running
        var signals: [Signal] = before == nil ? [] : [.configurationRestored(file: file)]
        if needsRestart { signals.append(.configurationChanged(file: file)) }
        return signals
    }
}

extension Diagnostic {
    /// The place and the message, such as "bellhop.yaml:3:5: there is no kind".
    fileprivate var line: String { (place.map { "\($0.file):\($0.line):\($0.column): " } ?? "") + message }
}
