import BellhopAgent
import BellhopCore
import BellhopRules

/// The request, the visitor and the data from which a page is made.
struct PageContext: Sendable {
    let request: ConsoleRequest
    let visitor: Visitor
    let view: AgentView
    let feed: LiveFeed
    let gate: Gate
    let jobs: BackTestJobs
    let t: Words
    let zone: TimeZoneTable

    init(_ request: ConsoleRequest, _ visitor: Visitor, _ desk: ConsoleDesk) {
        self.request = request
        self.visitor = visitor
        view = desk.view
        feed = desk.feed
        gate = desk.gate
        jobs = desk.jobs
        t = Words(language: Language(request))
        zone = request.cookie("bellhop_zone").flatMap { ZoneFiles.zone(PercentText.decoded($0[...])) } ?? view.zone
    }

    /// A use of the API for this page.
    func call(_ query: [(name: String, value: String)] = [], path: [String: String] = [:], body: JSON = .null) -> Call {
        Call(self, query: query.filter { !$0.value.isEmpty }, path: path, body: body)
    }

    /// The mistake in a search, for the page with its form.
    ///
    /// - Throws: any other problem.
    func complaint(_ problem: Problem) throws(Problem) -> HTML {
        guard problem.status == 422 else { throw problem }
        return "<p class=\"bad\" role=\"alert\">\(t.sentence(problem.detail))</p>"
    }

    /// What a search says about those for which its condition failed.
    func note(_ failures: SearchFailures) -> HTML {
        failures.count == 0
            ? ""
            : "<p class=\"bad\" role=\"status\">\(t("Left out, because the condition failed:")) \(failures.count). \(failures.error)</p>"
    }

    func may(_ role: ConsoleRole) -> Bool { visitor.role.includes(role) }

    /// A field that proves that a form is from this page.
    var formToken: HTML { "<input type=\"hidden\" name=\"form_token\" value=\"\(visitor.session?.formToken ?? "")\">" }

    /// A moment, in the visitor's zone.
    func time(_ json: JSON?) -> HTML {
        guard let text = json?.asString else { return "" }
        guard let moment = Timestamp(rfc3339: text) else { return "\(text)" }
        return time(moment)
    }

    func time(_ moment: Timestamp) -> HTML {
        let local = zone.local(moment)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "<time datetime=\"\(moment.rfc3339)\">\(local.year)-\(two(local.month))-\(two(local.day)) \(two(local.hour)):\(two(local.minute)):\(two(local.second))</time>"
    }

    /// The date of a moment, in the visitor's zone.
    func day(_ moment: Timestamp) -> String {
        let local = zone.local(moment)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(local.year)-\(two(local.month))-\(two(local.day))"
    }

    /// The time of day of a moment.
    func clock(_ moment: Timestamp) -> HTML {
        let local = zone.local(moment)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "<time datetime=\"\(moment.rfc3339)\">\(two(local.hour)):\(two(local.minute))</time>"
    }

    func state(_ name: String) -> HTML { "<span class=\"state \(Self.tone(name))\">\(t(name))</span>" }

    /// Why a receiver gets nothing now, and until when; nil if it gets what is due.
    func stop(_ stop: JSON) -> HTML? {
        guard let cause = stop["cause"]?.asString.flatMap(ReceiverStop.Cause.init) else { return nil }
        let name =
            switch cause {
            case .rest: t("rests")
            case .failures: t("failing")
            case .refusal, .person: t("paused")
            }
        let until: HTML = stop["until"]?.asString == nil ? "" : " \(t("until")) \(time(stop["until"]))"
        return "<strong class=\"\(cause == .rest ? "plain" : "bad" as HTML)\">\(name)</strong>\(until) \(stop["why"].text)"
    }

    static func tone(_ state: String) -> HTML {
        switch state {
        case "dead", "failing", "held", "failed": "bad"
        case "done", "fine", "live": "good"
        default: "plain"
        }
    }

    func link(_ path: String..., text: String) -> HTML {
        "<a href=\"/\(path.map(PercentText.encoded).joined(separator: "/"))\">\(text)</a>"
    }

    /// A button that does something, in a form of its own.
    func button(_ action: String, _ text: String, fields: [(String, String)] = [], isDangerous: Bool = false) -> HTML {
        let hidden = fields.map { name, value -> HTML in "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">" }
        return
            "<form class=\"act\" method=\"post\" action=\"\(action)\">\(formToken)\(hidden)<button\(isDangerous ? " class=\"danger\"" : "" as HTML)>\(text)</button></form>"
    }

    /// A table whose rows become blocks on narrow screens; `data-label` names the columns there.
    func table(_ caption: String, _ columns: [String], _ rows: [[HTML]]) -> HTML {
        if rows.isEmpty { return "<p class=\"none\">\(t("None."))</p>" }
        let heads = columns.map { name -> HTML in "<th scope=\"col\">\(name)</th>" }
        let lines = rows.map { row -> HTML in
            let cells = zip(columns, row).map { name, cell -> HTML in "<td data-label=\"\(name)\">\(cell)</td>" }
            return "<tr>\(cells)</tr>"
        }
        return
            "<table><caption class=\"quiet\">\(caption)</caption><thead><tr>\(heads)</tr></thead><tbody>\(lines)</tbody></table>"
    }

    /// Names and values.
    func facts(_ facts: [(String, HTML?)]) -> HTML {
        let shown = facts.compactMap { name, value -> HTML? in value.map { "<dt>\(name)</dt><dd>\($0)</dd>" } }
        return "<dl>\(shown)</dl>"
    }
}

extension JSON? {
    var text: String { self?.asString ?? "" }
    var shown: String { self?.asString ?? self?.asInt.map(String.init) ?? "" }
}
