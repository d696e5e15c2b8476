import ArgumentParser
import BellhopAgent
import BellhopCore

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "How the sources, the rules and the deliveries are doing.",
        discussion: "Asks the running agent; without one, reads its store.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let link = try config.storeLink()
        let zone = link.zone
        let status = try await link.answer(.status)
        if output.json { return Console.json(status) }
        if let agent = status["agent"]?.asObject {
            Console.data(
                "An agent is running (process \(agent["pid"]?.asInt ?? 0), since \(agent["started"].words(in: zone)), \(agent["in_flight"]?.asInt ?? 0) in flight)."
            )
        } else {
            Console.data("No agent is running; this is what its store holds.")
        }
        if let trouble = status["agent"]?["store_trouble"], trouble != .null {
            let times = trouble["times"]?.asInt ?? 1
            Console.data(
                "The store failed \(times == 1 ? "once" : "\(times) times") since then, the last time at \(trouble["time"].words(in: zone)) "
                    + "(\(trouble["doing"].words(in: zone))): \(trouble["message"].words(in: zone))")
        }
        printSources(status["sources"]?.asArray ?? [], zone)
        printRules(status["rules"]?.asArray ?? [], zone)
        let deliveries = status["deliveries"]?.asObject ?? [:]
        let counts = DeliveryState.allCases.compactMap { state -> String? in
            let count = deliveries[state.rawValue]?.asInt ?? 0
            return count > 0 ? "\(count) \(state.words)" : nil
        }
        Console.data("")
        Console.data(
            "Events: \(status["events"]?.asInt ?? 0), \(status["unrouted"]?.asInt ?? 0) waiting for the rules. "
                + ((status["damaged"]?.asInt ?? 0) > 0
                    ? "\(status["damaged"]?.asInt ?? 0) events cannot be read and were passed over. " : "")
                + "Deliveries: \(counts.isEmpty ? "none" : counts.joined(separator: ", ")).")
    }

    private func printSources(_ sources: [JSON], _ zone: TimeZoneTable) {
        Console.data("")
        var table = Table("SOURCE", "TASKS", "LAST CHANGE", "LAST POLL", "STATE")
        for source in sources {
            let failures = source["failures"]?.asInt ?? 0
            let state =
                failures > 0
                ? "failing since \(source["failing_since"].words(in: zone)): \(source["error"].words(in: zone))"
                : source["held"] == true
                    ? "held: the last result was too unlike the one before"
                    : source["baseline"] == true ? "fine" : "not polled yet"
            table.add(
                source["source"].words(in: zone), "\(source["tasks"]?.asInt ?? 0)", source["last_change"].words(in: zone),
                source["last_poll"].words(in: zone), state)
        }
        table.print()
    }

    private func printRules(_ rules: [JSON], _ zone: TimeZoneTable) {
        Console.data("")
        var table = Table("RULE", "RUNS", "ERRORS", "LAST RUN", "NEXT")
        for rule in rules {
            table.add(
                rule["rule"].words(in: zone), "\(rule["runs"]?.asInt ?? 0)", "\(rule["errors"]?.asInt ?? 0)",
                rule["last_run"].words(in: zone), rule["next"].words(in: zone))
        }
        table.print()
        for rule in rules where rule["error"]?.asString != nil {
            Console.data("\(rule["rule"].words(in: zone)): \(rule["error"].words(in: zone))")
        }
    }
}

extension JSON? {
    /// A value for a cell: times by the clocks of a zone and without fractions, nothing as a dash.
    func words(in zone: TimeZoneTable) -> String {
        guard let text = self?.asString, !text.isEmpty else { return self?.asInt.map(String.init) ?? "-" }
        return Timestamp(rfc3339: text)?.short(in: zone) ?? text
    }
}

extension DeliveryState {
    /// The state in words for people.
    var words: String {
        switch self {
        case .available: "ready or waiting to retry"
        case .waiting: "waiting for an earlier step"
        case .running: "under way"
        case .done: "done"
        case .dead: "given up"
        case .held: "held for your word"
        case .shadow: "only recorded (shadow)"
        case .dropped: "dropped"
        }
    }
}
