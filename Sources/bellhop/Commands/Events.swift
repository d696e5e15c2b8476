import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopEngine

struct Events: DataCommand {
    static let configuration = CommandConfiguration(commandName: "events", abstract: "List the events on the bus, oldest first.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: [.long, .customShort("f")], help: "Continue to print events as they happen, until interrupted.")
    var follow = false

    @Option(
        help: "Only events of this type; may be given several times.",
        completion: .list(EventCatalogue.builtIn.types.map(\.name)))
    var type: [String] = []

    @Option(help: "Only events of this source; may be given several times.")
    var source: [String] = []

    @Option(help: "Only events about this task: its number or sys_id.")
    var task: String?

    @Option(name: .customLong("where"), help: "Only events for which this condition holds: an expression as in a rule's `when`.")
    var condition: String?

    @Option(parsing: .unconditional, help: "Only events newer than this: 90s, 15m, 7d.")
    var since: String?

    @Option(name: [.long, .customShort("n")], help: "How many at most, the newest.")
    var limit = 50

    @Argument(help: "An event's id, or the start of one: shows all events that it fits.")
    var id: String?

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
        if id == "" { throw ValidationError("The id is empty.") }
        let hasFilter = !type.isEmpty || !source.isEmpty || task != nil || condition != nil || since != nil
        if id != nil, follow || hasFilter { throw ValidationError("Give either an id, or options such as --follow and --type.") }
        try DurationText.validate(since, option: "--since")
    }

    func run() async throws {
        var query = EventQuery(
            types: type.map(EventType.init), sources: source, task: task, id: id,
            since: since.flatMap { try? DurationText.parse($0) }.map { SystemClock().now - $0 }, limit: limit)
        let link = try config.storeLink()
        try checkTypes(link)
        if let console = link.console, follow || condition != nil { return try await show(console, link) }
        let filter = try await Workspace.condition(condition, config.files, EventFilter.init(_:context:))
        if let filter, !follow {
            let now = SystemClock().now
            let found = try await filter.search(query, limit: limit, at: now) {
                query async throws(CommandError) in
                var rows: [JSON] = []
                let end = try await link.answer(.events(query)) { rows.append($0) }
                return (EventFilter.events(in: rows), rows.count + Int(end["unreadable"]?.asInt ?? 0))
            }
            return report(found, in: link.zone)
        }
        var (isFirst, failures, file) = (true, SearchFailures(), link.file)
        while true {
            var count = 0
            let isReplaced = file != nil && link.file.map { $0 != file } ?? false
            file = link.file ?? file
            if isReplaced {
                Console.note(Self.replaced)
                query.after = try await link.rows(.events(EventQuery(limit: 1))).last?["sequence"]?.asInt ?? 0
            }
            let asked = ContinuousClock.now
            var last = query.after
            let page = try await link.answer(.events(query, waits: !isFirst)) { event in
                count += 1
                last = event["sequence"]?.asInt ?? last
                if let filter {
                    let matched = filter.matched(event)
                    if failures.count == 0 { Console.note(matched.failures, "event", "events") }
                    failures += matched.failures
                    if matched.places.isEmpty { return }
                }
                // Show an event that was named by its id in full.
                if id != nil, !output.json {
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
            if page["other_bus"] == true, !isReplaced { Console.note(Self.replaced) }
            query.after = page["end"]?.asInt ?? last ?? 0
            query.limit = 1000
            // A running agent answers as soon as there is an event; without one, poll the store.
            if count == 0 { try await Task.sleep(until: asked + .milliseconds(300)) }
        }
    }

    /// The note of `--follow` when another store has replaced the present one.
    static let replaced = "The store was replaced; new events follow. `bellhop events` lists the events that it had before."

    /// Shows the result of a search, with notes about what it left out.
    func report(_ found: SearchPage, in zone: TimeZoneTable) {
        for row in found.rows.reversed() { show(row, in: zone) }
        Console.note(found, limit: limit, "event", "events", narrowedBy: "--type, --source or --task")
    }

    /// - Throws: if a type is neither built in nor declared in bellhop.yaml.
    private func checkTypes(_ link: StoreLink) throws(CommandError) {
        let types = EventCatalogue.builtIn.types.map(\.name) + link.events
        // A console checks the types itself.
        for name in type where link.console == nil {
            if let complaint = EventSuggestion.complaint(about: name, among: types) { throw CommandError(.usage, complaint) }
        }
    }

    /// Explains an empty result: for example, no source has the given name.
    func explain(_ link: StoreLink) async throws(CommandError) {
        if let id { throw CommandError(.problem, "There is no event `\(id.visible)`: `bellhop events` lists them.") }
        if !source.isEmpty {
            let status = try await link.answer(.status)
            // Events come from sources, from connections (logins), and from rules (schedules).
            let known = status["sources"].elements.compactMap { $0["source"]?.asString }
            for name in source where !known.contains(name) {
                if let help = Suggestion.didYouMean(name, among: known) {
                    throw CommandError(.problem, "No event comes from `\(name.visible)`: \(help)")
                }
            }
            Console.note("No event comes from \(source.map { "`\($0.visible)`" }.joined(separator: " or ")).")
        } else if let task {
            Console.note("There is no event about a task `\(task.visible)`.")
        }
    }

    func show(_ event: JSON, in zone: TimeZoneTable) { Self.show(event, asJSON: output.json, in: zone) }

    static func show(_ event: JSON, asJSON isJSON: Bool, in zone: TimeZoneTable) {
        if isJSON { return Console.json(event) }
        let type = event["type"].textOrEmpty
        let id = event["id"].textOrEmpty.prefix(12)
        let head =
            "\(Paint.dim(String(event["time"].words(in: zone).dropFirst(5))))  \(Paint.dim(String(id)))  "
            + "\(Paint.cyan(type.padded(to: 14)))  "
        let source = event["source"].textOrEmpty
        let cause = event["cause"]?.asString.map { " " + Paint.dim("caused by \($0.prefix(12))") } ?? ""
        Console.data(
            "\(head)\(source.singleLine): \(Event(cloudEvent: event).map { summary($0, in: zone) } ?? "")\(cause)".wrapped(
                to: Screen.dataWidth, indent: 4))
    }

    /// An event in a few words.
    static func summary(_ event: Event, in zone: TimeZoneTable) -> String {
        let data = event.data
        func text(_ key: EventKey) -> String { data[key].textOrEmpty }
        /// A text in brackets, if there is one.
        func note(_ text: String) -> String { text.isEmpty ? "" : " (\(text))" }
        let since = data[.since].words(in: zone)
        let words: String
        switch event.type {
        case .sourceRecovered: words = "works again; it had failed since \(since)\(note(text(.error)))"
        case .sourceFailing: words = "failing since \(since): \(text(.error))"
        case .sourceHeld:
            let counts = data[.counts]
            func count(_ key: EventKey) -> Int64 { counts?[key]?.asInt ?? 0 }
            let fields = data[.fields].texts.joined(separator: ", ")
            words =
                count(.changed) > 0
                ? "held back: \(count(.changed)) of \(count(.known)) tasks changed in the same fields (\(fields))"
                : "held back: \(count(.new)) new and \(count(.gone)) gone of \(count(.known)) tasks"
        case .sessionExpired:
            words = "the server ended the session of \(text(.user))\(note(text(.reason))); a new login follows"
        case .loginEvent, .keychainLoginEvent:
            let isRefused = [Failure.Reason.unauthenticated, .mfaRequired, .loginRequired].map(\.rawValue).contains(text(.code))
            let outcome = event.isSuccessfulLogin ? "logged in" : isRefused ? "was refused" : "could not log in"
            words = "\(text(.user)) \(outcome)\(text(.reason).afterColon)"
        case .scheduleDue:
            let missed = data[.missed]?.asInt ?? 0
            words = "due \(data[.due].words(in: zone))\(missed > 0 ? ", \(missed) missed before" : "")"
        case .deliveryDead:
            let delivery = data[.delivery]
            let number = data[.task]?["number"]?.asString ?? ""
            let task = number.isEmpty ? "" : " on \(number)"
            words =
                "\(delivery?[.action]?.asString ?? "a delivery")\(task) to \(delivery?[.receiver]?.asString ?? "") "
                + "(rule \(delivery?[.rule]?.asString ?? "")) is dead: \(data[.error]?[.message]?.asString ?? "")"
        case .receiverPaused:
            let isByPerson = text(.by) == ReceiverStop.Cause.person.rawValue
            words =
                (isByPerson ? "a person paused \(text(.receiver))" : "\(text(.receiver)) is paused") + text(.reason).afterColon
        case .receiverResumed: words = "a person resumed \(text(.receiver))"
        case .silenceStarted, .silenceEnded:
            let silence = data[.silence] ?? .null
            let kept = counted(silence[.kept]?.asInt ?? 0, "delivery", "deliveries")
            words =
                "silence \(silence[.id].textOrEmpty) "
                + (event.type == .silenceEnded ? "kept back \(kept)" : "lasts until \(silence[.ends].words(in: zone))")
                + ", and covers \(SilenceList.covered(silence))\(note(silence[.reason].textOrEmpty))"
        default:
            guard let task = event.task else {
                words = data[.error]?[.message]?.asString ?? members(of: data)
                break
            }
            let number = task.number.isEmpty ? task.key.text : task.number
            if let comment = data[.comment] {
                let author = comment[.author].textOrEmpty
                words = "\(number) \(author.isEmpty ? "somebody" : author): \(comment[.text].textOrEmpty)"
                return words.singleLine.cut(to: 200)
            }
            words = "\(number) \(event.changesInWords ?? task.title + note(text(.reason)))"
        }
        return words.singleLine.cut(to: 500).withLocalTimes(in: zone)
    }

    /// The members of an event's data as far as there is room, and the names of the others. Only a text is cut.
    private static func members(of data: JSON.Object) -> String {
        var (shown, others): ([String], [String]) = ([], [])
        var room = 160
        for (name, value) in data {
            let member = "\(name): \(value.asString?.cut(to: 60) ?? value.text)"
            if member.count <= room {
                shown.append(member)
                room -= member.count + 2
            } else {
                others.append(name)
            }
        }
        let parts = [shown.joined(separator: ", "), others.isEmpty ? "" : "not shown: \(others.joined(separator: ", "))"]
        return parts.filter { !$0.isEmpty }.joined(separator: "; ")
    }
}

extension EventFilter {
    /// Evaluates the condition for one event in its printed form.
    fileprivate func matched(_ event: JSON) -> Matched {
        matches(among: Self.events(in: [event]), at: SystemClock().now)
    }
}
