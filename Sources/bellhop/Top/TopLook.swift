import BellhopAgent
import BellhopCore

/// The result of one query of the agent.
struct TopLook {
    struct Row {
        var id: String
        var cells: [String]
        var paints: [Int: Paint] = [:]
        var isPaused = false
    }

    /// As `bellhop status --json` prints it.
    let status: JSON
    /// The deliveries that are not done, those that need a person first.
    let deliveries: [JSON]
    /// The newest events, newest first.
    let events: [JSON]
    /// How many events of each source were seen since the command started.
    let seen: [String: Int64]
    let connections: [String]
    let zone: TimeZoneTable

    /// The most deliveries and events that are read.
    static let most = 500

    static func columns(of tab: TopView.Tab) -> [Table.Column] {
        switch tab {
        case .sources:
            [
                .init("SOURCE"), .init("STATE"), .init("EVENTS/MIN", rank: 1), .init("TASKS", rank: 2),
                .init("LAST POLL", rank: 3), .init("LAST CHANGE", rank: 4),
            ]
        case .rules:
            [
                .init("RULE"), .init("STATE"), .init("RUNS/MIN", rank: 1), .init("RUNS", rank: 4), .init("ERRORS", rank: 2),
                .init("LAST RUN", rank: 5), .init("NEXT", rank: 3),
            ]
        case .receivers:
            [
                .init("RECEIVER"), .init("STATE"), .init("WAITING", rank: 1), .init("QUIET", rank: 4), .init("DEAD", rank: 2),
                .init("HELD", rank: 3), .init("WHY", rank: 5, isText: true),
            ]
        case .deliveries: DeliveryList.columns
        case .waiting: [.init("DUE"), .init("RULE"), .init("PART", rank: 2), .init("ABOUT", rank: 1)]
        case .events: [.init("TIME"), .init("TYPE"), .init("SOURCE", rank: 1), .init("WHAT", rank: 2, isText: true)]
        }
    }

    func rows(of tab: TopView.Tab, _ rates: TopRates) -> [Row] {
        switch tab {
        case .sources: sources(rates)
        case .rules: rules(rates)
        case .receivers: receivers
        case .deliveries:
            deliveries.map { delivery in
                let row = DeliveryList.row(delivery, in: zone)
                return Row(id: delivery["id"].textOrEmpty, cells: row.cells, paints: row.paints)
            }
        case .waiting: waiting
        case .events:
            events.map { event in
                let what = Event(cloudEvent: event).map { Events.summary($0, in: zone) } ?? "-"
                let cells = [event["time"].words(in: zone), event["type"].textOrEmpty, event["source"].textOrEmpty, what]
                return Row(id: event["id"].textOrEmpty, cells: cells)
            }
        }
    }

    /// The counters from which ``TopRates`` computes rates, by name.
    var counts: [String: Int64] {
        var counts: [String: Int64] = [:]
        for (source, count) in seen { counts["source \(source)"] = count }
        counts["events"] = seen.values.reduce(0, +)
        for rule in list("rules") { counts["rule \(rule["rule"].textOrEmpty)"] = rule["runs"]?.asInt ?? 0 }
        return counts
    }

    // MARK: - Rows

    private func list(_ name: String) -> [JSON] { status[name].elements }

    private func sources(_ rates: TopRates) -> [Row] {
        list("sources").map { source in
            let paint = SourceState(rawValue: source["state"].textOrEmpty)?.paint
            let name = source["source"].textOrEmpty
            let cells = [
                name, source["state"].textOrEmpty, rates.perMinute("source \(name)"), "\(source["tasks"]?.asInt ?? 0)",
                source["last_poll"].words(in: zone), source["last_change"].words(in: zone),
            ]
            return Row(id: name, cells: cells, paints: paint.map { [1: $0] } ?? [:])
        }
    }

    private func rules(_ rates: TopRates) -> [Row] {
        let paused = Set(list("paused").compactMap { $0["rule"]?.asString })
        return list("rules").map { rule in
            let name = rule["rule"].textOrEmpty
            let isPaused = paused.contains(name)
            let hasFailed = rule["error"]?.asString != nil
            let state = isPaused ? "paused" : rule["off"] == true ? "off" : hasFailed ? "failing" : "fine"
            let cells = [
                name, state, rates.perMinute("rule \(name)"), "\(rule["runs"]?.asInt ?? 0)", "\(rule["errors"]?.asInt ?? 0)",
                rule["last_run"].words(in: zone), rule["next"].words(in: zone),
            ]
            return Row(
                id: name, cells: cells, paints: hasFailed ? [1: .red] : isPaused ? [1: .yellow] : [:], isPaused: isPaused)
        }
    }

    private var receivers: [Row] {
        var counts: [String: [DeliveryState: Int64]] = [:]
        for delivery in deliveries {
            guard let state = DeliveryState(rawValue: delivery["state"].textOrEmpty) else { continue }
            counts[delivery["receiver"].textOrEmpty, default: [:]][state, default: 0] += 1
        }
        // The status has the complete numbers of these states.
        for name in counts.keys { for state in [DeliveryState.dead, .held, .quiet] { counts[name]?[state] = 0 } }
        func add(_ state: DeliveryState?, _ group: JSON) {
            guard let state else { return }
            counts[group["receiver"].textOrEmpty, default: [:]][state, default: 0] += group["count"]?.asInt ?? 0
        }
        for group in list("undecided") { add(DeliveryState(rawValue: group["state"].textOrEmpty), group) }
        for group in list("quiet") { add(.quiet, group) }
        let stops = Dictionary(list("stopped").map { ($0["receiver"].textOrEmpty, $0) }) { first, _ in first }
        // Only the first deliveries were read.
        let isCut = deliveries.count >= Self.most
        return Set(connections).union(counts.keys).union(stops.keys).sorted().map { name in
            let stop = stops[name]
            let waiting = stop?["waiting"]?.asInt.map { "\($0)" } ?? "\(counts[name]?[.available] ?? 0)\(isCut ? "+" : "")"
            let cause = stop.flatMap { ReceiverStop.Cause(rawValue: $0["cause"].textOrEmpty) }
            let (state, paint): (String, Paint?) =
                switch cause {
                case nil: ("fine", nil)
                case .rest?: ("rests", .yellow)
                case .failures?: ("failing", .red)
                case .refusal?, .person?: ("paused", .red)
                }
            let cells = [
                name, state, waiting, "\(counts[name]?[.quiet] ?? 0)", "\(counts[name]?[.dead] ?? 0)",
                "\(counts[name]?[.held] ?? 0)", stop.map { $0["reason"].textOrEmpty } ?? "-",
            ]
            let isPaused = cause == .refusal || cause == .person
            return Row(id: name, cells: cells, paints: paint.map { [1: $0] } ?? [:], isPaused: isPaused)
        }
    }

    private var waiting: [Row] {
        list("upcoming").map { timer in
            let (rule, kind) = (timer["rule"].textOrEmpty, timer["kind"].textOrEmpty)
            let cells = [timer["due"].words(in: zone), rule, kind, StatusPage.subject(ofTimer: timer)]
            return Row(id: [rule, kind, timer["key"].textOrEmpty].joined(separator: "\u{0}"), cells: cells)
        }
    }
}

/// The growth of counters over the last minute.
struct TopRates {
    private var samples: [(time: Duration, counts: [String: Int64])] = []

    private static let span = Duration.seconds(60)

    mutating func add(_ counts: [String: Int64], at time: Duration) {
        samples.append((time, counts))
        // Keep one older sample, so that the samples span the whole minute.
        while samples.count > 2, samples[1].time <= time - Self.span { samples.removeFirst() }
    }

    /// `-` before the second sample.
    func perMinute(_ name: String) -> String {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return "-" }
        // A counter that was reset is smaller than before.
        let grown = max((last.counts[name] ?? 0) - (first.counts[name] ?? 0), 0)
        let rate = Double(grown) / ((last.time - first.time) / .seconds(60))
        return rate >= 10 || rate == 0 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
    }
}
