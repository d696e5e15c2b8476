import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct DeliveryRetry: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try dead or held deliveries again.",
        discussion: "Takes ids of deliveries, or options that select some: then it shows them and asks first.")
    @OptionGroup var decision: DeliveryDecision
    var output: OutputOptions { decision.output }
    func run() async throws { try await decision.run(.retry) }
}

struct DeliveryDrop: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Drop deliveries: they are never tried again.",
        discussion: """
            Takes ids of deliveries, or options that select some: then it shows them and asks first. Without --state the options \
            select dead and held deliveries, and --receiver also those that wait because it is paused.
            """)
    @OptionGroup var decision: DeliveryDecision
    var output: OutputOptions { decision.output }
    func run() async throws { try await decision.run(.drop) }
}

/// Retries or drops deliveries that a person names or selects by options.
struct DeliveryDecision: ParsableArguments {
    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var filter: DeliveryFilter

    @Flag(help: "All that are dead or held.")
    var all = false

    @Flag(name: [.long, .customShort("y")], help: "Do not ask.")
    var yes = false

    @Argument(help: "Ids of deliveries, or starts of ids that fit only one delivery.")
    var ids: [String] = []

    /// The most deliveries listed before the question.
    private static let maxShown = 20
    /// The most deliveries in one transaction, so that the agent's transactions do not wait long.
    static let maxAtOnce = 1000

    func validate() throws {
        if (all || !filter.isEmpty) != ids.isEmpty {
            throw ValidationError("Give either ids of deliveries, or options such as --receiver or --all.")
        }
    }

    func run(_ command: DeliveryCommand) async throws(CommandError) {
        for state in filter.state.compactMap(DeliveryState.init(rawValue:)) where !command.states.contains(state) {
            throw CommandError(.usage, "A `\(state.rawValue)` delivery \(Self.refusal(of: command, for: state))")
        }
        let link = try config.storeLink()
        var chosen = ids
        if ids.isEmpty {
            chosen = try await select(command, link)
            if chosen.isEmpty {
                try await filter.checkNames(link)
                try await explainNone(command, link)
                return report(command, changed: 0, [])
            }
        }
        let (changed, refused, decided, error) = await Self.decide(chosen) { batch throws(CommandError) in
            try await link.answer(.apply(command, deliveries: batch))
        }
        let reasons = try await error == nil && refused > 0 ? refusals(of: command, among: chosen, decided, link) : []
        let reason =
            reasons.isEmpty
            ? "Only \(command.states.map(\.rawValue).alternatives) deliveries can be \(Self.participle(command))."
            : reasons.joined(separator: " ")
        if error == nil, changed == 0, refused > 0, !ids.isEmpty { throw CommandError(.problem, reason) }
        if error == nil || !decided.isEmpty { report(command, changed: changed, decided) }
        if let error { throw error }
        if refused == 0 { return }
        let others = "\(counted(refused, "other was", "others were")) not \(Self.participle(command)). \(reason)"
        // Of deliveries that options selected, some may have changed meanwhile; one that was named must not be missed.
        if !ids.isEmpty { throw CommandError(.problem, others) }
        if !output.json { Console.sentence(others) }
    }

    private static func participle(_ command: DeliveryCommand) -> String { command == .retry ? "retried" : "dropped" }

    /// Why some deliveries cannot be retried or dropped: a sentence for all that have the same reason.
    /// - Parameter decided: those whose state allowed it. They have other states now; only outdated ones were refused.
    private func refusals(
        of command: DeliveryCommand, among ids: [String], _ decided: [JSON], _ link: StoreLink
    ) async throws(CommandError) -> [String] {
        var groups: [(state: DeliveryState, reason: String?, ids: [String], events: [String])] = []
        for id in ids.prefix(Self.maxShown) {
            let delivery = try await link.rows(.deliveries(DeliveryQuery(id: id, limit: 1))).first
            guard let state = delivery?["state"]?.asString.flatMap(DeliveryState.init(rawValue:)), !command.states.contains(state)
            else {
                continue
            }
            let whole = delivery?["id"]?.asString ?? id
            let short = String(whole.prefix(12))
            let message = delivery?["error"]?["message"]?.asString
            // The retry itself drops an outdated message.
            let reason = state == .dropped && message == Failure.outdated.message ? message : nil
            if reason == nil, decided.contains(.string(whole)) { continue }
            let event = Occasion.ID(delivery?["occasion"]?.asString ?? "").event.map { String($0.text.prefix(12)) } ?? "EVENT"
            if let place = groups.firstIndex(where: { $0.state == state && $0.reason == reason }) {
                groups[place].ids.append(short)
                if !groups[place].events.contains(event) { groups[place].events.append(event) }
            } else {
                groups.append((state, reason, [short], [event]))
            }
        }
        return groups.map { state, reason, ids, events in
            let subject = ids.count == 1 ? "Delivery \(ids[0]) is" : "Deliveries \(ids.joined(separator: ", ")) are"
            return "\(subject) `\(state.rawValue)`"
                + (reason.map { ": \($0)" } ?? " and \(Self.refusal(of: command, for: state, events: events))")
        }
    }

    /// Why no delivery in this state can be retried or dropped, and what to do instead, as the rest of a sentence.
    private static func refusal(
        of command: DeliveryCommand, for state: DeliveryState, events: [String] = ["EVENT"]
    ) -> String {
        let over = "nothing is done for it any more"
        let whose = events.count == 1 ? "its event" : "their events"
        let replay = "`bellhop replay \(events.joined(separator: " "))` routes \(whose) again"
        let advice =
            switch state {
            // Of these, only a waiting one is refused, for a retry.
            case .available, .quiet, .dead, .held, .waiting:
                "\(command.rawValue) the one that it waits for, which `bellhop deliveries show ID` names"
            case .joined: "\(command.rawValue) the one that it joined, which `bellhop deliveries show ID` names"
            case .running: "wait until its attempt has ended"
            case .done, .dropped: command == .drop ? over : replay
            case .shadow: command == .drop ? over : "when its rule is live, \(replay)"
            case .silenced: command == .drop ? over : "when the silence has ended, \(replay)"
            }
        return "cannot be \(participle(command)): \(advice)."
    }

    /// Retries or drops deliveries in batches, until the first error. Its message says how many deliveries were not changed.
    static func decide(
        _ ids: [String], atOnce most: Int = maxAtOnce, _ apply: ([String]) async throws(CommandError) -> JSON
    ) async -> (changed: Int64, refused: Int64, decided: [JSON], error: CommandError?) {
        var (changed, refused): (Int64, Int64) = (0, 0)
        var decided: [JSON] = []
        for start in stride(from: 0, to: ids.count, by: most) {
            do throws(CommandError) {
                let answer = try await apply(Array(ids[start..<min(start + most, ids.count)]))
                changed += answer["changed"]?.asInt ?? 0
                refused += answer["refused"]?.asInt ?? 0
                decided += answer["deliveries"].elements
            } catch {
                var error = error
                let left = start == 0 ? "Nothing was changed." : "The other \(ids.count - start) deliveries were not changed."
                error.message = [error.message, left].compactMap(\.self).joined(separator: " ")
                return (changed, refused, decided, error)
            }
        }
        return (changed, refused, decided, nil)
    }

    private func report(_ command: DeliveryCommand, changed: Int64, _ decided: [JSON]) {
        if output.json { return Console.json(["changed": .int(changed), "deliveries": .array(decided)]) }
        Console.data("\(counted(changed, "delivery", "deliveries")) \(command == .retry ? "will be tried again" : "dropped").")
    }

    /// If the options select no dead or held delivery, says which others they would select.
    private func explainNone(_ command: DeliveryCommand, _ link: StoreLink) async throws(CommandError) {
        guard !output.json, filter.state.isEmpty else { return }
        var count = 0
        _ = try await link.answer(
            .deliveries(filter.query(at: SystemClock().now, states: [.available, .waiting, .quiet], limit: .max))
        ) { _ in count += 1 }
        if count == 0 { return }
        let advice = command == .drop ? ": `--state available --state waiting` selects \(count == 1 ? "it" : "them")." : "."
        Console.note("No delivery is dead or held; \(count) \(count == 1 ? "is" : "are") not finished yet" + advice)
    }

    /// The ids of the selected deliveries, after the person has confirmed them.
    private func select(_ command: DeliveryCommand, _ link: StoreLink) async throws(CommandError) -> [String] {
        let includesPaused = command == .drop && filter.receiver != nil && filter.state.isEmpty
        let states: [DeliveryState] = includesPaused ? [.dead, .held, .available] : [.dead, .held]
        let query = filter.query(at: SystemClock().now, states: states, limit: .max)
        var ids: [String] = []
        var table = Table(DeliveryList.columns)
        func take(_ delivery: JSON) {
            if includesPaused, delivery["state"] == "available", delivery["stopped"].map({ $0["until"]?.isNull ?? true }) != true
            {
                return
            }
            ids.append(delivery["id"].textOrEmpty)
            guard ids.count <= Self.maxShown else { return }
            let row = DeliveryList.row(delivery, in: link.zone)
            table.add(row.cells, paints: row.paints)
        }
        if let found = try await filter.remoteMatches(query, link, lookingAtMost: .max) {
            found.rows.reversed().forEach(take)
            Console.note(found.failures, "delivery", "deliveries")
        } else {
            let (condition, now) = (try await filter.checkedCondition(config), SystemClock().now)
            var failures = SearchFailures()
            _ = try await link.answer(.deliveries(query)) { delivery in
                if let condition {
                    let matched = condition.matches(among: [delivery], at: now)
                    failures += matched.failures
                    if matched.places.isEmpty { return }
                }
                take(delivery)
            }
            Console.note(failures, "delivery", "deliveries")
        }
        if ids.isEmpty || yes { return ids }
        for line in table.lines(width: Screen.noteWidth) { Console.note(line) }
        if ids.count > Self.maxShown { Console.note("and \(ids.count - Self.maxShown) more") }
        try Console.confirm("\(command == .retry ? "Retry" : "Drop") \(counted(ids.count, "delivery", "deliveries"))")
        return ids
    }
}

extension String? {
    var isYes: Bool { ["y", "yes"].contains((self ?? "").lowercased()) }
}
