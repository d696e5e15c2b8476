import BellhopCore
import BellhopEngine

/// Notices that bellhop.yaml has changed since the agent's start; changes take effect at the next start.
struct ConfigurationWatch {
    private let assembly: Assembly
    private let loader: ConfigurationLoader

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
            while !Task.isCancelled {
                // Catch changes made before the watch was set. A file that is missing for a moment is being replaced.
                if let now = try? PrivateFile.readAny(file), changes.isNew(now) {
                    for signal in changes.take(now, problem: await problem(of: now)) {
                        assembly.context.signals.emit(signal)
                    }
                    assembly.runtimeFacts.record(needsRestart: changes.needsRestart, hasMistakes: changes.hasMistakes)
                }
                await asked.wait(until: nil, on: assembly.context.clock)
                await Reloader.waitForQuiet(asked)
            }
            group.cancelAll()
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

/// Decides which signals a change of bellhop.yaml causes: a mistake and its correction are each reported once.
struct ConfigurationChanges {
    private let file: String
    private let running: [UInt8]
    private var seen: [UInt8]
    /// Whether the latest content has a mistake.
    private(set) var hasMistakes = false
    /// Whether the latest content without a mistake differs from the one in use.
    private(set) var needsRestart = false

    /// - Parameter running: the file's bytes at the agent's start.
    init(of file: String, running: [UInt8]) {
        self.file = file
        self.running = running
        seen = running
    }

    func isNew(_ content: [UInt8]) -> Bool { content != seen }

    /// - Parameter problem: the first mistake in it.
    mutating func take(_ content: [UInt8], problem: String?) -> [Signal] {
        seen = content
        if let problem {
            defer { hasMistakes = true }
            return hasMistakes ? [] : [.configurationWrong(file: file, problem: problem)]
        }
        var signals: [Signal] = hasMistakes ? [.configurationRestored(file: file)] : []
        hasMistakes = false
        needsRestart = content != running
        if needsRestart { signals.append(.configurationChanged(file: file)) }
        return signals
    }
}

extension Diagnostic {
    /// The place and the message, such as "bellhop.yaml:3:5: there is no kind".
    fileprivate var line: String { (place.map { "\($0.file):\($0.line):\($0.column): " } ?? "") + message }
}
