public import BellhopCore
import BellhopEngine
import BellhopRules
public import Logging
public import ServiceLifecycle
import UnixSignals

/// Puts changed rules in force while the agent runs: when a file in their folders changes, and on SIGHUP. A change with an error
/// leaves all old rules in force, and says what is wrong.
public struct Reloader: Service {
    private let assembly: Assembly
    private let logger: Logger
    /// How long a folder must be quiet before it is read: editors write in several steps.
    private let quiet = Duration.milliseconds(150)

    public init(_ assembly: Assembly, logger: Logger) {
        self.assembly = assembly
        self.logger = logger
    }

    public func run() async throws {
        let found = RuleFinder.find(assembly.configuration.rules)
        let folders = Array(Set(found.folders)).sorted()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                if let changes = Watcher.changes(in: folders) {
                    group.addTask { for await _ in changes { await settle() } }
                } else {
                    logger.warning(
                        "Rule folders cannot be watched (inotify has no watches left); send SIGHUP after a change.",
                        metadata: ["signal": "rules.unwatched"])
                }
                group.addTask {
                    for await _ in await UnixSignalsSequence(trapping: .sighup) { await reload() }
                }
            }
        }
    }

    private func settle() async {
        guard (try? await ContinuousClock().sleep(for: quiet)) != nil else { return }
        await reload()
    }

    /// Reads the rules again, and tells how it went.
    @discardableResult
    public func reload() async -> Result<JSON, InquiryError> {
        do throws(AssemblyError) {
            let book = try await assembly.installRules()
            return .success(["rules": .int(Int64(book.rules.count))])
        } catch {
            switch error {
            case .diagnostics(let problems):
                assembly.surroundings.signals.emit(.rulesRefused(problems: problems.all.count))
                for problem in problems.all where problem.severity == .error {
                    logger.error(
                        "A changed rule has an error; the old rules stay in force.",
                        metadata: ["signal": "rules.refused", "problem": "\(problem.rendered())"])
                }
                let first = problems.all.first { $0.severity == .error }?.rendered() ?? ""
                return .failure(InquiryError(.rules, "The rules have errors; the old ones stay in force.\n\(first)"))
            case .store(let error):
                assembly.surroundings.signals.emit(.storeFailed(doing: "registering rules", error))
                return .failure(InquiryError(error))
            }
        }
    }
}
