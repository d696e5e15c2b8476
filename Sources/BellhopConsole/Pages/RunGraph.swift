import BellhopAgent
import BellhopCore
import BellhopRules

/// A drawing of a run through its rule: the event, the condition, the verdict, and the deliveries.
struct RunGraph {
    private struct Node {
        var title: String
        var text = ""
        var tone: HTML = "plain"
        /// The indentation: 1 for deliveries of the run and events that it emitted.
        var depth = 0
    }

    let html: HTML

    private static let width = 320
    private static let height = 40
    private static let gap = 16
    private static let indent = 24
    /// The most deliveries and emitted events; a last node counts the others.
    private static let most = 12

    /// Nil if the rule is not for such events.
    init?(_ account: Explanation.Account, for event: Explanation.EventAccount, _ context: PageContext) {
        guard account.isRelevant else { return nil }
        let t = context.t
        var nodes = [Node(title: event.event.event.type.name, text: Pages.summary(event.event.event))]
        let isCondition = [.conditionFalse, .conditionUnknown, .conditionFailed].contains(account.verdict)
        if isCondition || !account.parts.isEmpty {
            let part = account.parts.first
            nodes.append(
                Node(
                    title: "when = \(part?.brief ?? (isCondition ? t(account.verdict.rawValue) : "true"))",
                    text: part?.text ?? "", tone: isCondition ? "bad" : "good"))
        }
        let hasRun = account.verdict == .ran
        nodes.append(
            Node(
                title: "\(account.rule): \(t(account.verdict.rawValue))", text: context.sentence(account.reason),
                tone: hasRun ? "good" : "plain"))
        var leaves = account.deliveries.map { delivery in
            Node(
                title: "\(delivery.action) → \(delivery.receiver)",
                text:
                    "\(t(delivery.state.rawValue)) \(delivery.attempts.isEmpty ? "" : "(\(delivery.attempts.count)) ")\(delivery.content)",
                tone: PageContext.tone(delivery.joined.map { $0.state?.rawValue ?? "" } ?? delivery.state.rawValue), depth: 1)
        }
        leaves += event.caused.filter { $0.event.source == account.rule }.map { caused in
            Node(title: caused.event.type.name, text: Pages.summary(caused.event), depth: 1)
        }
        let left = leaves.count - Self.most
        nodes += leaves.prefix(Self.most)
        if left > 0 { nodes.append(Node(title: "+ \(left)", depth: 1)) }
        html = Self.draw(nodes)
    }

    private static func draw(_ nodes: [Node]) -> HTML {
        var (lines, boxes): (HTML, HTML) = ("", "")
        var parent = 0
        for (place, node) in nodes.enumerated() {
            let (x, y) = (node.depth * indent, place * (height + gap))
            if place > 0 {
                if node.depth == 0 {
                    lines += "<path class=\"edge\" d=\"M 20 \(y - gap) V \(y)\"></path>"
                } else {
                    let start = parent * (height + gap) + height
                    lines += "<path class=\"edge\" d=\"M 10 \(start) V \(y + height / 2) H \(x)\"></path>"
                }
            }
            if node.depth == 0 { parent = place }
            boxes += """
                <rect class="node \(node.tone)" x="\(x + 1)" y="\(y + 1)" width="\(width - x - 2)" height="\(height - 2)" rx="4"></rect>
                <text class="title" x="\(x + 8)" y="\(y + (node.text.isEmpty ? 25 : 17))">\(shortened(node.title, at: x))</text><text x="\(x + 8)" y="\(y + 32)">\(shortened(node.text, at: x))</text>
                """
        }
        let words = nodes.map(\.title).joined(separator: " → ")
        let whole = nodes.count * (height + gap) - gap
        return
            "<figure class=\"graph\"><svg viewBox=\"0 0 \(width) \(whole)\" role=\"img\" aria-label=\"\(words)\">\(lines)\(boxes)</svg></figure>"
    }

    /// A text, truncated to the width of a box.
    private static func shortened(_ text: String, at x: Int) -> String {
        let most = (width - x) / 8
        let line = text.singleLine
        return line.count <= most ? line : line.prefix(most - 1) + "…"
    }
}
