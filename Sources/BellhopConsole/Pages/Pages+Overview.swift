import BellhopAgent
import BellhopCore

extension Pages {
    static func overview(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let status = try await context.call().ask(.status).end
        let activity = try await context.call().ask(.activity).end
        let needs = (status["needs"]?.asArray ?? []).compactMap(\.asString)
        let counts = status["deliveries"]?.asObject ?? [:]
        let numbers = counts.filter { ($0.value.asInt ?? 0) > 0 }.map { name, count -> HTML in
            "<li><a href=\"/deliveries?state=\(name)\">\(context.state(name)) \(count.asInt.map { Int($0) } ?? 0)</a></li>"
        }
        let content: HTML = """
            <section aria-labelledby="needs"><h2 id="needs">\(t("Needs a person"))</h2>\(needsList(needs, t))</section>
            <section aria-labelledby="counts"><h2 id="counts">\(t("Deliveries"))</h2><ul class="numbers">\(numbers)</ul></section>
            <div class="charts"><section aria-labelledby="hours"><h2 id="hours">\(t("Events per hour"))</h2>
            \(BarChart(t("Events per hour") + ", " + t("in the last 24 hours"), activity["events"], context).html)</section>
            <section aria-labelledby="results"><h2 id="results">\(t("Deliveries per hour"))</h2>
            \(BarChart(t("Deliveries per hour") + ", " + t("in the last 24 hours"), activity["deliveries"], context).html)</section></div>
            <section aria-labelledby="sources"><h2 id="sources">\(t("Sources"))</h2>\(sources(context, status))</section>
            """
        return page(context, t("Overview"), content)
    }

    private static func needsList(_ needs: [String], _ t: Words) -> HTML {
        if needs.isEmpty { return "<p class=\"good\">\(t("Nothing needs a person."))</p>" }
        let items = needs.map { need -> HTML in "<li>\(need)</li>" }
        return "<ul class=\"bad\">\(items)</ul>"
    }

    private static func sources(_ context: PageContext, _ status: JSON) -> HTML {
        let t = context.t
        let rows = (status["sources"]?.asArray ?? []).map { source -> [HTML] in
            let name = source["source"].text
            return [
                "<a href=\"/events?source=\(PercentText.encoded(name))\">\(name)</a>", "\(source["kind"].text)",
                context.state(source["state"].text), "\(source["tasks"].shown)", context.time(source["last_poll"]),
                "\(source["error"].text)",
            ]
        }
        return context.table(t("Sources"), [t("Source"), t("Kind"), t("State"), t("Tasks"), t("Last poll"), t("Error")], rows)
    }

    static func timers(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let status = try await context.call().ask(.status).end
        let rows = (status["upcoming"]?.asArray ?? []).map { timer -> [HTML] in
            let number = timer["number"].text
            let about: HTML = number.isEmpty ? "\(timer["subject"].text)" : context.link("tasks", number, text: number)
            return [
                context.time(timer["due"]), context.link("rules", timer["rule"].text, text: timer["rule"].text),
                "\(timer["kind"].text)", about,
            ]
        }
        let more = Int(status["later_waits"]?.asInt ?? 0)
        let rest: HTML = more > 0 ? "<p>+ \(more)</p>" : ""
        return page(
            context, t("Waiting"), context.table(t("Waiting"), [t("Due"), t("Rule"), t("Kind"), t("About")], rows) + rest)
    }

    static func audit(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let before = context.request.value("before").flatMap { Int64($0) }
        let newest = try await context.call().ask(.audit(AuditQuery(isLast: true))).rows.last?["number"]?.asInt ?? 0
        let last = min(newest, before.map { $0 - 1 } ?? newest)
        let rows =
            last < 1
            ? []
            : try await context.call().ask(
                .audit(AuditQuery(after: max(0, last - 100), limit: Int(min(last, 100))))
            ).rows
        let shown = rows.reversed().map { row -> [HTML] in
            let entry = try? JSON.parse(row["entry"].text)
            let rest = (entry?.asObject ?? [:]).filter { !["by", "act", "kind", "time"].contains($0.key) }
            let words = rest.map { "\($0.key): \($0.value.asString ?? $0.value.text)" }.joined(separator: "; ")
            return [
                "\(row["number"].shown)", row["at"]?.asInt.map { context.time(Timestamp(microseconds: $0)) } ?? "",
                "\(entry?["act"]?.asString ?? entry?["kind"].text ?? "")", "\(entry?["by"]?["user"].text ?? "")",
                "<span class=\"long\">\(words)</span>",
            ]
        }
        let older: HTML = last > 100 ? "<p><a rel=\"next\" href=\"/audit?before=\(Int(last - 99))\">\(t("Older"))</a></p>" : ""
        return page(
            context, t("Audit"),
            context.table(t("Audit"), [t("Number"), t("Time"), t("Act"), t("Person"), t("Details")], shown) + older)
    }
}

/// Bars for the last hours, as a picture with a text.
struct BarChart {
    let html: HTML

    /// - Parameter hours: `hour` and `count` of each hour with any.
    init(_ title: String, _ hours: JSON?, _ context: PageContext) {
        let now = context.view.clock.now.microseconds / 3_600_000_000
        var counts = [Int64](repeating: 0, count: 24)
        for entry in hours?.asArray ?? [] {
            guard let hour = entry["hour"]?.asInt, let count = entry["count"]?.asInt, (0..<24).contains(now - hour) else {
                continue
            }
            counts[23 - Int(now - hour)] += count
        }
        let most = max(1, counts.max() ?? 1)
        let bars = counts.enumerated().map { place, count -> HTML in
            let height = count == 0 ? 0 : max(2, Int(count * 80 / most))
            let start = Timestamp(microseconds: (now - Int64(23 - place)) * 3_600_000_000)
            return
                "<rect class=\"bar\" x=\"\(place * 20 + 2)\" y=\"\(90 - height)\" width=\"16\" height=\"\(height)\"><title>\(Self.hour(start, context)): \(Int(count))</title></rect>"
        }
        let total = Int(counts.reduce(0, +))
        html = """
            <figure><svg viewBox="0 0 480 92" role="img" aria-label="\(title): \(total)"><line class="axis" x1="0" y1="90.5" x2="480" y2="90.5"></line>\(bars)</svg>
            <figcaption>\(title): \(total)</figcaption></figure>
            """
    }

    private static func hour(_ moment: Timestamp, _ context: PageContext) -> String {
        let hour = context.zone.local(moment).hour
        return (hour < 10 ? "0" : "") + "\(hour):00"
    }
}
