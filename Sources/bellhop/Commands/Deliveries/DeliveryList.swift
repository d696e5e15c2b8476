import ArgumentParser
import BellhopAgent
import BellhopCore

struct DeliveryList: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List deliveries, oldest first; with an id, show one in full.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var filter: DeliveryFilter

    @Option(name: [.long, .customShort("n")], help: "How many at most, the newest.")
    var limit = 50

    @Argument(help: "A delivery's id, or the start of one: shows all that it fits in full, like `show`.")
    var id: String?

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
        if id == "" { throw ValidationError("The id is empty.") }
        if id != nil, !filter.isEmpty { throw ValidationError("Give either an id, or options such as --state.") }
    }

    func run() async throws {
        let link = try config.storeLink()
        if let id { return try await DeliveryShow.show(id, link, output) }
        let query = filter.query(at: SystemClock().now, limit: limit)
        var count = 0
        if output.json {
            try await each(of: query, link) { delivery in
                count += 1
                Console.json(delivery)
            }
            if count == 0 { try await filter.checkNames(link) }
            return
        }
        var table = PagedTable(Self.columns, width: Screen.dataWidth) { Console.data($0) }
        var undecided = 0
        let zone = link.zone
        try await each(of: query, link) { delivery in
            count += 1
            let row = Self.row(delivery, in: zone)
            table.add(row.cells, paints: row.paints)
            if row.needsPerson { undecided += 1 }
        }
        if count == 0 { try await filter.checkNames(link) }
        table.end()
        if undecided > 0 {
            Console.sentence(
                "\(counted(undecided, "delivery needs", "deliveries need")) a decision: `bellhop deliveries ID` says why; then retry or drop \(undecided == 1 ? "it" : "them")."
            )
        }
    }

    /// The deliveries of a query for which the condition holds, oldest first.
    private func each(of query: DeliveryQuery, _ link: StoreLink, _ show: (JSON) -> Void) async throws {
        if let found = try await filter.remoteMatches(query, link, lookingAtMost: SearchPage.maxSeen) {
            return report(found, show)
        }
        guard let condition = try await filter.checkedCondition(config) else {
            _ = try await link.answer(.deliveries(query), row: show)
            return
        }
        let found = try await condition.search(query, limit: limit, at: SystemClock().now) {
            query async throws(CommandError) in try await link.rows(.deliveries(query))
        }
        report(found, show)
    }

    private func report(_ found: SearchPage, _ show: (JSON) -> Void) {
        for row in found.rows.reversed() { show(row) }
        Console.note(found, limit: limit, "delivery", "deliveries", narrowedBy: "--state, --rule or --since")
    }

    /// On a narrow screen, the last column (what was or will be done) is left out last.
    static let columns: [Table.Column] = [
        .init("ID"), .init("STATE"), .init("RULE"), .init("ACTION", rank: 5), .init("RECEIVER", rank: 3),
        .init("TASK", rank: 2), .init("TRIES", rank: 7), .init("CREATED", rank: 8), .init("NEXT TRY", rank: 6),
        .init("WHAT", rank: 1, isText: true),
    ]

    /// One delivery as a row of ``columns``.
    static func row(_ delivery: JSON, in zone: TimeZoneTable) -> (cells: [String], paints: [Int: Paint], needsPerson: Bool) {
        let state = DeliveryState(rawValue: delivery["state"].textOrEmpty)
        let attempts = delivery["attempts"]?.asInt ?? 0
        let cells = [
            String(delivery["id"].textOrEmpty.prefix(12)), state?.rawValue ?? "-", delivery["rule"].words(in: zone),
            (delivery["name"] ?? delivery["action"]).words(in: zone), delivery["receiver"].words(in: zone),
            delivery["task"]?["number"].words(in: zone) ?? "-", "\(attempts)", delivery["created"].minute(in: zone),
            nextTry(delivery, state, attempts: attempts, in: zone), what(delivery).withLocalTimes(in: zone),
        ]
        return (cells, state?.paint(attempts: attempts).map { [1: $0] } ?? [:], state?.needsPerson ?? false)
    }

    /// The time of the next try; or `paused`, or the delivery that it waits for.
    private static func nextTry(_ delivery: JSON, _ state: DeliveryState?, attempts: Int64, in zone: TimeZoneTable) -> String {
        switch state {
        case .waiting: return delivery["after"]?.asArray?.first?.asString.map { "after \($0.prefix(12))" } ?? "-"
        case .quiet: return delivery["quiet_until"].minute(in: zone)
        case .available: break
        default: return "-"
        }
        if let stop = delivery["stopped"] { return stop["until"]?.isNull ?? true ? "paused" : stop["until"].minute(in: zone) }
        return attempts > 0 ? delivery["next"].minute(in: zone) : "-"
    }

    /// What was sent, and the result; without an attempt, what would be sent or done, and the silence that kept it back.
    private static func what(_ delivery: JSON) -> String {
        let arguments = delivery["arguments"]
        if let receipt = delivery["receipt"]?.asString {
            let title = delivery["message"]?["title"]?.asString ?? arguments?["text"]?.asString ?? ""
            let isShown = delivery["state"] == .string(DeliveryState.done.rawValue) && !title.isEmpty
            return isShown ? "“\(title.singleLine.cutBetweenWords(to: 60))”: \(receipt)" : receipt
        }
        if let error = delivery["error"]?["message"]?.asString { return error }
        let text = delivery["message"]?["text"] ?? arguments?["text"] ?? arguments ?? .null
        let words = text.asString ?? (text.asObject?.isEmpty ?? true ? "-" : text.text)
        let silence = delivery["silence"]?.asString.map { "kept back by silence \($0): " } ?? ""
        return silence + String(words.prefix(longestIntention)).singleLine
    }

    /// The most characters of a text in the list; `show` prints the whole text.
    private static let longestIntention = 200
}

extension DeliveryState {
    var needsPerson: Bool {
        switch self {
        case .dead, .held: true
        case .available, .waiting, .running, .done, .joined, .shadow, .silenced, .quiet, .dropped: false
        }
    }

    fileprivate func paint(attempts: Int64) -> Paint? {
        switch self {
        case .dead, .held: .red
        case .available: attempts > 0 ? .yellow : nil
        case .waiting, .running, .done, .joined, .shadow, .silenced, .quiet, .dropped: nil
        }
    }
}

extension String {
    /// Control characters made visible, line by line.
    var visibleLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }.joined(separator: "\n")
    }
}
