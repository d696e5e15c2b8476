import BellhopAgent
import BellhopCore
import BellhopEngine

/// Prints a demonstration, from its first line to its verdict.
struct DemoStory: Sendable {
    private let story: Story

    init(clock: DemoClock, zone: TimeZoneTable) { story = Story(clock: clock, zone: zone) }

    func open(address: String, speed: Double) {
        Console.data("A simulated ServiceNow runs at \(address). John Doe has two tasks.")
        Console.data("It is Monday, 08:27, in Berlin, and time runs \(Int(speed)) times as fast.")
        Console.data("")
    }

    func log(_ line: String) { story.log(line) }

    func report(_ signal: Signal) {
        switch signal {
        case .rulesLoaded, .stopping: break
        default: story.report(signal)
        }
    }

    func interrupted(folder: String?) {
        Console.data("")
        Console.data("Interrupted before the end of the demonstration, so there is no result.")
        show(folder)
    }

    func close(_ verdict: DemoVerdict, folder: String?) {
        Console.data("")
        Console.data("What the simulated instance and the chat really received:")
        for item in verdict.items {
            let mark = item.hasArrived ? Paint.green("✓") : Paint.red("✗")
            Console.data("  \(mark) \(item.what.padded(to: 42)) \(item.proof.singleLine)")
        }
        Console.data(verdict.isGood ? "Everything arrived exactly once." : "Something is missing, or arrived twice.")
        show(folder)
    }

    private func show(_ folder: String?) {
        if let folder { Console.data("Everything is in \(folder): try `bellhop events -c \(folder)/bellhop.yaml`.") }
    }

    /// Prints the address of the console, which stays open, and a token for it.
    func printLogin(console: String, token: String) {
        Console.data("")
        Console.data("The console: \(console)")
        Console.data("Log in with \(token); Ctrl-C ends the demonstration.")
    }
}
