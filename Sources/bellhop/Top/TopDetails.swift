import BellhopAgent
import BellhopCore

/// The details of one row of `bellhop top`.
struct TopDetails {
    let link: StoreLink
    let look: TopLook

    func details(of id: String, in tab: TopView.Tab) async throws(CommandError) -> TopView.Details {
        switch tab {
        case .sources:
            let events = look.events.filter { $0["source"]?.asString == id }
            return TopView.Details(
                "Source \(id)", fields(of: entry("sources", "source", id)) + ["", "Its newest events:"] + events.map(line))
        case .rules:
            var status = look.status
            status["waits"] = .array(status["waits"].elements.filter { $0["rule"]?.asString == id })
            status["upcoming"] = .array(status["upcoming"].elements.filter { $0["rule"]?.asString == id })
            let page = StatusPage(status: status, zone: link.zone, width: Screen.dataWidth)
            let waits = page.waits(limit: .max) + page.upcoming
            return TopView.Details(
                "Rule \(id)",
                fields(of: entry("rules", "rule", id)) + (waits.isEmpty ? [] : [""] + waits)
                    + ["", "Its newest deliveries:"] + (try await deliveries(DeliveryQuery(rule: id, limit: Self.most))))
        case .receivers:
            return TopView.Details(
                "Receiver \(id)",
                fields(of: entry("stopped", "receiver", id)) + ["", "Its newest deliveries:"]
                    + (try await deliveries(DeliveryQuery(receiver: id, limit: Self.most))))
        case .deliveries:
            var lines: [String] = []
            _ = try await link.answer(.deliveries(DeliveryQuery(id: id, limit: 1))) { delivery in
                lines = DeliveryPage(delivery: delivery, zone: link.zone).lines.flatMap {
                    $0.wrappedLines(to: Screen.dataWidth, indent: 14)
                }
            }
            return TopView.Details(
                "Delivery \(id.prefix(12))", lines.isEmpty ? ["It no longer exists: its record was pruned."] : lines)
        case .waiting:
            let parts = id.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
            let timer = look.status["upcoming"].elements.first {
                [$0["rule"]?.asString, $0["kind"]?.asString, $0["key"]?.asString] == parts
            }
            return TopView.Details("Timer of rule \(parts[0])", fields(of: timer ?? .null))
        case .events:
            let event = look.events.first { $0["id"]?.asString == id } ?? .null
            let text = event.withLocalTimes(in: link.zone).text(.pretty).visibleLines
            return TopView.Details("Event \(id.prefix(12))", text.split(separator: "\n").map(String.init))
        }
    }

    /// How many deliveries of a rule or a receiver are listed.
    private static let most = 20

    private func entry(_ list: String, _ member: String, _ name: String) -> JSON {
        look.status[list].elements.first { $0[member]?.asString == name } ?? .null
    }

    /// A line for each member that has a value.
    private func fields(of entry: JSON) -> [String] {
        (entry.asObject ?? [:]).flatMap { name, value -> [String] in
            let words = value.plainText.singleLine.withLocalTimes(in: link.zone)
            guard !words.isEmpty else { return [] }
            return "\(name.padded(to: 14)) \(words)".wrappedLines(to: Screen.dataWidth, indent: 15)
        }
    }

    private func line(_ event: JSON) -> String {
        let what = Event(cloudEvent: event).map { Events.summary($0, in: link.zone) } ?? ""
        return "\(event["time"].words(in: link.zone))  \(event["type"].textOrEmpty)  \(what)".singleLine
    }

    private func deliveries(_ query: DeliveryQuery) async throws(CommandError) -> [String] {
        var table = Table(DeliveryList.columns)
        _ = try await link.answer(.deliveries(query)) { delivery in
            let row = DeliveryList.row(delivery, in: link.zone)
            table.add(row.cells, paints: row.paints)
        }
        return table.count == 0 ? ["none"] : table.lines(width: Screen.dataWidth)
    }
}
