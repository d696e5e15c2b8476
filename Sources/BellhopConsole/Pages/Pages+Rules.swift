import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    static func rules(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let rows = try await RuleList(context.call()).rules.map { rule -> [HTML] in
            [
                context.ruleLink(rule.summary.name),
                context.state(rule.mode) + (rule.isPaused ? " <strong>\(t("paused"))</strong>" : ""),
                "\(rule.summary.types.map(\.name).joined(separator: ", "))", "\(rule.status["runs"].shown)",
                "\(rule.status["errors"].shown)", context.time(rule.status["last_run"]), context.time(rule.status["next"]),
            ]
        }
        let saved = context.request.value("saved").map { path -> HTML in
            "<p role=\"status\" class=\"good\"><code>\(path)</code> \(t("is saved. The agent reads it now."))</p>"
        }
        let new: HTML =
            !context.may(.operator)
            ? ""
            : """
            <h2>\(t("New rule"))</h2><form class="filters" method="get" action="/workbench">
            \(field("name", t("Name"), nil, hint: "tell-the-team"))<button>\(t("New rule"))</button></form>
            """
        return page(
            context, t("Rules"),
            (saved ?? "")
                + context.table(
                    t("Rules"), [t("Rule"), t("Mode"), t("Type"), t("Runs"), t("Errors"), t("Last run"), t("Next")], rows)
                + new)
    }

    static func rule(_ context: PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let list = try await RuleList(context.call())
        let rule = try list.rule(name)
        let deliveries = try await context.call().ask(.deliveries(DeliveryQuery(rule: name, limit: 20))).rows
        let address = "/rules/" + PercentEncoding.encode(name)
        var acts: HTML = ""
        if context.may(.operator) {
            acts =
                (rule.isPaused
                    ? context.button(address + "/resume", t("Resume")) : context.button(address + "/pause", t("Pause")))
                + otherMode(context, rule, address) + "<a class=\"button\" href=\"\(address)/workbench\">\(t("Workbench"))</a>"
                + context.button(
                    "/backtests", t("Coverage of the last day"), fields: [("rule", name), ("since", "1d"), ("coverage", "true")])
        }
        let facts = context.facts([
            (t("Description"), rule.summary.description.map { "\($0)" }),
            (t("Mode"), context.state(rule.mode) + (rule.isPaused ? " <strong>\(t("paused"))</strong>" : "")),
            (t("File"), "\(rule.summary.file):\(rule.summary.line)"), (t("Schedule"), rule.summary.schedule.map { "\($0)" }),
            (t("Runs"), "\(rule.status["runs"].shown)"), (t("Errors"), "\(rule.status["errors"].shown)"),
            (t("Error"), (rule.status["error"]?.asString).map { "\($0)" }),
            (t("Last run"), context.time(rule.status["last_run"])),
        ])
        let rows = deliveries.reversed().map { row -> [HTML] in
            [
                context.time(row["created"]), context.state(of: row),
                context.link("deliveries", row["id"].textOrEmpty, text: row["action"].textOrEmpty),
                "\(row["receiver"].textOrEmpty)",
                context.taskLink(of: row), "\(detail(of: row))",
            ]
        }
        let stops = try await list.stops(of: rule).map { verdict, count, last -> [HTML] in
            ["\(t(verdict.rawValue))", "\(count)", context.time(last)]
        }
        return page(
            context, name,
            """
            \(facts)<div class="acts">\(acts)</div><h2>\(t("Deliveries"))</h2>
            \(context.table(t("Deliveries"), [t("Created"), t("State"), t("Action"), t("Receiver"), t("Task"), t("Detail")], rows))
            <h2>\(t("Stopped or waited in the last day"))</h2>
            \(context.table(t("Stopped or waited in the last day"), [t("Why"), t("Number"), t("Last")], stops))
            \(try await text(context, list, rule))
            """)
    }

    /// A link to the workbench that changes the rule to the other mode. A person must save the change there.
    private static func otherMode(_ context: PageContext, _ rule: RuleList.Rule, _ address: String) -> HTML {
        let t = context.t
        let (mode, text): (ModeEdit.Mode, String)
        switch rule.summary.mode {
        case .live, .canary: (mode, text) = (.shadow, t("Shadow"))
        case .shadow: (mode, text) = (.live, t("Live"))
        case .off: return ""
        }
        return "<a class=\"button\" href=\"\(address)/workbench?mode=\(mode.rawValue)\">\(text)</a>"
    }

    /// The text of a rule's file, with its mistakes or with its coverage by recent events.
    private static func text(
        _ context: PageContext, _ list: RuleList, _ rule: RuleList.Rule
    ) async throws(Problem) -> HTML {
        let t = context.t
        let (path, text) = (rule.summary.file, list.text(of: rule) ?? "")
        if list.refused > 0, context.may(.operator), context.view.workshop != nil {
            let problems = try await Workbench(context.call(), rule: rule.summary.name).check(text).all
            if problems.contains(where: { $0.severity == .error }) {
                return listing(context, text, of: path, WorkbenchResult(text: text, tag: "", problems: problems))
            }
        }
        let heading: HTML = "<h2>\(t("Text"))</h2>"
        let measured = context.jobs.jobs.lazy.compactMap { job in
            job.coverage?.files.first { $0.path == path }.map { (job, $0) }
        }.first
        let other = measured.map { job, file -> HTML in
            "<p><a href=\"/backtests/\(job.id)\">\(t("Back-test")) \(context.time(job.asked))</a>: \(file.percent) %</p>"
        }
        var coverage: RecentCoverage?
        // If the coverage cannot be measured now, show only the text.
        do throws(Problem) { coverage = try await list.coverage(of: rule, context.call()) } catch { coverage = nil }
        guard let coverage, let since = coverage.since else {
            return heading + (other ?? "") + "<pre tabindex=\"0\">\(text)</pre>"
        }
        return """
            \(heading)<p>\(t("Coverage by recent events")): \(coverage.file.percent) %. \(t("Events")): \(coverage.events), \(t("since")) \(context.time(since)).</p>
            \(other)\(CoveragePage.text(coverage.file, text))
            """
    }

    static func receivers(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let status = try await context.call().ask(.status).end
        let isPaused = status["paused"].elements.contains { $0["cause"] == "writes" }
        let rows = try await Operations.receivers(context.call()).map { receiver -> [HTML] in
            let name = receiver["receiver"].textOrEmpty
            let stop = receiver["stopped"]
            let isStopped = stop?.asObject != nil
            let address = "/receivers/" + PercentEncoding.encode(name)
            let act: HTML =
                !context.may(.operator)
                ? ""
                : isStopped ? context.button(address + "/resume", t("Resume")) : context.button(address + "/pause", t("Pause"))
            let undecided = Int(receiver["undecided"]?.asInt ?? 0)
            return [
                "<a href=\"/deliveries?receiver=\(PercentEncoding.encode(name))\">\(name)</a>", "\(receiver["kind"].textOrEmpty)",
                stop.flatMap { context.stop($0) } ?? "\(t("Works"))", "\(receiver["rate"]?.asString ?? t("no limit"))",
                "\(receiver["waiting"].shown)\(receiver["more_wait"] == true ? "+" : "" as HTML)", "\(undecided)", act,
            ]
        }
        var writes: HTML = isPaused ? "<p class=\"bad\">\(t("Writes to tasks are paused."))</p>" : ""
        if context.may(.operator) {
            writes +=
                isPaused
                ? context.button("/writes/resume", t("Resume writes"))
                : context.button("/writes/pause", t("Pause all writes"), isDangerous: true)
        }
        return page(
            context, t("Receivers"),
            context.table(
                t("Receivers"),
                [t("Receiver"), t("Kind"), t("State"), t("Rate"), t("Backlog"), t("Waits for a person"), t("Act")], rows)
                + "<div class=\"acts\">\(writes)</div>")
    }

    /// Which messages and writes a silence keeps back.
    static func covered(_ silence: JSON, _ t: Words) -> HTML {
        let (when, coversWrites) = (silence["when"].textOrEmpty, silence["writes"] == true)
        let names = (silence["rules"].texts + silence["receivers"].texts).joined(separator: ", ")
        if when.isEmpty, names.isEmpty { return "\(coversWrites ? t("every message and write") : t("every message"))" }
        let parts: [HTML?] = [
            when.isEmpty ? nil : "<code>\(when)</code>", names.isEmpty ? nil : "\(names)",
            coversWrites ? "<strong>\(t("also writes"))</strong>" : nil,
        ]
        return parts.compactMap(\.self).joined(by: " ")
    }

    static func silences(
        _ context: PageContext, problem: Problem? = nil, entered: JSON = [:]
    ) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let found = try await context.call().ask(.silences(ended: true)).end["silences"].elements
        func mark(of silence: JSON) -> HTML {
            if let problem = silence["problem"]?.asString { return " <span class=\"bad\">\(problem)</span>" }
            return silence["active"] == true ? " <strong>\(t("active"))</strong>" : ""
        }
        let rows = found.map { silence -> [HTML] in
            let isOpen = silence["ended"]?.asString == nil
            let act: HTML =
                isOpen && context.may(.operator) ? context.button("/silences/\(silence["id"].textOrEmpty)/end", t("End")) : ""
            let end: HTML = SilenceRecord(json: silence).map { context.time($0.lasted.ends) } ?? ""
            return [
                "\(silence["id"].textOrEmpty)" + mark(of: silence),
                context.time(silence["starts"]), end,
                covered(silence, t),
                "\(silence["reason"].textOrEmpty)", "\(silence["by"].textOrEmpty)", "\(silence["kept"].shown)", act,
            ]
        }
        let complaint = problem.map { problem -> HTML in "<p class=\"bad\" role=\"alert\">\(t.sentence(problem.detail))</p>" }
        func value(_ name: String) -> String? { entered[name]?.asString ?? context.request.value(name) }
        let form: HTML =
            !context.may(.operator)
            ? ""
            : """
            <h2 id="new">\(t("Begin a silence"))</h2>\(complaint)<form class="filters" method="post" action="/silences">\(context.formToken)
            \(field("for", t("For how long"), value("for") ?? "4h", hint: "4h"))
            \(field("when", t("Only messages for which this condition is true"), value("when"), hint: "task.number == 'INC0010001'"))
            \(field("rule", t("Only this rule"), entered["rules"]?[0]?.asString ?? context.request.value("rule")))
            \(field("receiver", t("Only this receiver"), entered["receivers"]?[0]?.asString ?? context.request.value("receiver")))
            \(field("reason", t("Reason"), value("reason")))<button>\(t("Begin a silence"))</button>
            <button name="preview" value="true">\(t("What would it keep back?"))</button></form>
            """
        let preview = try await preview(context, entered)
        return page(
            context, t("Silences"), status: problem?.status ?? 200,
            context.table(
                t("Silences"),
                [t("Number"), t("Starts"), t("Ends"), t("About"), t("Reason"), t("By"), t("Kept back"), t("Act")], rows) + form
                + preview)
    }

    /// A preview of the silence that the address describes: the deliveries that it would have kept back.
    private static func preview(_ context: PageContext, _ entered: JSON) async throws(Problem) -> HTML {
        let t = context.t
        let request = context.request
        guard ["for", "when", "rule", "receiver"].contains(where: { request.value($0)?.isEmpty == false }) else { return "" }
        var body: JSON.Object = ["for": "1h"]
        body["when"] = request.value("when").flatMap { $0.isEmpty ? nil : .string($0) }
        for (name, member) in [("rule", "rules"), ("receiver", "receivers")] {
            if let value = request.value(name), !value.isEmpty { body[member] = [.string(value)] }
        }
        let call = context.call()
        let preview: SilencePreview
        do throws(Problem) {
            preview = try await SilencePreview(
                try SilenceForm(.object(body), call).silence, since: context.view.clock.now - .days(7), call)
        } catch {
            return try context.complaint(error)
        }
        let rows = preview.deliveries.prefix(20).map { row -> [HTML] in
            [
                context.time(row["created"]), context.link("deliveries", row["id"].textOrEmpty, text: row["action"].textOrEmpty),
                "\(row["receiver"].textOrEmpty)", context.ruleLink(row["rule"].textOrEmpty),
                context.taskLink(of: row),
            ]
        }
        let unknown: HTML =
            preview.unknown == 0 ? "" : "<p>\(t("Not evaluated, because their event is not stored")): \(preview.unknown)</p>"
        return """
            <h2>\(t("What it would have kept back in the last 7 days")): \(preview.deliveries.count)\(preview.isCut ? "+" : "" as HTML)</h2>
            \(context.table(t("Deliveries"), [t("Created"), t("Action"), t("Receiver"), t("Rule"), t("Task")], Array(rows)))\(unknown)
            """
    }
}
