import ArgumentParser
import BellhopAgent
import BellhopCore

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
    }

    func run() async throws {
        var query = EventQuery(
            types: type.map(EventType.init), sources: source, task: task, id: id,
            since: since.flatMap { try? DurationText.parse($0) }.map { SystemClock().now - $0 }, limit: limit)
        let link = try await config.storeLink()
        while true {
            let page = try await link.answer(.events(query))
            let events = page["events"]?.asArray ?? []
            for event in events { show(event) }
            if let count = page["unreadable"]?.asInt, count > 0 {
                Console.note(
                    count == 1
                        ? "1 event was passed over: what the store has of it cannot be read."
                        : "\(count) events were passed over: what the store has of them cannot be read.")
            }
            if let id, events.isEmpty, !follow { throw Trouble(.problem, "There is no event \(id).") }
            guard follow else { return }
            if let last = page["end"]?.asInt { query.after = last } else { query.after = query.after ?? 0 }
            query.limit = 1000
            try await Task.sleep(for: .milliseconds(300))
        }
    }

    private func show(_ event: JSON) {
        if output.json { return Console.json(event) }
        let type = event["type"]?.asString ?? ""
        let id = (event["id"]?.asString ?? "").prefix(12)
        Console.data(
            "\(Paint.dim(event["time"].words))  \(Paint.dim(String(id)))  \(Paint.cyan(type.padded(to: 16)))  "
                + "\((event["source"]?.asString ?? "").padded(to: 12))  \(Self.summary(event))".visible)
    }

    /// What an event says, in a few words.
    static func summary(_ event: JSON) -> String {
        let data = event["data"]
        if let task = data?["task"] {
            let number = task["number"]?.asString ?? task["id"]?.asString ?? ""
            let title = task["title"]?.asString ?? ""
            if let changes = data?["changes"]?.asObject {
                let words = changes.filter { !($0.key == "short_description" && changes["title"] != nil) }.map {
                    "\($0.key): \($0.value["from"].plain) → \($0.value["to"].plain)"
                }
                return "\(number) \(words.joined(separator: ", "))".singleLine
            }
            let reason = data?["reason"]?.asString.map { " (\($0))" } ?? ""
            return "\(number) \(title)\(reason)".singleLine
        }
        if let ok = data?["ok"]?.asBool {
            let user = data?["user"]?.asString ?? ""
            let reason = data?["reason"]?.asString ?? ""
            return "\(user) \(ok ? "logged in" : "was refused")\(reason.isEmpty ? "" : ": \(reason)")".singleLine
        }
        if let error = data?["error"] { return (error["message"]?.asString ?? error.asString ?? "").singleLine }
        if let due = data?["due"]?.asString { return "due \(due), missed \(data?["missed"]?.asInt ?? 0)" }
        return (data?.text ?? "").singleLine.cut(to: 120)
    }
}

extension JSON? {
    /// A value as text, quoted only where it is empty.
    fileprivate var plain: String {
        switch self {
        case .string(let text)?: text.isEmpty ? "\"\"" : text
        case let value?: value.text
        case nil: "-"
        }
    }
}
