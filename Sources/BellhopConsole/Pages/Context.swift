import BellhopAgent
import BellhopCore
import BellhopRules

/// The request, the visitor and the data for a page.
struct PageContext: Sendable {
    let request: ConsoleRequest
    let visitor: Visitor
    let handler: ConsoleHandler
    let t: Words
    let zone: TimeZoneTable

    var view: AgentView { handler.view }
    var jobs: BackTestJobs { handler.jobs }

    init(_ request: ConsoleRequest, _ visitor: Visitor, _ handler: ConsoleHandler) {
        self.request = request
        self.visitor = visitor
        self.handler = handler
        t = Words(language: Language(request))
        let zone = request.cookie("bellhop_zone").flatMap { ZoneFiles.zone(PercentEncoding.decode($0)) }
        self.zone = zone ?? handler.view.zone
    }

    func call(_ query: [(name: String, value: String)] = [], path: [String: String] = [:], body: JSON = .null) -> Call {
        Call(self, query: query.filter { !$0.value.isEmpty }, path: path, body: body)
    }

    /// - Parameter own: names in the address that are the page's own.
    /// - Throws: 400 if the page's address has a filter or a position that this operation of the API refuses.
    func checkQuery(of id: String, besides own: [String] = []) throws(Problem) {
        guard let operation = Operations.all.first(where: { $0.id == id }) else { preconditionFailure("no operation \(id)") }
        // Forms send empty values for empty fields.
        try operation.check(request.query.filter { !$0.value.isEmpty && !own.contains($0.name) })
    }

    /// The message about a mistake in a search's filters, to be shown beside the form.
    ///
    /// - Throws: any other problem.
    func complaint(_ problem: Problem) throws(Problem) -> HTML {
        guard problem.status == 422 || problem.status == 400 else { throw problem }
        return "<p class=\"bad\" role=\"alert\">\(t.sentence(problem.detail))</p>"
    }

    /// A note about the rows that a search left out because its condition failed.
    func note(_ failures: SearchFailures) -> HTML {
        failures.count == 0
            ? ""
            : "<p class=\"bad\" role=\"status\">\(t("Left out, because the condition failed:")) \(failures.count). \(failures.error)</p>"
    }

    /// The values of a search's form.
    func filters(_ names: String...) -> [(name: String, value: String)] {
        request.query.filter { names.contains($0.name) && !$0.value.isEmpty }
    }

    /// A link to the next page of a list; empty without a next page.
    ///
    /// - Parameter address: the address up to the place where the page begins.
    func nextPage(_ address: HTML, _ place: String?, _ text: String) -> HTML {
        guard let place else { return "" }
        return "<p><a rel=\"next\" href=\"\(address)\(place)\">\(text)</a></p>"
    }

    func may(_ role: ConsoleRole) -> Bool { visitor.role.includes(role) }

    var formToken: HTML { "<input type=\"hidden\" name=\"form_token\" value=\"\(visitor.session?.formToken ?? "")\">" }

    /// A sentence of the agent in the visitor's language, with its times in the visitor's zone.
    func sentence(_ english: String) -> String { t.sentence(english).withLocalTimes(in: zone, ofAnyOffset: true) }

    /// A moment, in the visitor's zone.
    func time(_ json: JSON?) -> HTML {
        guard let text = json?.asString else { return "" }
        guard let moment = Timestamp(rfc3339: text) else { return "\(text)" }
        return time(moment)
    }

    func time(_ moment: Timestamp) -> HTML {
        "<time datetime=\"\(moment.rfc3339)\">\(zone.dateAndClock(moment))</time>"
    }

    /// The date of a moment, in the visitor's zone.
    func day(_ moment: Timestamp) -> String {
        let local = zone.local(moment)
        return "\(local.year)-\(local.month.twoDigits)-\(local.day.twoDigits)"
    }

    /// The time of day of a moment.
    func clock(_ moment: Timestamp) -> HTML {
        let local = zone.local(moment)
        return "<time datetime=\"\(moment.rfc3339)\">\(local.hour.twoDigits):\(local.minute.twoDigits)</time>"
    }

    func state(_ name: String) -> HTML { "<span class=\"state \(Self.tone(name))\">\(t(name))</span>" }

    /// The state of a delivery; of one that joined others, the state of these.
    func state(of delivery: JSON) -> HTML {
        state(delivery["state"].textOrEmpty, delivery["joined"].flatMap(JoinedDelivery.init(json:)))
    }

    func state(_ name: String, _ joined: JoinedDelivery?) -> HTML {
        guard let joined else { return state(name) }
        let state = joined.state?.rawValue ?? "gone"
        return "<span class=\"state \(Self.tone(state))\">\(t("joined")): \(t(state))</span>"
    }

    /// Why a receiver gets no deliveries now, or a write to a task waits, and until when; nil if neither.
    func stop(_ stop: JSON) -> HTML? {
        let cause = stop["cause"].textOrEmpty
        let name: String
        switch ReceiverStop.Cause(rawValue: cause) {
        case .rest: name = t("rests")
        case .failures: name = t("failing")
        case .refusal, .person: name = t("paused")
        case nil:
            guard cause == "writes" else { return nil }
            name = t("Writes to tasks are paused.")
        }
        let until: HTML = stop["until"]?.asString == nil ? "" : " \(t("until")) \(time(stop["until"]))"
        return
            "<strong class=\"\(cause == ReceiverStop.Cause.rest.rawValue ? "plain" : "bad" as HTML)\">\(name)</strong>\(until) \(sentence(stop["reason"].textOrEmpty))"
    }

    static func tone(_ state: String) -> HTML {
        switch state {
        case "dead", "failing", "held", "failed": "bad"
        case "done", "fine", "live": "good"
        default: "plain"
        }
    }

    func link(_ path: String..., text: String) -> HTML {
        "<a href=\"/\(path.map { PercentEncoding.encode($0) }.joined(separator: "/"))\">\(text)</a>"
    }

    /// A link to a task's page, by its number or, without one, by its id; empty without both.
    func taskLink(_ number: String, or id: String = "") -> HTML {
        let name = number.isEmpty ? id : number
        return name.isEmpty ? "" : link("tasks", name, text: name)
    }

    /// A link to the page of a delivery's task; empty without a task.
    func taskLink(of delivery: JSON) -> HTML {
        taskLink(delivery["task"]?["number"].textOrEmpty ?? "", or: delivery["task"]?["id"].textOrEmpty ?? "")
    }

    func ruleLink(_ name: String) -> HTML { link("rules", name, text: name) }

    /// A form that is only a button.
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

    /// A list of names and values; nil values are left out.
    func facts(_ facts: [(String, HTML?)]) -> HTML {
        let shown = facts.compactMap { name, value -> HTML? in value.map { "<dt>\(name)</dt><dd>\($0)</dd>" } }
        return "<dl>\(shown)</dl>"
    }
}

extension JSON? {
    var shown: String { self?.asString ?? self?.asInt.map(String.init) ?? "" }
}
