import BellhopAgent
import BellhopCore
import BellhopEngine
import Synchronization

/// Tells a demonstration line by line as it happens.
///
/// A class over a mutex, because signals come from several loops and lines must not mix.
final class DemoStory: Sendable {
    private let clock: SystemClock
    private let zone: TimeZoneTable
    private let lines = Mutex(0)

    init(clock: SystemClock) {
        self.clock = clock
        zone = ZoneFiles.zone("Europe/Berlin") ?? .utc
    }

    func open(address: String, speed: Double) {
        Console.data("A simulated ServiceNow answers at \(address). It is Monday, 08:27, in Berlin, and")
        Console.data("time runs \(Int(speed)) times as fast. John Doe has two old tasks; Bellhop runs the shipped rules.")
        Console.data("")
    }

    func log(_ line: String) { say("log", .dim, line) }

    func tell(_ signal: Signal) {
        switch signal {
        case .baseline(let source, let tasks):
            say("baseline", .blue, "\(source): \(tasks) tasks are there already; they are no news")
        case .event(let event): say("event", .cyan, "\(event.type.name)  \(Events.summary(event.cloudEvent))")
        case .delivered(let delivery, let receipt, _, _): say("done", .green, "\(Self.words(delivery)): \(receipt.summary)")
        case .retrying(let delivery, let failure, _, _): say("again", .yellow, "\(Self.words(delivery)): \(failure.message)")
        case .dead(let delivery, let failure), .held(let delivery, let failure), .paused(let delivery, let failure, _):
            say("trouble", .red, "\(Self.words(delivery)): \(failure.message)")
        case .pollFailed(_, let failure, _, _): say("trouble", .red, failure.message)
        case .notice(_, let text): say("notice", .yellow, text)
        case .storeFailed(_, let error): say("trouble", .red, error.message)
        case .ruleFailed(let rule, let error, _): say("trouble", .red, "\(rule): \(error)")
        case .polled, .unchanged, .pollHeld, .pollSuperseded, .routed, .shadowed, .leaseLost, .rescued, .rulesLoaded,
            .rulesRefused,
            .pruned, .stopping:
            break
        }
    }

    private static func words(_ delivery: Delivery) -> String {
        let task = delivery.task.map { " on \($0.number)" } ?? ""
        let what =
            switch delivery.arguments {
            case .values(let values): values["text"]?.asString ?? ""
            case .message(let message): message.title.plainText
            }
        return "\(delivery.action)\(task) to \(delivery.id.receiver) “\(what.cut(to: 60))”"
    }

    private func say(_ word: String, _ paint: Paint, _ text: String) {
        let time = zone.local(clock.now)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let stamp = "\(two(time.hour)):\(two(time.minute)):\(two(time.second))"
        lines.withLock { count in
            count += 1
            Console.data("\(Paint.dim(stamp))  \(paint(word.padded(to: 8)))  \(text.singleLine)")
        }
    }

    /// The demonstration was ended before its end, so nothing can be said of what was still to come.
    func interrupted(folder: String?) {
        Console.data("")
        Console.data("Interrupted: the morning was not over, so there is no verdict.")
        if let folder { Console.data("Everything is in \(folder): try `bellhop events -c \(folder)/bellhop.yaml`.") }
    }

    func close(_ verdict: DemoVerdict, folder: String?) {
        Console.data("")
        Console.data("What the simulated instance and the chat really received:")
        for item in verdict.items {
            let mark = item.isThere ? Paint.green("✓") : Paint.red("✗")
            Console.data("  \(mark) \(item.what.padded(to: 42)) \(item.proof.singleLine)")
        }
        Console.data(verdict.isGood ? "All of it arrived, each exactly once." : "Something is missing, or came twice.")
        if let folder { Console.data("Everything is in \(folder): try `bellhop events -c \(folder)/bellhop.yaml`.") }
    }
}
