import BellhopAgent
import BellhopCore

/// What a page is made with.
struct PageContext: Sendable {
    let request: ConsoleRequest
    let visitor: Visitor
    let view: AgentView
    let feed: LiveFeed
    let t: Words
    let zone: TimeZoneTable

    init(_ request: ConsoleRequest, _ visitor: Visitor, _ view: AgentView, _ feed: LiveFeed) {
        self.request = request
        self.visitor = visitor
        self.view = view
        self.feed = feed
        t = Words(language: Language(request))
        zone = request.cookie("bellhop_zone").flatMap { AgentView.zone(named: PercentText.decoded($0[...])) } ?? view.zone
    }

    /// A use of the API for this page.
    func call(_ query: [(name: String, value: String)] = [], path: [String: String] = [:], body: JSON = .null) -> Call {
        Call(view, feed, request, visitor, query: query.filter { !$0.value.isEmpty }, path: path, body: body)
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

    func state(_ name: String) -> HTML { "<span class=\"state \(Self.tone(name))\">\(t(name))</span>" }

    private static func tone(_ state: String) -> String {
        switch state {
        case "dead", "failing", "held": "bad"
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
