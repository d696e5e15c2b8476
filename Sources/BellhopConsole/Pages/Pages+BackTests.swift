import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    static func backTests(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let rows = context.jobs.jobs.map { job -> [HTML] in
            [
                context.time(job.asked), context.link("backtests", job.id, text: job.about.isEmpty ? t("All rules") : job.about),
                context.state(job.state.rawValue), "\(Int(job.progress * 100)) %", "\(job.by)",
            ]
        }
        let form: HTML =
            !context.may(.operator)
            ? ""
            : """
            <h2>\(t("Begin a back-test"))</h2><form class="filters" method="post" action="/backtests">\(context.formToken)
            \(field("rule", t("Only this rule"), nil))\(field("since", t("Since"), "7d", hint: "7d"))
            <button>\(t("Begin a back-test"))</button></form>
            """
        return page(
            context, t("Back-tests"),
            "<p>\(t("What rules would have done with the stored events. Nothing is sent."))</p>"
                + context.table(t("Back-tests"), [t("Time"), t("Rules"), t("State"), t("Progress"), t("Person")], rows) + form)
    }

    static func beginBackTest(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let request = context.request
        let (since, rule) = (request.field("since") ?? "", request.field("rule") ?? "")
        var body: JSON.Object = ["since": .string(since.isEmpty ? "7d" : since)]
        if !rule.isEmpty { body["rules"] = [.string(rule)] }
        if request.field("coverage") == "true" { body["coverage"] = true }
        let job = try await BackTestForm(.object(body)).begin(context.call())
        return .seeOther("/backtests/" + job.id)
    }

    static func backTest(_ context: PageContext, _ id: String) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let job = try context.jobs.job(id)
        let isOver = job.finished != nil
        let facts = context.facts([
            (t("Rules"), "\(job.about.isEmpty ? t("All rules") : job.about)"), (t("State"), context.state(job.state.rawValue)),
            (t("Since"), "\(DurationText.format(job.span))"), (t("By"), "\(job.by)"), (t("Begin"), context.time(job.asked)),
            (t("Error"), job.problem.map { "<span class=\"bad\">\(t.sentence($0))</span>" }),
        ])
        let meter: HTML =
            isOver
            ? ""
            : "<p><label for=\"progress\">\(t("Progress"))</label><progress id=\"progress\" max=\"100\" value=\"\(Int(job.progress * 100))\">\(Int(job.progress * 100)) %</progress></p>"
        let act: HTML =
            context.may(.operator)
            ? context.button("/backtests/\(id)/end", t(isOver ? "Forget" : "End"), isDangerous: true) : ""
        let report = job.report.map { BackTestPage(context, $0).html } ?? ""
        let coverage = job.coverage.map { CoveragePage(context, $0).html } ?? ""
        // The script renews the facts in place, so that the keyboard stays where it is.
        let refresh: HTML = isOver ? "" : "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>"
        return page(
            context, t("Back-test"), head: refresh, "\(facts)\(meter)<div class=\"acts\">\(act)</div>\(report)\(coverage)")
    }
}

struct BackTestPage {
    let html: HTML
    private let context: PageContext

    init(_ context: PageContext, _ report: JSON) {
        self.context = context
        let t = context.t
        let rules = report["rules"].elements.map { rule -> [HTML] in
            [
                context.ruleLink(rule["rule"].textOrEmpty), "\(rule["runs"].shown)",
                "\(Self.counts(rule["deliveries"], t))", "\(Self.counts(rule["verdicts"], t))", "\(rule["error"].textOrEmpty)",
            ]
        }
        let unknown = report["unknown"].texts.map { sentence -> HTML in "<li>\(context.sentence(sentence))</li>" }
        html = """
            <h2>\(t("What the rules would have done"))</h2><p>\(t("Events")): \(report["events"].shown)</p>
            \(context.table(t("Rules"), [t("Rule"), t("Runs"), t("Deliveries"), t("Stopped or waited"), t("Error")], rules))
            \(Self.differences(context, report["difference"]))
            <h2>\(t("Deliveries"))</h2>\(Self.deliveries(context, report["deliveries"], report["count"], t("Deliveries")))
            <h2>\(t("Limits of this result"))</h2><ul>\(unknown)</ul>
            """
    }

    private static func counts(_ counts: JSON?, _ t: Words) -> String {
        (counts?.asObject ?? [:]).map { "\(t($0.key)) \($0.value.asInt.map { String($0) } ?? "")" }.joined(separator: ", ")
    }

    private static func differences(_ context: PageContext, _ difference: JSON?) -> HTML {
        let t = context.t
        guard let difference, difference.asObject != nil else { return "" }
        let titles = [("comes", "Would be added"), ("goes", "Would be removed"), ("changes", "Would be changed")]
        let kinds = titles.map { name, title -> HTML in
            "<h3>\(t(title))</h3>\(deliveries(context, difference[name], difference["counts"]?[name], t(title)))"
        }
        return "<h2>\(t("Difference"))</h2><p>\(t("The same in both")): \(difference["same"].shown)</p>\(kinds)"
    }

    /// The most deliveries that a page shows of a list.
    private static let most = 100

    /// The first deliveries of a list, and the number of the others.
    ///
    /// - Parameter count: the number of all deliveries, if the report has it.
    private static func deliveries(_ context: PageContext, _ list: JSON?, _ count: JSON?, _ caption: String) -> HTML {
        let t = context.t
        let all = list.elements
        let left = Int(count?.asInt ?? Int64(all.count)) - most
        let isMore = count == nil && all.count == BackTestJobs.maxInList
        let more: HTML = left > 0 ? "<p>+ \(left)\(isMore ? "+" : "" as HTML)</p>" : ""
        let rows = all.prefix(most).map { delivery -> [HTML] in
            [
                context.time(delivery["time"]), "\(delivery["rule"].textOrEmpty)",
                "\(delivery["action"].textOrEmpty) → \(delivery["receiver"].textOrEmpty)",
                context.taskLink(delivery["task"].textOrEmpty), context.state(delivery["state"].textOrEmpty),
            ]
        }
        return context.table(caption, [t("Time"), t("Rule"), t("Action"), t("Task"), t("State")], rows) + more
    }
}

/// Rule files with their coverage.
struct CoveragePage {
    let html: HTML

    init(_ context: PageContext, _ coverage: RuleCoverage) {
        let t = context.t
        let files = coverage.files.map { file -> HTML in
            let text = context.view.file(file.path).map { String(decoding: $0, as: UTF8.self) } ?? ""
            return "<h3>\(file.path): \(file.percent) %</h3>\(Self.text(file, text))"
        }
        html = "<h2>\(t("Coverage"))</h2>\(files)"
    }

    /// The lines of a file, each with a mark.
    static func text(_ file: RuleCoverage.File, _ text: String) -> HTML {
        let lines = RuleCoverage.lines(of: file, in: text).map { mark, line, isSource -> HTML in
            if !isSource { return "<span class=\"bad\">      \(line)</span>\n" }
            let tone: HTML = mark == "✓" ? "good" : mark == " " ? "plain" : "bad"
            return "<span class=\"\(tone)\">\(String(mark)) | \(line)</span>\n"
        }
        return "<pre tabindex=\"0\">\(lines)</pre>"
    }
}
