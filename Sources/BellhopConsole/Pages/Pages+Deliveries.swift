import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

extension Pages {
    static func deliveries(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let (t, request) = (context.t, context.request)
        let states = request.query.filter { $0.name == "state" }.compactMap { DeliveryState(rawValue: $0.value) }
        let query = context.filters("state", "rule", "receiver", "where", "since")
        var (rows, next, complaint): ([JSON], Int64?, HTML) = ([], nil, "")
        do throws(Problem) {
            try context.checkQuery(of: "deliveries", besides: decisionCounts)
            let found = try await DeliverySearch(context.call(query)).rows(
                limit: 50, before: request.value("before").flatMap { Int64($0) })
            (rows, next, complaint) = (found.rows, found.next, context.note(found.failures))
        } catch {
            complaint = try context.complaint(error)
        }
        let address = PercentEncoding.query(query.map { ($0.name, $0.value) })
        let here = PercentEncoding.query(request.query.filter { !decisionCounts.contains($0.name) }.map { ($0.name, $0.value) })
        let options = DeliveryState.allCases.map { state -> HTML in
            "<option value=\"\(state.rawValue)\"\(states.contains(state) ? " selected" : "" as HTML)>\(t(state.rawValue))</option>"
        }
        let form: HTML = """
            <form class="filters" method="get" action="/deliveries" role="search">
            <div><label for="f-state">\(t("State"))</label><select id="f-state" name="state"><option value="">\(t("all"))</option>\(options)</select></div>
            \(field("where", t("Condition"), request.value("where"), hint: "delivery.attempts > 2"))
            \(field("rule", t("Rule"), request.value("rule")))\(field("receiver", t("Receiver"), request.value("receiver")))
            \(field("since", t("Since"), request.value("since"), hint: "7d"))<button>\(t("Search"))</button></form>
            """
        let table = table(context, rows)
        let open = rows.filter { canDecide(context, $0) }.map { $0["id"].textOrEmpty }
        let list: HTML =
            open.isEmpty
            ? table
            : """
            <form method="post" action="/deliveries">\(context.formToken)<input type="hidden" name="query" value="\(here)">
            \(table)<div class="decide"><label><input type="checkbox" name="page" value="\(open.joined(separator: " "))"> \(t("Choose all of this page"))</label>
            <button name="command" value="retry">\(t("Retry"))</button>
            <button class="danger" name="command" value="drop" data-ask="\(t("Drop these deliveries? They are never sent then."))">\(t("Drop"))</button></div></form>
            """
        let older = context.nextPage("/deliveries?\(address)&before=", next.map { String($0) }, t("Older"))
        return page(context, t("Deliveries"), form + complaint + decisionNote(context) + list + older)
    }

    /// The names in an address that say how many deliveries a decision changed, and how many it did not.
    private static let decisionCounts = ["changed", "refused"]

    /// What a decision changed; empty if the visitor has not just decided.
    private static func decisionNote(_ context: PageContext) -> HTML {
        let t = context.t
        let counts = decisionCounts.compactMap { context.request.value($0).flatMap { Int($0) } }
        guard counts.count == 2 else { return "" }
        if counts == [0, 0] { return "<p class=\"bad\" role=\"status\">\(t("Choose at least one delivery."))</p>" }
        let refused: HTML =
            counts[1] == 0
            ? "" : " <span class=\"bad\">\(t("Not changed, because their state does not allow it")): \(counts[1])</span>"
        return "<p role=\"status\">\(t("Changed")): \(counts[0])\(refused)</p>"
    }

    /// Whether the visitor may apply a command to a delivery. More of them can be dropped than retried.
    private static func canDecide(_ context: PageContext, _ row: JSON, by command: DeliveryCommand = .drop) -> Bool {
        context.may(.operator) && command.states.map(\.rawValue).contains(row["state"].textOrEmpty)
    }

    private static func table(_ context: PageContext, _ rows: [JSON]) -> HTML {
        let t = context.t
        return context.table(
            t("Deliveries"),
            [t("Choose"), t("Created"), t("State"), t("Action"), t("Receiver"), t("Rule"), t("Task"), t("Detail")],
            rows.map { row in
                let id = row["id"].textOrEmpty
                return [
                    canDecide(context, row)
                        ? "<input type=\"checkbox\" name=\"delivery\" value=\"\(id)\" aria-label=\"\(t("Choose")) \(String(id.prefix(12)))\">"
                        : "", context.time(row["created"]), context.state(of: row),
                    context.link("deliveries", id, text: row["action"].textOrEmpty), "\(row["receiver"].textOrEmpty)",
                    context.ruleLink(row["rule"].textOrEmpty), context.taskLink(of: row),
                    "\(detail(of: row))",
                ]
            })
    }

    /// Why it failed; otherwise the beginning of what is sent.
    static func detail(of row: JSON) -> String {
        if row["state"].textOrEmpty != DeliveryState.done.rawValue, let error = row["error"]?["message"]?.asString {
            return error
        }
        let texts = [row["message"]?["title"], row["message"]?["text"], row["arguments"]?["text"]].map { $0.textOrEmpty }
        return Redaction.excerpt(texts.first { !$0.isEmpty } ?? "", length: 100)
    }

    static func delivery(_ context: PageContext, _ id: String) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let row = try await Operations.delivery(context.call(path: ["delivery": id]))
        let (whole, state) = (row["id"].textOrEmpty, DeliveryState(rawValue: row["state"].textOrEmpty))
        let task = row["task"]
        let errorName = state == .done || state == .joined ? t("Past error") : t("Error")
        let facts = context.facts([
            (t("State"), context.state(of: row)), (t("Action"), "\(row["action"].textOrEmpty)"),
            (t("Receiver"), "\(row["receiver"].textOrEmpty)"), (t("Rule"), context.ruleLink(row["rule"].textOrEmpty)),
            (
                t("Task"),
                task.map { task -> HTML in
                    let name = task["number"].textOrEmpty.isEmpty ? task["id"].textOrEmpty : task["number"].textOrEmpty
                    return context.link("tasks", name, text: name) + " <bdi>\(task["title"].textOrEmpty)</bdi>"
                }
            ),
            (t("Created"), context.time(row["created"])), (t("Attempts"), "\(row["attempts"].shown)"),
            (t("Next attempt"), nextAttempt(context, row)),
            (t("Finished"), row["finished"]?.asString == nil ? nil : context.time(row["finished"])),
            (errorName, (row["error"]?["message"]?.asString).map { "\($0)" }), (t("Receipt"), receipt(context, row)),
            (t("Silences"), (row["silence"]?.asString).map { "\($0)" }),
        ])
        let address = "/deliveries/" + whole
        var acts: HTML = ""
        if canDecide(context, row, by: .retry) { acts += context.button(address + "/retry", t("Retry")) }
        if canDecide(context, row) { acts += context.button(address + "/drop", t("Drop"), isDangerous: true) }
        if context.may(.operator), state == .dead || state == .held {
            acts += "<a class=\"button\" href=\"\(address)/edit\">\(t("Edit"))</a>"
        }
        let attempts = try await attempts(context, row).map { attempt -> [HTML] in
            ["\(Int(attempt.number))", context.time(attempt.at), context.state(attempt.outcome), "\(attempt.detail)"]
        }
        let history: HTML =
            attempts.isEmpty
            ? ""
            : """
            <h2>\(t("Attempts"))</h2>
            \(context.table(t("Attempts"), [t("Number"), t("Time"), t("Outcome"), t("Detail")], attempts))
            """
        let sent = row["request"]?["body"] ?? row["message"]?["text"] ?? row["arguments"] ?? .null
        let text = sent.asString ?? sent.text(.pretty)
        return page(
            context, "\(t("Delivery")) \(whole.prefix(12))",
            """
            \(decisionNote(context))\(facts)<div class="acts">\(acts)</div>\(history)<h2>\(t("What is sent"))</h2>\(message(row["message"]))
            <pre tabindex="0">\(text)</pre>
            """)
    }

    /// When it is attempted next, or why it waits; nil if it is not to be attempted.
    private static func nextAttempt(_ context: PageContext, _ row: JSON) -> HTML? {
        guard ["available", "quiet"].contains(row["state"].textOrEmpty) else { return nil }
        return row["stopped"].flatMap { context.stop($0) } ?? context.time(row["next"])
    }

    /// Leads to the delivery that it joined, if it joined one.
    private static func receipt(_ context: PageContext, _ row: JSON) -> HTML? {
        guard let id = row["joined"]?["delivery"]?.asString else { return (row["receipt"]?.asString).map { "\($0)" } }
        return context.link("deliveries", id, text: context.t("joined") + " " + String(id.prefix(12)))
    }

    /// A message as people read it.
    private static func message(_ message: JSON?) -> HTML {
        guard let message, message.asObject != nil else { return "" }
        // The first line of the plain text is the title.
        let lines = message["text"].textOrEmpty.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let text = lines.count > 1 ? String(lines[1].drop { $0 == "\n" }) : ""
        let rest: HTML = text.isEmpty ? "" : "<p>\(text)</p>"
        return "<blockquote class=\"message\"><p><strong>\(lines.first ?? "")</strong></p>\(rest)</blockquote>"
    }

    /// The finished attempts of a delivery, from the audit.
    private static func attempts(
        _ context: PageContext, _ row: JSON
    ) async throws(Problem) -> [ExplainedDelivery.Attempt] {
        let occasion = Occasion.ID(row["occasion"].textOrEmpty)
        var event = occasion.event?.text
        if event == nil, let place = occasion.begun ?? occasion.lastBefore {
            let query = EventQuery(after: place - 1, through: place, limit: 1)
            event = try await context.call().ask(.events(query)).rows.first?["id"]?.asString
        }
        guard let event else { return [] }
        let deliveries = try await context.call().history(HistoryQuery(event: event, limit: 1)).deliveries
        return deliveries.first { $0.id == row["id"].textOrEmpty }?.attempts ?? []
    }

    /// - Parameter entered: the text that a person has edited, and their text; nil to edit the present one.
    static func deliveryForm(
        _ context: PageContext, _ id: String, entered: (before: String, after: String)? = nil, problems: [String] = [],
        status: Int = 200
    ) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let whole = try await Operations.delivery(context.call(path: ["delivery": id]))["id"].textOrEmpty
        let form = try await context.call().ask(.form(whole)).end
        let text = form["text"].textOrEmpty
        let complaints = problems.map { problem -> HTML in "<pre class=\"bad\" role=\"alert\">\(problem)</pre>" }
        return page(
            context, "\(t("Edit")) \(whole.prefix(12))", status: status,
            """
            \(complaints)<form method="post" action="/deliveries/\(whole)/edit">\(context.formToken)
            <input type="hidden" name="before" value="\(entered?.before ?? text)"><label for="after">\(t("What is sent"))</label>
            <textarea id="after" name="after" rows="20" spellcheck="false">\n\(entered?.after ?? text)</textarea><button>\(t("Save"))</button></form>
            """)
    }
}
