import BellhopAgent
import BellhopCore

/// Draws a ``TopView`` as lines of a screen.
struct TopPage {
    let view: TopView
    let width: Int
    let height: Int

    /// How many rows of a table or lines of details fit.
    var room: Int { max(height - head.count - 4, 1) }

    /// As many lines as the screen has.
    var lines: [String] {
        var lines = head + [tabs, ""]
        lines += view.details.map(details) ?? table
        while lines.count < height - 1 { lines.append("") }
        return lines.prefix(height - 1) + [foot]
    }

    private var status: JSON { view.look?.status ?? .null }

    private var head: [String] {
        guard let look = view.look else { return ["bellhop: querying the agent."] }
        var lines: [String] = []
        if let agent = status["agent"]?.asObject {
            lines.append(
                "bellhop \(agent["version"].textOrEmpty): process \(agent["pid"]?.asInt ?? 0) since "
                    + "\(agent["started"].words(in: look.zone)), \(agent["in_flight"]?.asInt ?? 0) in flight")
        } else {
            let reason = status["silent_agent"] == nil ? "no agent is running" : "the agent does not answer"
            lines.append("bellhop: \(reason); this is read from the store")
        }
        lines.append(
            "\(view.rates.perMinute("events")) events/min, \(status["unrouted"]?.asInt ?? 0) waiting for the rules; deliveries: "
                + StatusPage.deliveryCounts(status))
        let needs = status["needs"].texts.filter { $0 != StatusNeeds.noAgent }
        // A low screen has room only for the table.
        let shown = height < Self.lowScreen ? 0 : Self.maxNeeds
        for need in needs.prefix(shown) {
            lines.append(Paint.red("! " + need.singleLine.withLocalTimes(in: look.zone).cutBetweenWords(to: width - 2)))
        }
        if needs.count > shown, height >= Self.lowScreen {
            lines.append("! and \(needs.count - shown) more: `bellhop status --failing`")
        }
        return lines
    }

    private static let maxNeeds = 2
    private static let lowScreen = 14

    private var tabs: String {
        TopView.Tab.allCases.map { tab in
            let name = "\(tab.rawValue + 1) \(tab)"
            return tab == view.tab ? Paint.reversed("[\(name)]") : " \(name) "
        }.joined(separator: " ")
    }

    private var table: [String] {
        let rows = view.rows
        guard let selected = view.selected else {
            let others = "No delivery waits or needs a decision: `bellhop deliveries` lists the others."
            return [view.tab == .deliveries ? others : "Nothing here."]
        }
        let first = min(max(selected - room / 2, 0), max(rows.count - room, 0))
        var table = Table(TopLook.columns(of: view.tab))
        for (place, row) in rows.enumerated() { table.add(row.cells, paints: place == selected ? [:] : row.paints) }
        let layout = table.layout(width: width - 2)
        let shown = table.rows(layout).enumerated().dropFirst(first).prefix(room).map { place, line in
            place == selected ? Paint.reversed("> \(line)") : "  \(line)"
        }
        return ["  \(table.heading(layout))"] + shown
    }

    private func details(_ details: TopView.Details) -> [String] {
        [Paint.bold(details.title.singleLine.cutBetweenWords(to: width))] + details.lines.dropFirst(details.first).prefix(room)
    }

    private var foot: String {
        if let question = view.question { return Paint.bold(question.words) }
        if let message = view.message { return message.singleLine.cutBetweenWords(to: width) }
        if view.details != nil { return Paint.dim("↑↓ scroll  q, Esc back") }
        let acts =
            switch view.tab {
            case .rules, .receivers: "  p pause or resume"
            case .deliveries: "  r retry  d drop"
            case .sources, .waiting, .events: ""
            }
        return Paint.dim("←→ or 1-6 view  ↑↓ select  enter details\(acts)  q quit")
    }
}
