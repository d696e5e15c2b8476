import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopEngine

struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "The events on the bus, oldest first.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: [.long, .customShort("f")], help: "Go on printing events as they happen, until interrupted.")
    var follow = false

    @Option(help: "Only events of this type; may be given several times.")
    var type: [String] = []

    @Option(help: "Only events of this source; may be given several times.")
    var source: [String] = []

    @Option(help: "Only events about this task: its number or sys_id.")
    var task: String?

    @Option(help: "Only events newer than this: 90s, 15m, 7d.")
    var since: String?

    @Option(name: [.long, .customShort("n")], help: "How many at most, the newest.")
    var limit = 50

    @Argument(help: "An event's id, or the start of one.")
    var id: String?

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit is at least 1.") }
        if let since {
            do { _ = try DurationText.parse(since) } catch { throw ValidationError("--since: \(error)") }
        }
        let types = EventType.builtIn.map(\.name)
        for name in type where !types.contains(name) {
            let meant = MeantEvent.type(for: name).map { "did you mean `\($0.name)`?" }
            let help = meant ?? Suggestion.didYouMean(name, among: types) ?? "there is \(types.joined(separator: ", "))"
            throw ValidationError("There is no event `\(name)`: \(help)")
        }
    }

    func run() async throws {
        var query = EventQuery(
            types: type.map(EventType.init), sources: source, task: task, id: id,
            since: since.flatMap { try? DurationText.parse($0) }.map { SystemClock().now - $0 }, limit: limit)
        let link = try config.storeLink()
        var isFirst = true
        while true {
            var count = 0
            let asked = ContinuousClock.now
            var last = query.after
            let page = try await link.answer(.events(query, waits: !isFirst)) { event in
                count += 1
                last = event["sequence"]?.asInt ?? last
                // Show a requested event whole, like a delivery.
                if id != nil, !follow, !output.json {
                    Console.data(event.withLocalTimes(in: link.zone).text(.pretty).visibleLines)
                } else {
                    show(event, in: link.zone)
                }
            }
            if isFirst, count == 0 { try await explain(link) }
            isFirst = false
            if let count = page["unreadable"]?.asInt, count > 0 {
                Console.note(
                    count == 1
                        ? "1 event was skipped: the store's record of it cannot be read."
                        : "\(count) events were skipped: the store's records of them cannot be read.")
            }
            guard follow else { return }
            query.after = page["end"]?.asInt ?? last ?? 0
            query.limit = 1000
            // A running agent answers as soon as there is an event; the store itself must be read again and again.
            if count == 0 { try await Task.sleep(until: asked + .milliseconds(300)) }
        }
    }

    /// Explains an empty result: for example, no source has the given name.
    private func explain(_ link: StoreLink) async throws(Trouble) {
        if let id, !follow { throw Trouble(.problem, "There is no event \(id.visible).") }
        if !source.isEmpty {
            let status = try await link.answer(.status)
            // Events come from sources, from connections (logins), and from rules (schedules).
            let known = (status["sources"]?.asArray ?? []).compactMap { $0["source"]?.asString }
            for name in source where !known.contains(name) {
                if let help = Suggestion.didYouMean(name, among: known) {
                    throw Trouble(.problem, "No event comes from `\(name.visible)`: \(help)")
                }
            }
            Console.note("No event comes from \(source.map { "`\($0.visible)`" }.joined(separator: " or ")).")
        } else if let task {
            Console.note("No event is about a task \(task.visible).")
        }
    }

    private func show(_ event: JSON, in zone: TimeZoneTable) {
        if output.json { return Console.json(event) }
        let type = event["type"]?.asString ?? ""
        let id = (event["id"]?.asString ?? "").prefix(12)
        let head =
            "\(Paint.dim(String(event["time"].words(in: zone).dropFirst(5))))  \(Paint.dim(String(id)))  "
            + "\(Paint.cyan(type.padded(to: 14)))  "
        let source = event["source"]?.asString ?? ""
        Console.data("\(head)\(source.singleLine): \(Self.summary(event, in: zone))".wrapped(to: Screen.dataWidth, indent: 4))
    }

    /// An event in a few words.
    static func summary(_ event: JSON, in zone: TimeZoneTable) -> String {
        let data = event["data"]
        let since = data?["since"].words(in: zone) ?? "-"
        switch event["type"]?.asString {
        case EventType.sourceRecovered.name:
            let error = data?["error"]?.asString ?? ""
            return "works again; it failed since \(since)\(error.isEmpty ? "" : " (\(error))")".singleLine
        case EventType.sourceFailing.name:
            return "failing since \(since): \(data?["error"]?.asString ?? "")".singleLine
        case EventType.sessionExpired.name:
            let reason = data?["reason"]?.asString ?? ""
            return
                "the server ended the session of \(data?["user"]?.asString ?? "")\(reason.isEmpty ? "" : " (\(reason))"); a new login follows"
                .singleLine
        default: break
        }
        if let task = data?["task"] {
            let number = task["number"]?.asString ?? task["id"]?.asString ?? ""
            let title = task["title"]?.asString ?? ""
            if let comment = data?["comment"] {
                let author = comment["author"]?.asString ?? ""
                return "\(number) \(author.isEmpty ? "somebody" : author): \(comment["text"]?.asString ?? "")".singleLine.cut(
                    to: 200)
            }
            if let changes = Event(cloudEvent: event)?.changesInWords { return "\(number) \(changes)".singleLine }
            let reason = data?["reason"]?.asString.map { " (\($0))" } ?? ""
            return "\(number) \(title)\(reason)".singleLine
        }
        if let ok = data?["ok"]?.asBool {
            let user = data?["user"]?.asString ?? ""
            let reason = data?["reason"]?.asString ?? ""
            let isRefused = ["unauthenticated", "mfa_required", "login_required"].contains(data?["code"]?.asString ?? "")
            let outcome = ok ? "logged in" : isRefused ? "was refused" : "could not log in"
            return "\(user) \(outcome)\(reason.isEmpty ? "" : ": \(reason)")".singleLine
        }
        if let error = data?["error"] { return (error["message"]?.asString ?? error.asString ?? "").singleLine }
        if data?["due"]?.asString != nil {
            let missed = data?["missed"]?.asInt ?? 0
            return "due \(data?["due"].words(in: zone) ?? "")\(missed > 0 ? ", \(missed) missed before" : "")"
        }
        if let counts = data?["counts"] {
            let known = counts["known"]?.asInt ?? 0
            if let changed = counts["changed"]?.asInt, changed > 0 {
                let fields = (data?["fields"]?.asArray ?? []).compactMap(\.asString).joined(separator: ", ")
                return "held back: \(changed) of \(known) tasks changed alike (\(fields))".singleLine
            }
            return "held back: \(counts["new"]?.asInt ?? 0) new and \(counts["gone"]?.asInt ?? 0) gone of \(known) tasks"
        }
        return (data?.text ?? "").singleLine.cut(to: 120)
    }
}
