import BellhopCore
import BellhopEngine

/// Notices that bellhop.yaml has changed since the agent's start; changes take effect at the next start.
struct ConfigurationWatch {
    private let assembly: Assembly

    init(_ assembly: Assembly) { self.assembly = assembly }

    /// Checks whenever the file's folder changes, and on request, until cancelled.
    func run(_ asked: Bell) async {
        let folder = assembly.configuration.folder
        var seen = assembly.configuration.content
        let running = seen
        await withDiscardingTaskGroup { group in
            if let changes = Watcher.changes(in: [folder.isEmpty ? "." : folder]) {
                group.addTask { for await _ in changes { asked.ring() } }
            }
            while !Task.isCancelled {
                // Catch changes made before the watch was set. A file that is missing for a moment is being replaced.
                if let now = Self.content(of: assembly.configuration.file), now != seen {
                    seen = now
                    if now != running {
                        assembly.surroundings.signals.emit(.configurationChanged(file: assembly.configuration.file))
                    }
                }
                await asked.wait(until: nil, on: assembly.surroundings.clock)
                await Reloader.settle(asked)
            }
            group.cancelAll()
        }
    }

    private static func content(of file: String) -> [UInt8]? { (try? PrivateFile.readAny(file)).flatMap { $0 } }
}
