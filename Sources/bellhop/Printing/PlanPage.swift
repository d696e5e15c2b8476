import BellhopAgent
import BellhopCore
import BellhopRules

/// The changes that a start or reload would make, for people: for a terminal, or in Markdown.
struct PlanPage {
    let plan: Plan
    let zone: TimeZoneTable
    let isMarkdown: Bool
    /// The path of the store if it does not exist yet.
    let missingStore: String?

    func print() {
        if let missingStore {
            Console.data("There is no store \(name(missingStore)) yet, because no agent has run here: everything is new.")
            if isMarkdown { Console.data("") }
        }
        if plan.isEmpty { return Console.data("Nothing changes.") }
        part("Rules", plan.rules.map(line))
        part("Sources", lines(plan.sources) + plan.baselines.map { ("~", name($0) + ": its next poll makes a baseline") })
        part("Receivers", lines(plan.connections))
        part("Secrets", lines(plan.secrets))
        part("Other settings", plan.settings.map { ("~", name($0)) })
        if let obstacle = plan.obstacle { return Console.data("\n" + obstacle) }
        guard let difference = plan.report?.difference else { return }
        let lines = difference.lines(zone: zone, name: name)
        if lines.isEmpty {
            Console.data(
                difference.same == 0
                    ? "\nNo event of the last day leads to a delivery."
                    : "\nThe events of the last day would have led to the same deliveries: \(difference.same).")
        } else {
            part("Deliveries of the last day, by its events", lines)
            if difference.same > 0 { Console.data("\nDeliveries that stay as they are: \(difference.same).") }
        }
    }

    private func line(_ rule: Plan.Rule) -> (String, String) {
        let name = name(rule.name)
        let ends = rule.ends.map(words)
        switch rule.change {
        case .added: return ("+", name)
        case .removed: return ("-", [name, ends].compactMap(\.self).joined(separator: ": "))
        case .changed:
            let parts = rule.parts.map(self.name).joined(separator: ", ")
            let timers = rule.keepsTimers.map { keeps in
                keeps
                    ? "its schedule, waits, counts and groups continue"
                    : "its schedule begins anew, and its waits, counts and groups under way end"
            }
            return ("~", ["\(name): \(parts)", timers, ends].compactMap(\.self).joined(separator: "; "))
        }
    }

    /// `2 waiting runs and 1 escalation under way end`.
    private func words(_ ended: EndedWaits) -> String {
        let parts = [(ended.waits, "waiting run"), (ended.escalations, "escalation")].filter { $0.0 > 0 }
        // The store counts no further.
        let most = StoreStatus.WaitStatus.most
        let words = parts.map { count, noun in (count > most ? "more than " : "") + counted(min(count, most), noun) }
        return "\(words.joined(separator: " and ")) under way \(ended.waits + ended.escalations == 1 ? "ends" : "end")"
    }

    private func lines(_ names: Plan.Names) -> [(String, String)] {
        let added = names.added.map { ("+", name($0)) }
        let removed = names.removed.map { ("-", name($0)) }
        let changed = names.changed.map { ("~", name($0)) }
        return added + removed + changed
    }

    private func name(_ name: String) -> String { isMarkdown ? "`\(name.visible)`" : name.visible }

    private func part(_ title: String, _ lines: [(mark: String, text: String)]) {
        guard !lines.isEmpty else { return }
        Console.data(isMarkdown ? "### \(title)\n" : Paint.bold(title))
        for line in lines {
            let paint: Paint = line.mark == "+" ? .green : line.mark == "-" ? .red : .yellow
            let words = ["+": "added", "-": "removed", "~": "changed"]
            Console.data(isMarkdown ? "- \(words[line.mark] ?? ""): \(line.text)" : "  \(paint(line.mark)) \(line.text)")
        }
        if isMarkdown { Console.data("") }
    }
}

extension DeliveryDifference {
    /// The added, removed and changed deliveries: the first ones of each, and the number of the others.
    func lines(zone: TimeZoneTable, name: (String) -> String = \.visible) -> [(mark: String, text: String)] {
        let most = 10
        return [("+", coming), ("-", going), ("~", changed)].flatMap { mark, deliveries in
            let lines = deliveries.first.prefix(most).map { delivery in
                let task = delivery.task.map { " about \($0)" } ?? ""
                return (
                    mark,
                    "\(zone.dateAndClock(delivery.time)) \(name(delivery.rule)): \(delivery.action.visible) to "
                        + "\(delivery.receiver.visible)\(task.visible)"
                )
            }
            return lines + (deliveries.count > most ? [(mark, "and \(deliveries.count - most) more: --json lists them")] : [])
        }
    }
}
