import BellhopCore

struct ConsoleRequest: Sendable {
    var method: String
    /// The parts of the path, decoded.
    var path: [String]
    /// The names and values after `?`, decoded.
    var query: [(name: String, value: String)]
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// The client's address.
    var peer: String

    init(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [], peer: String = ""
    ) {
        self.method = method
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = (halves.first ?? "").split(separator: "/").map { PercentEncoding.decode($0) }
        query = halves.count == 2 ? PercentEncoding.pairs(halves[1]) : []
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

    /// The tag of `If-Match`, without its quotes; nil without the field, or if it has several tags or `*`.
    var matchTag: String? {
        guard let field = header("if-match"), field.count > 2, field.hasPrefix("\""), field.hasSuffix("\"") else { return nil }
        let tag = field.dropFirst().dropLast()
        return tag.contains("\"") ? nil : String(tag)
    }

    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    func cookie(_ name: String) -> String? {
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in CookieHeader.pairs(header.value) where pair.name == name { return String(pair.value) }
        }
        return nil
    }

    /// The fields of a form that a browser sent.
    var form: [(name: String, value: String)] {
        guard header("content-type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true else { return [] }
        return PercentEncoding.pairs(Substring(decoding: body, as: UTF8.self))
    }

    func field(_ name: String) -> String? { form.first { $0.name == name }?.value }

    /// The text in a form's field. Browsers send line ends as CRLF.
    func entered(_ name: String) -> String { (field(name) ?? "").replacing("\r\n", with: "\n") }

    var wantsPage: Bool { path.first != "api" && !TelemetryHandler.serves(self) }
}

/// A path with the names of its parameters in braces, such as `/rules/{rule}`.
enum PathPattern {
    /// The values of the parameters; nil if the path does not match.
    static func values(_ pattern: String, in parts: some Collection<String>) -> [String: String]? {
        let pattern = pattern.split(separator: "/")
        guard pattern.count == parts.count else { return nil }
        var values: [String: String] = [:]
        for (part, text) in zip(pattern, parts) {
            if part.hasPrefix("{") {
                values[String(part.dropFirst().dropLast())] = text
            } else if part != text {
                return nil
            }
        }
        return values
    }
}
