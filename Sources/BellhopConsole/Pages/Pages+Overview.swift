import BellhopAgent
import BellhopCore

extension Pages {
    static func overview(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let status = try await context.call().ask(.status).end
        let activity = try await context.call().ask(.activity).end
        let needs = status["needs"].texts
        let counts = status["deliveries"]?.asObject ?? [:]
        let numbers = counts.filter { ($0.value.asInt ?? 0) > 0 }.map { name, count -> HTML in
            "<li><a href=\"/deliveries?state=\(name)\">\(context.state(name)) \(count.asInt.map { Int($0) } ?? 0)</a></li>"
        }
        let list: HTML =
            numbers.isEmpty ? "<p class=\"none\">\(t("None."))</p>" : "<ul class=\"numbers\">\(numbers)</ul>"
        let content: HTML = """
            <section aria-labelledby="needs"><h2 id="needs">\(t("Needs a person"))</h2>\(needsList(needs, context))</section>
            \(stops(context, status))
            <section aria-labelledby="counts"><h2 id="counts">\(t("Deliveries"))</h2>\(list)</section>
            <div class="charts"><section aria-labelledby="hours"><h2 id="hours">\(t("Events per hour"))</h2>
            \(BarChart(t("Events per hour"), [.init(t("Events"), "bar", [activity["events"]], until: context.hour)], context).html)</section>
            <section aria-labelledby="results"><h2 id="results">\(t("Deliveries per hour"))</h2>
            \(BarChart(t("Deliveries per hour"), results(activity["deliveries"], context), context).html)</section></div>
            <section aria-labelledby="sources"><h2 id="sources">\(t("Sources"))</h2>\(sources(context, status))</section>
            """
        return page(context, t("Overview"), content)
    }

    /// The results of the deliveries of each hour. A joined one counts as part of the delivery that has its message as a line.
    private static func results(_ byState: JSON?, _ context: PageContext) -> [BarChart.Series] {
        let t = context.t
        func series(_ name: String, _ classes: HTML, _ states: DeliveryState...) -> BarChart.Series {
            .init(name, classes, states.map { byState?[$0.rawValue] }, until: context.hour)
        }
        return [
            series(t("done"), "bar done", .done), series(t("failed"), "bar failed", .dead, .held),
            series(t("under way"), "bar", .available, .waiting, .running, .quiet),
            series(t("not sent"), "bar unsent", .shadow, .silenced, .dropped),
        ]
    }

    private static func needsList(_ needs: [String], _ context: PageContext) -> HTML {
        let t = context.t
        if needs.isEmpty { return "<p class=\"good\">\(t("Nothing needs a person."))</p>" }
        let items = needs.map { need -> HTML in "<li>\(linked(context.sentence(need)))</li>" }
        return "<ul class=\"bad\">\(items)</ul>"
    }

    /// A sentence in which a command that lists deliveries leads to their page.
    private static func linked(_ sentence: String) -> HTML {
        guard let command = sentence.firstMatch(of: /`(bellhop deliveries --state (\w+))`/) else { return "\(sentence)" }
        let (before, after) = (sentence[..<command.range.lowerBound], sentence[command.range.upperBound...])
        let (text, state) = (String(command.output.1), String(command.output.2))
        return "\(String(before))<a href=\"/deliveries?state=\(state)\"><code>\(text)</code></a>\(String(after))"
    }

    /// The most pauses and silences that the overview names.
    private static let maxStops = 20

    /// What is paused, stopped or silenced now, and the silences that begin later; empty if there is nothing.
    private static func stops(_ context: PageContext, _ status: JSON) -> HTML {
        let t = context.t
        let paused = status["paused"].elements.map { pause -> HTML in
            let reason = context.sentence(pause["reason"].textOrEmpty)
            guard let rule = pause["rule"]?.asString else {
                return "<a href=\"/receivers\">\(t("Writes to tasks are paused."))</a> \(reason)"
            }
            return "\(t("Rule")) \(context.ruleLink(rule)): <strong class=\"bad\">\(t("paused"))</strong> \(reason)"
        }
        let stopped = status["stopped"].elements.compactMap { stop -> HTML? in
            guard let why = context.stop(stop) else { return nil }
            return "\(t("Receiver")) <a href=\"/receivers\">\(stop["receiver"].textOrEmpty)</a>: \(why)"
        }
        let silences = status["silences"].elements.map { silence -> HTML in
            let begins: HTML = silence["active"] == false ? "\(t("begins")) \(context.time(silence["starts"])), " : ""
            return
                "<a href=\"/silences\">\(t("Silence"))</a> \(begins)\(t("until")) \(context.time(silence["ends"])): \(covered(silence, t))"
        }
        let all = paused + stopped + silences
        if all.isEmpty { return "" }
        let items = all.prefix(maxStops).map { item -> HTML in "<li>\(item)</li>" }
        let more: HTML = all.count > maxStops ? "<li>+ \(all.count - maxStops)</li>" : ""
        return """
            <section aria-labelledby="stops"><h2 id="stops">\(t("Paused and silenced"))</h2><ul>\(items)\(more)</ul></section>
            """
    }

    private static func sources(_ context: PageContext, _ status: JSON) -> HTML {
        let t = context.t
        let rows = status["sources"].elements.map { source -> [HTML] in
            let name = source["source"].textOrEmpty
            return [
                "<a href=\"/events?source=\(PercentEncoding.encode(name))\">\(name)</a>", "\(source["kind"].textOrEmpty)",
                context.state(source["state"].textOrEmpty), "\(source["tasks"].shown)", context.time(source["last_poll"]),
                "\(source["error"].textOrEmpty)",
            ]
        }
        let notices = status["sources"].elements.flatMap { source in
            source["notices"].texts.map { notice -> HTML in "<li>\(source["source"].textOrEmpty): \(notice)</li>" }
        }
        let list: HTML = notices.isEmpty ? "" : "<ul>\(notices)</ul>"
        return context.table(t("Sources"), [t("Source"), t("Kind"), t("State"), t("Tasks"), t("Last poll"), t("Error")], rows)
            + list
    }

    static func timers(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let status = try await context.call().ask(.status).end
        let rows = status["upcoming"].elements.map { timer -> [HTML] in
            let number = timer["number"].textOrEmpty
            let about: HTML = number.isEmpty ? "\(timer["subject"].textOrEmpty)" : context.link("tasks", number, text: number)
            return [
                context.time(timer["due"]), context.ruleLink(timer["rule"].textOrEmpty), "\(t(timer["kind"].textOrEmpty))", about,
            ]
        }
        let more = Int(status["later_waits"]?.asInt ?? 0)
        let rest: HTML = more > 0 ? "<p>+ \(more)</p>" : ""
        return page(
            context, t("Waiting"), context.table(t("Waiting"), [t("Due"), t("Rule"), t("Kind"), t("About")], rows) + rest)
    }

    static func audit(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        try context.checkQuery(of: "audit")
        let before = context.request.value("before").flatMap { Int64($0) }
        let (rows, next) = try await Operations.auditRows(context.call(), limit: 100, before: before)
        let shown = rows.reversed().map { row -> [HTML] in
            let entry = try? JSON.parse(row["entry"].textOrEmpty)
            let rest = (entry?.asObject ?? [:]).filter { !["by", "act", "kind", "time"].contains($0.key) }
            let words = rest.map { name, value -> HTML in
                "\(t(name.prefix(1).uppercased() + name.dropFirst())): \(audited(name, value, context))"
            }.joined(by: "; ")
            return [
                "\(row["number"].shown)", row["at"]?.asInt.map { context.time(Timestamp(microseconds: $0)) } ?? "",
                "\(t(entry?["act"]?.asString ?? entry?["kind"].textOrEmpty ?? ""))", "\(entry?["by"]?["user"].textOrEmpty ?? "")",
                "<span class=\"long\">\(words)</span>",
            ]
        }
        let older = context.nextPage("/audit?before=", next.map { String($0) }, t("Older"))
        return page(
            context, t("Audit"),
            context.table(t("Audit"), [t("Number"), t("Time"), t("Act"), t("Person"), t("Details")], shown) + older)
    }

    /// A detail of a row of the audit, in words.
    private static func audited(_ name: String, _ value: JSON, _ context: PageContext) -> HTML {
        let t = context.t
        switch value {
        case .string(let text): return "\(name == "outcome" ? t(text) : text)"
        case .array(let items): return "\(items.map { $0.asString ?? $0.text }.joined(separator: ", "))"
        case .bool(true): return "\(t("yes"))"
        case .object where name == "silence":
            let id = value["id"]?.asString ?? ""
            // The row of its end has only its id.
            guard let ends = value["ends"] else { return "\(id)" }
            let reason = value["reason"]?.asString ?? ""
            let end: HTML = reason.isEmpty ? "" : ": \(reason)"
            return "\(id) \(t("until")) \(context.time(ends)), \(covered(value, t))\(end)"
        default: return "\(value.text)"
        }
    }
}
