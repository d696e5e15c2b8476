import BellhopCore
import BellhopEngine
import BellhopRules
import ServiceLifecycle
import UnixSignals

/// Puts changed rules in force while the agent runs: when a file in their folders changes, and on SIGHUP, which reloads
/// secrets too. After a change with an error, all old rules stay in force and the errors are reported.
///
/// One loop does all reloads, so that they never overlap: it finds the rules' folders, watches them, reloads if the rules differ, waits
/// for a change and then until no more changes come. If the store fails, it reloads again after a while.
struct Reloader: Service {
    let assembly: Assembly
    let environment: [String: String]
    var secrets: SecretReloader?
    /// Nil if SIGHUP is not trapped yet.
    var hangups: UnixSignalsSequence?

    /// How long folders must be quiet before they are read: editors write in several steps.
    private static let quiet = Duration.milliseconds(150)
    /// The longest wait for quiet.
    private static let timeout = Duration.seconds(5)
    /// The time until the next reload after one for which the store failed.
    private static let retryPause = Duration.seconds(30)

    func run() async throws {
        let changed = Bell()
        let asked = Bell()
        let configuration = Bell()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    let signals = if let hangups { hangups } else { await UnixSignalsSequence(trapping: .sighup) }
                    for await _ in signals {
                        asked.ring()
                        changed.ring()
                        configuration.ring()
                        await secrets?.reload()
                    }
                }
                group.addTask { await ConfigurationWatch(assembly, environment: environment).run(configuration) }
                await watch(changed, asked)
                group.cancelAll()
            }
        }
    }

    /// - Parameters:
    ///   - changed: rings when something has changed in the watched folders, which need not be a rule.
    ///   - asked: rings for a reload even if no rule has changed.
    private func watch(_ changed: Bell, _ asked: Bell) async {
        var loaded = assembly.rulesAtStart
        var answered: UInt64 = 0  // the rings of `asked` before the last reload
        var retry: Timestamp?
        while !Task.isCancelled {
            let requests = asked.rings
            let found = RuleFinder.find(assembly.configuration.rules)
            await withDiscardingTaskGroup { group in
                if let changes = Watcher.changes(in: Array(Set(found.folders)).sorted(), names: found.names) {
                    group.addTask { for await _ in changes { changed.ring() } }
                } else {
                    assembly.context.signals.emit(.rulesUnwatched)
                }
                // Catch changes made before the watch was set.
                let now = assembly.rules.fingerprint(RuleFinder.find(assembly.configuration.rules))
                // A refused load may have read a file while it was being written.
                if now != loaded || requests != answered || retry != nil || assembly.rules.refusal != nil {
                    let isStored = await assembly.rules.reload()
                    (loaded, answered) = (now, requests)
                    retry = isStored ? nil : assembly.context.clock.now + Self.retryPause
                }
                await changed.wait(until: retry, on: assembly.context.clock, stride: Self.retryPause)
                await Self.waitForQuiet(changed)
                group.cancelAll()
            }
        }
    }

    /// Waits until nothing has changed for a moment.
    static func waitForQuiet(_ changed: Bell) async {
        let clock = SystemClock()
        let end = clock.now + timeout
        while !Task.isCancelled, clock.now < end {
            let start = clock.now
            await changed.wait(until: start + quiet, on: clock)
            if clock.now >= start + quiet { return }
        }
    }
}
