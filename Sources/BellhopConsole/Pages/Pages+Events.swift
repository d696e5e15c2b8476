import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules

extension Pages {
    /// The rows of a page of a list.
    private static let pageSize = 50

    static func events(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let (t, request) = (context.t, context.request)
        let query = context.filters("type", "source", "task", "where", "since")
        // Read before the rows, so that the live stream lacks no event after them.
        let end = try await context.call().ask(.events(EventQuery(limit: 1))).end["end"]?.asInt ?? 0
        var (rows, next, complaint): ([JSON], Int64?, HTML) = ([], nil, "")
        do throws(Problem) {
            try context.checkQuery(of: "events")
            let found = try await EventSearch(context.call(query)).rows(
                limit: pageSize, before: request.value("before").flatMap { Int64($0) })
            (rows, next, complaint) = (found.rows, found.next, context.note(found.failures))
        } catch {
            complaint = try context.complaint(error)
        }
        let address = PercentEncoding.query(query.map { ($0.name, $0.value) })
        let older = context.nextPage("/events?\(address)&before=", next.map { String($0) }, t("Older"))
        let form: HTML = """
            <form class="filters" method="get" action="/events" role="search">
            \(field("where", t("Condition"), request.value("where"), hint: "task.priority == 1"))
            \(field("type", t("Type"), request.value("type"), hint: "task_created"))
            \(field("source", t("Source"), request.value("source")))\(field("task", t("Task"), request.value("task"), hint: "INC0010001"))
            \(field("since", t("Since"), request.value("since"), hint: "7d"))
            <button>\(t("Search"))</button></form>
            """
        let types = context.view.book()?.eventTypes ?? EventCatalogue.builtIn.types.map(\.name)
        let stream = PercentEncoding.query(query.filter { $0.name != "since" }.map { ($0.name, $0.value) } + [("after", "")])
        let live: HTML = """
            <p><button type="button" id="live" hidden data-stream="/api/v1/events/stream?\(stream)" data-after="\(String(end))"
            data-types="\(types.joined(separator: " "))" data-on="\(t("Watch live"))" data-off="\(t("Stop watching"))"
            data-ended="\(t("The stream has ended. Load this page again."))">\(t("Watch live"))</button></p>
            <div id="live-log" role="log" aria-live="polite" aria-label="\(t("Watch live"))"></div>
            """
        return page(context, t("Events"), form + complaint + live + eventTable(context, rows) + older)
    }

    static func field(_ name: String, _ label: String, _ value: String?, hint: String = "") -> HTML {
        "<div><label for=\"f-\(name)\">\(label)</label><input id=\"f-\(name)\" name=\"\(name)\" value=\"\(value ?? "")\" maxlength=\"\(SilenceBook.longest)\" placeholder=\"\(hint)\"></div>"
    }

    private static func eventTable(_ context: PageContext, _ rows: [JSON]) -> HTML {
        let t = context.t
        return context.table(
            t("Events"), [t("Time"), t("Type"), t("Source"), t("Task"), t("Summary")],
            rows.map { row in
                let event = Event(cloudEvent: row)
                return [
                    context.time(row["time"]), context.link("events", row["id"].textOrEmpty, text: row["type"].textOrEmpty),
                    "\(row["source"].textOrEmpty)", context.taskLink(event?.task?.number ?? "", or: event?.task?.key.text ?? ""),
                    "\(event.map(beginning(of:)) ?? "")",
                ]
            })
    }

    /// An event in a few words.
    static func summary(_ event: Event) -> String {
        if let comment = event.data[.comment] { return "\(comment["author"].textOrEmpty): \(comment["text"].textOrEmpty)" }
        if let words = event.changesInWords { return words }
        let error = event.type == .sourceRecovered ? nil : event.data[.error]
        if let message = error?[.message]?.asString ?? error?.asString { return message }
        return event.task?.title ?? event.data[.reason]?.asString ?? event.subject
    }

    /// The beginning of an event's summary, for lists: a comment may have many pages.
    static func beginning(of event: Event) -> String { Redaction.excerpt(summary(event), length: longestSummary) }

    /// The length of a summary or a title in a list.
    private static let longestSummary = 300

    static func event(_ context: PageContext, _ id: String) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let story = try await ExplanationSearch(context.call(), task: nil, event: id)
        guard let account = story.explanation.events.first else { throw Problem(unstored: "event", id) }
        let acts: HTML =
            context.may(.operator)
            ? """
            <div class="acts"><a class="button" href="\(link: silenceLink(account))">\(t("Silence such messages"))</a>
            <a class="button" href="/events/\(account.event.event.id.text)/test">\(t("Copy as a test"))</a></div>
            """
            : ""
        let view = ExplanationView(context: context, level: 2)
        return page(context, account.event.event.type.name, view.html(account, isWhole: true) + acts)
    }

    /// The address of the form for a silence of messages like those of an event.
    private static func silenceLink(_ account: Explanation.EventAccount) -> String {
        let event = account.event.event
        // A JSON string is also a literal of the rules' language.
        func literal(_ text: String) -> String { JSON.string(text).text }
        let when =
            event.task.map { task in
                task.number.isEmpty ? "task.id == " + literal(task.key.text) : "task.number == " + literal(task.number)
            } ?? "event.type == \(literal(event.type.name)) && source == \(literal(event.source))"
        let rules = account.rules.filter { !$0.deliveries.isEmpty }.map(\.rule)
        let rule = rules.count == 1 ? "&rule=" + PercentEncoding.encode(rules[0]) : ""
        return "/silences?when=" + PercentEncoding.encode(when) + rule
    }

    /// The page with a test case made from stored events.
    static func test(
        _ context: PageContext, task: String? = nil, event: String? = nil
    ) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let test = try await TestCaseFromEvents(context.call(), task: task, event: event).test
        if context.request.value("download") == "true" {
            return ConsoleAnswer(
                200, type: "application/yaml; charset=utf-8", Array(test.text.utf8),
                fields: [("Content-Disposition", "attachment; filename=\"case.test.yaml\"")])
        }
        let problems = test.problems.map { problem -> HTML in "<pre class=\"bad\" tabindex=\"0\">\(problem.rendered())</pre>" }
        let note: HTML =
            problems.isEmpty
            ? "" : "<p>\(t("The test does not pass yet, because a relevant fact is missing from it:"))</p>\(problems)"
        return page(
            context, t("Copy as a test"),
            """
            <p>\(t("This test expects that the same events lead to the same actions. Save it as a `.test.yaml` file beside the rules:"))</p>
            <label for="case">\(t("Test"))</label><textarea id="case" rows="20" readonly spellcheck="false">\n\(test.text)</textarea>
            <p><a class="button" href="?download=true">\(t("Download"))</a></p>\(note)
            """)
    }

    static func tasks(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let (t, request) = (context.t, context.request)
        let query = context.filters("source", "where")
        let after = [("after", request.value("after") ?? "")]
        var (found, next, complaint): ([JSON], String?, HTML) = ([], nil, "")
        do throws(Problem) {
            try context.checkQuery(of: "tasks")
            let failures: SearchFailures
            (found, next, failures) = try await TaskSearch(context.call(query + after)).rows(limit: pageSize)
            complaint = context.note(failures)
        } catch {
            complaint = try context.complaint(error)
        }
        let rows = found.map { row -> [HTML] in
            let task = row["task"] ?? .null
            let name = task["number"].textOrEmpty.isEmpty ? task["id"].textOrEmpty : task["number"].textOrEmpty
            return [
                context.link("tasks", name, text: name),
                "\(Redaction.excerpt(task["title"].textOrEmpty, length: longestSummary))",
                "\(task["source"].textOrEmpty)", "\((task["labels"]?["state"] ?? task["fields"]?["state"]).shown)",
            ]
        }
        let address = PercentEncoding.query(query.map { ($0.name, $0.value) })
        let later = context.nextPage("/tasks?\(address)&after=", next.map { PercentEncoding.encode($0) }, t("Next page"))
        let form: HTML = """
            <form class="filters" method="get" action="/tasks" role="search">
            \(field("where", t("Condition"), request.value("where"), hint: "task.priority == 1"))
            \(field("source", t("Source"), request.value("source")))<button>\(t("Search"))</button></form>
            """
        return page(
            context, t("Tasks"),
            form + complaint + context.table(t("Tasks"), [t("Task"), t("Title"), t("Source"), t("State")], rows) + later)
    }

    /// A task's timeline.
    static func task(_ context: PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let shown = try await context.call().ask(.tasks(name)).rows
        let head = shown.map { row -> HTML in
            let task = row["task"] ?? .null
            let address = task["url"].textOrEmpty
            return context.facts([
                (t("Title"), "\(task["title"].textOrEmpty)"), (t("Source"), "\(task["source"].textOrEmpty)"),
                (t("Details"), address.isEmpty ? nil : "<a rel=\"noreferrer\" href=\"\(link: address)\">\(address)</a>"),
            ])
        }
        var (accounts, copy): ([HTML], HTML) = ([], "")
        do throws(Problem) {
            let story = try await ExplanationSearch(context.call(), task: name, event: nil, limit: 50)
            if context.may(.operator) {
                let address = "/tasks/\(PercentEncoding.encode(name))/test"
                copy = "<div class=\"acts\"><a class=\"button\" href=\"\(address)\">\(t("Copy as a test"))</a></div>"
            }
            accounts = story.explanation.events.reversed().map { account in
                "<article><h2>\(account.event.event.type.name)</h2>\(ExplanationView(context: context, level: 3).html(account, isWhole: false))</article>"
            }
            if story.explanation.isCut {
                accounts.append("<p><a href=\"/events?task=\(PercentEncoding.encode(name))\">\(t("Earlier events"))</a></p>")
            }
        } catch {
            guard error.status == 404 else { throw error }
            if shown.isEmpty { throw error }
            accounts = ["<p>\(t("No event about it is stored."))</p>"]
        }
        return page(context, name, "\(head)\(copy)\(accounts)")
    }
}

/// The explanation of one event: the rules and their deliveries.
struct ExplanationView {
    let context: PageContext
    /// The level of its headings, from 2 on.
    let level: Int

    private func heading(_ text: String) -> HTML { level == 2 ? "<h2>\(text)</h2>" : "<h3>\(text)</h3>" }

    /// - Parameter isWhole: whether to include rules that do not match the event.
    func html(_ account: Explanation.EventAccount, isWhole: Bool) -> HTML {
        let t = context.t
        let event = account.event.event
        let facts = context.facts([
            (t("Time"), context.time(event.time)), (t("Source"), "\(event.source)"),
            (t("Task"), event.task.map { context.taskLink($0.number, or: $0.key.text) }),
            (t("Summary"), "\(Pages.summary(event))"),
            (t("Caused by"), event.cause.map { context.link("events", $0.text, text: String($0.text.prefix(12))) }),
        ])
        let rules = account.rules.filter { isWhole || $0.isRelevant }.map { rule in html(rule, of: account) }
        let caused = account.caused.map { caused -> HTML in
            "<li>\(context.link("events", caused.event.id.text, text: caused.event.type.name)) \(Pages.beginning(of: caused.event))</li>"
        }
        let led: HTML = caused.isEmpty ? "" : heading(t("Led to")) + "<ul>\(caused)</ul>"
        return facts + changes(event) + heading(t("Rules")) + "<div class=\"rules\">\(rules)</div>" + led
    }

    /// The changed fields, before and after.
    private func changes(_ event: BellhopCore.Event) -> HTML {
        let t = context.t
        guard let changes = event.data[.changes]?.asObject, !changes.isEmpty else { return "" }
        let rows = changes.map { field, change -> [HTML] in
            ["\(field)", "<del>\(change[.from]?.plainText ?? "")</del>", "<ins>\(change[.to]?.plainText ?? "")</ins>"]
        }
        return heading(t("Changes")) + context.table(t("Changes"), [t("Field"), t("Before"), t("After")], rows)
    }

    private func html(_ rule: Explanation.Account, of account: Explanation.EventAccount) -> HTML {
        let t = context.t
        let parts = rule.parts.map { part -> HTML in
            "<li class=\"depth-\(min(part.depth, 6))\"><code>\(part.text)</code> = <code>\(part.brief)</code></li>"
        }
        let notes = rule.notes.map { note -> HTML in "<p>\(context.sentence(note))</p>" }
        let deliveries = rule.deliveries.map { delivery -> HTML in
            let attempts = delivery.attempts.map { attempt -> HTML in
                "<li>\(context.time(attempt.at)) \(t(attempt.outcome)) \(attempt.detail)</li>"
            }
            return
                "<li>\(context.state(delivery.state.rawValue, delivery.joined)) \(delivery.stop.flatMap { context.stop($0) }) \(context.link("deliveries", delivery.id, text: "\(delivery.action) → \(delivery.receiver)")) <span class=\"long\">\(delivery.content)</span><ul>\(attempts)</ul></li>"
        }
        let replay = rule.ranWhenReplayed ? t("ran when replayed") + " · " : ""
        return """
            <details\(rule.deliveries.isEmpty ? "" : " open" as HTML)><summary>\(context.ruleLink(rule.rule)) · <strong>\(replay)\(t(rule.verdict.rawValue))</strong> \(context.sentence(rule.reason))</summary>
            \(RunGraph(rule, for: account, context)?.html)<ul class="parts">\(parts)</ul>\(notes)<ul>\(deliveries)</ul></details>
            """
    }
}
