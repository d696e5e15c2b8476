import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch the agent in the terminal: sources, rules, receivers, deliveries, what waits, events.",
        discussion: """
            Asks the running agent repeatedly; without one, reads its store. Problems that need a person are shown at the top.

            Keys: ← and → or 1 to 6 change the view, ↑ and ↓ select a row, enter shows all about it. p pauses a rule or a receiver, or \
            resumes it; r retries a delivery and d drops it, after you have confirmed it. q goes back, and quits.
            """)

    @OptionGroup var config: AgentOptions

    @Option(help: "The time between two updates: 500ms, 2s, 1m.")
    var every = "2s"

    func validate() throws {
        do {
            if try DurationText.parse(every) < .milliseconds(100) { throw ValidationError("--every must be at least 100ms.") }
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("--every: \(error)")
        }
    }

    func run() async throws {
        var screen = TopScreen(try config.storeLink(), every: (try? DurationText.parse(every)) ?? .seconds(2))
        try await screen.run()
    }
}
