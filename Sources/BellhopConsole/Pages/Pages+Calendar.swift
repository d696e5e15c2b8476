import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// How many days ahead the calendar looks.
    private static let ahead = 7

    static func calendar(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let calendar = try await Operations.calendar(context.call(), days: ahead)
        var days: [(day: String, rows: [(at: Timestamp, cells: [HTML])])] = []
        func add(_ at: Timestamp, _ cells: [HTML]) {
            let day = context.day(at)
            if let place = days.firstIndex(where: { $0.day == day }) {
                days[place].rows.append((at, cells))
            } else {
                days.append((day, [(at, cells)]))
            }
        }
        for due in calendar.due { add(due.at, [context.clock(due.at), "\(t("Due"))", context.ruleLink(due.rule)]) }
        for quiet in calendar.quiet {
            let what = quiet.drops ? t("Quiet: messages are dropped") : t("Quiet: messages wait")
            let owner: HTML =
                switch quiet.owner {
                case .rule(let name): context.ruleLink(name)
                case .connection(let name): "\(name)"
                }
            let end: HTML =
                context.day(quiet.until) == context.day(quiet.from) ? context.clock(quiet.until) : context.time(quiet.until)
            add(quiet.from, [context.clock(quiet.from) + " – " + end, "\(what)", owner])
        }
        days.sort { $0.day < $1.day }
        let sections = days.map { day, rows -> HTML in
            let cells = rows.sorted { $0.at < $1.at }.map(\.cells)
            return "<h2>\(day)</h2>\(context.table(day, [t("Time"), t("What"), t("About")], cells))"
        }
        let often = calendar.frequent.map { entry -> HTML in
            "<li>\(context.ruleLink(entry.rule)): \(entry.schedule)</li>"
        }
        let more: HTML = often.isEmpty ? "" : "<h2>\(t("Often"))</h2><ul>\(often)</ul>"
        let empty: HTML =
            days.isEmpty && often.isEmpty ? "<p class=\"none\">\(t("No schedule and no quiet time in the next days."))</p>" : ""
        return page(
            context, t("Calendar"),
            "<p>\(t("Schedules of rules and quiet times of the next seven days."))</p>\(empty)\(more)\(sections)")
    }
}
