import BellhopCore
import BellhopEngine
import Synchronization

/// Tells what an agent does as it happens, a line for each thing that a person cares for, with the time of the configuration's zone.
///
/// A class over a mutex, because signals come from several loops and lines must not mix.
final class Story: Sendable {
    private let clock: any AgentClock
    private let zone: TimeZoneTable
    private let isColoured: Bool
    /// The least important signals that are told.
    private let level: LogOptions.Level
    private let showsIDs: Bool
    private let print: @Sendable (String) -> Void
    private let lines = Mutex(0)

    init(
        clock: any AgentClock, zone: TimeZoneTable, level: LogOptions.Level = .info, showsIDs: Bool = false,
        isColoured: Bool = Console.dataHasColour, print: @escaping @Sendable (String) -> Void = { Console.data($0) }
    ) {
        self.clock = clock
        self.zone = zone
        self.level = level
        self.showsIDs = showsIDs
        self.isColoured = isColoured
        self.print = print
    }

    func log(_ line: String) { say("log", .dim, line) }

    func tell(_ signal: Signal) {
        guard signal.level >= level.threshold else { return }
        switch signal {
        case .baseline(let source, let tasks):
            say("baseline", .blue, "\(source): \(tasks) task\(tasks == 1 ? " is" : "s are") there already; they are no news")
        case .event(let event):
            say("event", .cyan, "\(event.type.name)  \(Events.summary(event.cloudEvent, in: zone))", id: event.shortID)
        case .delivered(let delivery, let receipt, _, _):
            say("done", .green, "\(Self.words(delivery)): \(receipt.summary)", id: delivery.shortID)
        case .shadowed(let delivery):
            say("shadow", .blue, "\(Self.words(delivery)): not done, only recorded", id: delivery.shortID)
        case .retrying(let delivery, let failure, let attempt, let next):
            let why = attempt == 1 ? failure.advised : failure.message
            say("again", .yellow, "\(Self.words(delivery)): \(why) Next try \(time(next)).", id: delivery.shortID)
        case .paused(let delivery, let failure, let next), .postponed(let delivery, let failure, let next, _):
            say("waits", .yellow, "\(Self.words(delivery)): \(failure.message) Until \(time(next)).", id: delivery.shortID)
        case .dead(let delivery, let failure), .held(let delivery, let failure):
            say("trouble", .red, "\(Self.words(delivery)): \(failure.advised)", id: delivery.shortID)
        case .pollFailed(let source, let failure, let failures, let next):
            say("trouble", .red, "\(source): \(failures == 1 ? failure.advised : failure.message) Next poll \(time(next)).")
        case .notice(let source, let text): say("notice", .yellow, "\(source): \(text)")
        case .storeFailed(let doing, let error): say("trouble", .red, "\(doing): \(error.message)")
        case .ruleFailed(let rule, let error, _): say("trouble", .red, "\(rule): \(error)")
        case .rulesLoaded(let count, let warnings):
            let note = warnings > 0 ? ", \(warnings) warning\(warnings == 1 ? "" : "s")" : ""
            say("rules", .blue, "\(count) rule\(count == 1 ? " is" : "s are") in force\(note)")
        case .rulesRefused(let count):
            say(
                "rules", .red,
                "the changed rules have \(count == 1 ? "a mistake" : "\(count) mistakes"); the old ones stay in force:")
        case .ruleRefused(let problem): show(problem.rendered(colour: isColoured))
        case .stopping(let inFlight):
            if inFlight > 0 { say("Finishing what is in flight…") }
        case .configurationChanged(let file): say("notice", .yellow, "\(file) changed; restart to use it")
        case .pollHeld(let source, _): say("held", .yellow, "\(source): \(signal.message)")
        case .rescued(let count):
            say("again", .yellow, "\(count) left behind by an earlier run \(count == 1 ? "is" : "are") taken up again")
        case .leaseLost(let delivery): say("trouble", .yellow, "\(Self.words(delivery)): \(signal.message)", id: delivery.shortID)
        case .pollSuperseded(let source): say("notice", .yellow, "\(source): \(signal.message)")
        case .rulesUnwatched: say("notice", .yellow, "\(signal.message)")
        case .polled(let source, let tasks, _, let took), .unchanged(let source, let tasks, let took):
            if level == .debug { say("polled", .dim, "\(source): \(tasks) tasks in \(took.inMilliseconds) ms") }
        case .routed(let events, let deliveries, _): say("routed", .dim, "\(events) events, \(deliveries) deliveries")
        case .clockJumped: say("notice", .yellow, "\(signal.message)")
        case .pruned(let rows): say("pruned", .dim, "\(rows) old rows")
        }
    }

    /// A sentence of the program itself.
    func say(_ text: String) { say("bellhop", .blue, text) }

    private static func words(_ delivery: Delivery) -> String {
        let task = delivery.task.map { " on \($0.number.isEmpty ? $0.key.text : $0.number)" } ?? ""
        let what =
            switch delivery.arguments {
            case .values(let values): values["text"]?.asString ?? ""
            case .message(let message): message.title.plainText
            }
        return "\(delivery.name ?? delivery.action)\(task) to \(delivery.id.receiver)"
            + (what.isEmpty ? "" : " “\(what.cut(to: 60))”")
    }

    private func time(_ moment: Timestamp) -> String { zone.clock(moment) }

    private func say(_ word: String, _ paint: Paint, _ text: String, id: String? = nil) {
        let mark = showsIDs ? id.map { "  " + Paint.dim($0, if: isColoured) } ?? "" : ""
        let stamp = Paint.dim(zone.clock(clock.now), if: isColoured)
        show("\(stamp)  \(paint(word.padded(to: 8), if: isColoured))  \(text.singleLine)\(mark)")
    }

    private func show(_ text: String) {
        lines.withLock { count in
            count += 1
            print(text)
        }
    }
}

extension TimeZoneTable {
    /// What the clocks show: `08:30:05`.
    func clock(_ moment: Timestamp) -> String {
        let time = local(moment)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(time.hour)):\(two(time.minute)):\(two(time.second))"
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
