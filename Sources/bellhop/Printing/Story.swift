import BellhopCore
import BellhopEngine
import Synchronization

/// Prints what an agent does as it happens: a line for each notable signal, in the configuration's time zone.
///
/// A class over a mutex, because signals come from several loops and lines must not mix.
final class Story: Sendable {
    private let clock: any AgentClock
    private let zone: TimeZoneTable
    private let isColoured: Bool
    /// The screen's width; nil for no limit.
    private let width: Int?
    /// The least important level that is reported.
    private let level: LogOptions.Level
    private let showsIDs: Bool
    private let print: @Sendable (String) -> Void
    /// The last failure of each source and delivery, because the same reason is printed only once.
    private let failures = Mutex<[String: String]>([:])
    private let output = Mutex(())

    init(
        clock: any AgentClock, zone: TimeZoneTable, level: LogOptions.Level = .info, showsIDs: Bool = false,
        isColoured: Bool = Console.dataHasColour, width: Int? = Screen.dataWidth,
        print: @escaping @Sendable (String) -> Void = { Console.data($0) }
    ) {
        self.clock = clock
        self.zone = zone
        self.level = level
        self.showsIDs = showsIDs
        self.isColoured = isColoured
        self.width = width
        self.print = print
    }

    /// Prints a line of a `log` action, without its own time.
    func log(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 1)
        let hasMoment = words.first.flatMap { Timestamp(rfc3339: String($0)) } != nil
        say("log", .dim, hasMoment && words.count == 2 ? String(words[1]) : line)
    }

    func report(_ signal: Signal) {
        guard signal.level >= level.threshold else { return }
        switch signal {
        case .baseline(let source, let tasks):
            say(
                "baseline", .blue,
                "\(source): \(counted(tasks, "existing task")) recorded; no events for \(tasks == 1 ? "it" : "them")")
        case .event(let event):
            say("event", .cyan, "\(event.type.name)  \(event.source): \(Events.summary(event, in: zone))", id: event.shortID)
        case .eventDropped(let event):
            say("dead", .red, "\(event.type.name)  \(event.source): \(signal.message)", id: event.shortID)
        case .delivered(let delivery, let receipt, _, _):
            forget(delivery.id.text)
            say("done", .green, "\(Self.words(delivery)): \(receipt.summary)", id: delivery.shortID)
        case .shadowed(let delivery):
            say("shadow", .blue, "\(Self.words(delivery)): not done, only recorded", id: delivery.shortID)
        case .silenced(let delivery, let silence):
            say("silenced", .blue, "\(Self.words(delivery)): kept back by silence \(silence)", id: delivery.shortID)
        case .quiet(let delivery, let until):
            say("quiet", .blue, "\(Self.words(delivery)): kept back until \(time(until))", id: delivery.shortID)
        case .dropped(let delivery, let failure):
            say("dropped", .blue, "\(Self.words(delivery)): \(failure.message)", id: delivery.shortID)
        case .released(let receiver, let count):
            let messages = count == 1 ? "a message that was kept back is" : "\(count) messages that were kept back are"
            say("released", .blue, "\(receiver): \(messages) sent now")
        case .silenceRefused(let id, let problem): say("notice", .yellow, "silence \(id): \(signal.message) \(problem)")
        case .retrying(let delivery, let failure, let attempt, let next):
            let why = reason(failure, of: delivery.id.text, isFirst: attempt == 1)
            say("retrying", .yellow, "\(Self.words(delivery)): \(why) Next try \(time(next)).", id: delivery.shortID)
        case .paused(let delivery, let failure, let next), .postponed(let delivery, let failure, let next?, _):
            say("paused", .yellow, "\(Self.words(delivery)): \(failure.message) Until \(time(next)).", id: delivery.shortID)
        case .postponed(let delivery, let failure, nil, _):
            say("paused", .yellow, "\(Self.words(delivery)): \(failure.message)", id: delivery.shortID)
        case .coalesced(let receiver, let count): say("notice", .blue, "\(receiver): \(count) waiting messages are sent as one")
        case .breakerTrial(let receiver): say("trying", .dim, "\(receiver): one delivery, to see whether it answers again")
        case .receiverPaused(let stop):
            say("paused", .red, "\(stop.receiver): \(stop.sentence) Its deliveries wait until `bellhop resume \(stop.receiver)`.")
        case .receiverResumed(let receiver): say("resumed", .green, "\(receiver): its deliveries continue")
        case .breakerOpened(let stop):
            say(
                "paused", .yellow,
                "\(stop.receiver) failed several times in a row: its deliveries wait until \(stop.until.map { time($0) } ?? "then")."
            )
        case .breakerClosed(let stop): say("fine", .green, "\(stop.receiver): answers again")
        case .dead(let delivery, let failure):
            forget(delivery.id.text)
            say("dead", .red, "\(Self.words(delivery)): \(failure.advised)", id: delivery.shortID)
        case .held(let delivery, let failure):
            forget(delivery.id.text)
            say("held", .red, "\(Self.words(delivery)): \(failure.advised)", id: delivery.shortID)
        case .pollFailed(let source, let failure, let failures, let next):
            let prospect = next.map { " Next poll \(time($0))." } ?? ""
            say("failing", .yellow, "\(source): \(reason(failure, of: source, isFirst: failures == 1))\(prospect)")
        case .recovered(let source, let failures, let since):
            let polls = failures == 0 ? "" : ", after \(counted(failures, "poll")) that failed"
            say("fine", .green, "\(source): works again\(polls)\(since.map { " since \(time($0))" } ?? "")")
        case .rebound(let connection, let problem):
            say(
                problem == nil ? "notice" : "failing", problem == nil ? .green : .red,
                "\(connection): \(problem ?? "the changed secrets are in use")")
        case .notice(let source, let text): say("notice", .yellow, "\(source): \(text)")
        case .requestRefused(let source, let status, let reason, let times):
            say("refused", .yellow, "\(source)\(times == 1 ? "" : ", \(times) times"): \(reason) (\(status))")
        case .storeFailed(let doing, let error, let times):
            say("retrying", .red, "\(doing)\(times == 1 ? "" : ", \(times) times"): \(error.message)")
        case .ruleFailed(let rule, let error, _): say("failed", .red, "\(rule): \(error)")
        case .keysLost(let loss):
            let what = loss.isStopped ? "was paused" : "dropped \(loss.dropped) keys"
            say("full", .red, "\(loss.rule) \(what): the limit is \(loss.most) keys (`retention: {keys: …}`)")
        case .rulesLoaded(let count, let warnings):
            let note = warnings > 0 ? ", \(counted(warnings, "warning"))" : ""
            say("rules", .blue, "\(counted(count, "rule is", "rules are")) in force\(note)")
        case .waitsEnded(let ended):
            let parts = [
                ended.waits > 0 ? counted(ended.waits, "waiting run") : nil,
                ended.escalations > 0 ? counted(ended.escalations, "escalation") : nil,
            ]
            say(
                "rules", .yellow,
                "\(ended.rule) was changed, turned off or removed, and lost \(parts.compactMap(\.self).joined(separator: " and "))"
            )
        case .rulesRefused(let count):
            say(
                "rules", .red,
                "the changed rules have \(count == 1 ? "a mistake" : "\(count) mistakes"); the old ones stay in force:")
        case .ruleRefused(let problem): show(problem.rendered(colour: isColoured))
        case .stopping(let inFlight):
            if inFlight > 0 { say("Finishing what is in flight…") }
        case .telemetryFailed(let data, let receiver, let error): say("retrying", .yellow, "\(data) to \(receiver): \(error)")
        case .telemetryRecovered(let data): say("notice", .green, "The OpenTelemetry receiver accepts \(data) again.")
        case .configurationWrong(_, let problem), .configurationUnreadable(_, let problem):
            say("notice", .red, "\(signal.message) \(problem)")
        case .configurationRestored(let file): say("notice", .green, "\(file) is readable and has no mistakes any more")
        case .configurationChanged(let file): say("notice", .yellow, "\(file) changed; restart to use it")
        case .pollHeld(let source, _): say("held", .yellow, "\(source): \(signal.message)")
        case .rescued(let count):
            say(
                "retrying", .yellow,
                counted(
                    count, "interrupted delivery of an earlier run is continued",
                    "interrupted deliveries of an earlier run are continued"))
        case .leaseLost(let delivery):
            say("retrying", .yellow, "\(Self.words(delivery)): \(signal.message)", id: delivery.shortID)
        case .pollSuperseded(let source): say("notice", .yellow, "\(source): \(signal.message)")
        case .rulesUnwatched: say("notice", .yellow, "\(signal.message)")
        case .polled(let source, let tasks, _, let took), .unchanged(let source, let tasks, let took):
            if level == .debug { say("polled", .dim, "\(source): \(tasks) tasks in \(took.wholeMilliseconds) ms") }
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
            case .values(let values): values["text"].textOrEmpty
            case .message(let message): message.title.plainText
            }
        return "\(delivery.name ?? delivery.action)\(task) to \(delivery.id.receiver)"
            + (what.isEmpty ? "" : " “\(what.singleLine.cutBetweenWords(to: 60))”")
    }

    private func time(_ moment: Timestamp) -> String { zone.clock(moment) }

    /// The reason of a failure; `As before.` if it is the same as the last time.
    private func reason(_ failure: Failure, of thing: String, isFirst: Bool) -> String {
        let before = failures.withLock { failures in
            defer { failures[thing] = failure.message }
            return failures[thing]
        }
        if isFirst { return failure.advised }
        return before == failure.message ? "As before." : failure.message
    }

    private func forget(_ thing: String) { failures.withLock { $0[thing] = nil } }

    private func say(_ word: String, _ paint: Paint, _ text: String, id: String? = nil) {
        let mark = showsIDs ? id.map { "  " + Paint.dim($0, if: isColoured) } ?? "" : ""
        let stamp = Paint.dim(zone.clock(clock.now), if: isColoured)
        let said = text.quoted.singleLine.withLocalTimes(in: zone)
        let line = "\(stamp)  \(paint(word.padded(to: 8), if: isColoured))  \(said)\(mark)"
        show(line.wrapped(to: width, indent: 20))
    }

    private func show(_ text: String) { output.withLock { _ in print(text) } }
}
