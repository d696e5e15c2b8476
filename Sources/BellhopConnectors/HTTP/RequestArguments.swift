import BellhopCore

/// A request as settings describe it: method, header fields, query and body. All steps and sources share these settings.
struct RequestArguments: Sendable, Hashable {
    /// The reason why the settings do not describe a valid request.
    struct Problem: Error, Sendable, Hashable {
        var setting: String
        /// One sentence.
        var message: String

        init(_ setting: String, _ message: String) { (self.setting, self.message) = (setting, message) }

        var failure: Failure { Failure.badArguments(message) }
    }

    var method: String
    var headers: HeaderFields
    var query: [(String, String)] { queryPairs.map { ($0.name, $0.value) } }
    /// Nil for a request without a body.
    var body: [UInt8]?
    var timeout: Duration?
    private var queryPairs: [HeaderFields.Field]

    static let methods = ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"]

    /// - Parameters:
    ///   - method: the default method.
    ///   - methods: the allowed methods.
    ///   - taken: further header fields that the settings must not set, in lower case.
    init(
        _ arguments: JSON.Object, method fallback: String, of methods: [String] = Self.methods, taken: [String] = []
    ) throws(Problem) {
        let settings = Settings(arguments)
        method = settings.text("method") ?? fallback
        guard methods.contains(method) else {
            throw Problem("method", "`\(DisplayText.line(method))` is not a method: use \(methods.joined(separator: ", ")).")
        }
        headers = try Self.headers(arguments["headers"], taken)
        queryPairs = Self.pairs(arguments["query"]).map { HeaderFields.Field($0.0, $0.1) }
        timeout = settings.duration("timeout")
        let mayHaveBody = method != "GET" && method != "HEAD"
        if let content = try Self.content(arguments) {
            guard mayHaveBody else {
                throw Problem(content.name, "A \(method) request has no body: use `query`, or another method.")
            }
            if headers["Content-Type"] == nil { headers["Content-Type"] = content.type }
            body = content.bytes
        } else {
            body = mayHaveBody ? [] : nil
        }
    }

    /// The settings for a body, at most one of which may be given.
    static let bodies = ["json", "form", "text", "data"]

    /// The settings besides the method and the address.
    /// - Parameter headers: the type of the values of header fields.
    static func settings(headers: SettingType) -> [Setting] {
        [
            Setting(
                "headers", .map(headers), refusedNames: HeaderFields.reserved,
                "Header fields, in addition to the connection's."),
            Setting("query", .map(.json), "Query parameters; a list gives one parameter per element."),
            Setting("form", .map(.json), "A form body (URL-encoded)."),
            Setting("json", .json, "A JSON body; templates keep their types."),
            Setting("text", .text, "A plain text body."),
            Setting("data", .text, "A binary body, in Base64."),
            Setting("timeout", .duration, least: "1ms", "The time limit, including the answer; by default the connection's."),
        ]
    }

    /// The request to an address, with further query parameters appended.
    func request(to address: HTTPAddress, adding more: [(String, String)] = [], notAfter: Timestamp? = nil) -> HTTPRequest {
        HTTPRequest(method, address.adding(query + more), headers: headers, body: body, timeout: timeout, notAfter: notAfter)
    }

    /// Replaces control characters in values with spaces, which prevents header injection.
    private static func headers(_ value: JSON?, _ taken: [String]) throws(Problem) -> HeaderFields {
        var headers: HeaderFields = [:]
        for (name, value) in value?.asObject ?? [:] {
            guard HeaderFields.isName(name) else {
                throw Problem("headers", "`\(DisplayText.line(name))` cannot be the name of a header field.")
            }
            if let reason = HeaderFields.reserved[ASCII.lowercased(name)] {
                throw Problem("headers", "The header field `\(name)` cannot be set: \(reason).")
            }
            guard !taken.contains(ASCII.lowercased(name)) else {
                throw Problem("headers", "The header field `\(name)` belongs to the connection and cannot be set.")
            }
            let bytes = words(value).utf8.map { $0 < 0x20 || $0 == 0x7f ? 0x20 : $0 }
            headers.add(name, String(ASCII.trimmed(String(decoding: bytes, as: UTF8.self))))
        }
        return headers
    }

    /// The body and its type. Null settings count as missing.
    private static func content(_ arguments: JSON.Object) throws(Problem) -> (name: String, bytes: [UInt8], type: String)? {
        let given = bodies.filter { arguments[$0]?.isNull == false }
        guard given.count <= 1 else {
            throw Problem(given[1], "A request has one body: give one of `json`, `form`, `text` and `data`.")
        }
        guard let name = given.first, let value = arguments[name] else { return nil }
        switch name {
        case "json": return (name, value.encoded(), "application/json")
        case "form": return (name, Array(PercentEncoding.query(pairs(value)).utf8), "application/x-www-form-urlencoded")
        case "data":
            guard let bytes = Base64.decode(words(value).filter { !$0.isWhitespace }) else {
                throw Problem("data", "`data` must be the Base64 of the body's bytes; this is not valid Base64.")
            }
            return (name, bytes, "application/octet-stream")
        default: return (name, Array(words(value).utf8), "text/plain; charset=utf-8")
        }
    }

    /// A list gives one pair per element; null gives none.
    static func pairs(_ value: JSON?) -> [(String, String)] {
        (value?.asObject ?? [:]).flatMap { name, value -> [(String, String)] in
            switch value {
            case .null: []
            case .array(let items): items.map { (name, words($0)) }
            default: [(name, words(value))]
            }
        }
    }

    /// A value as text: a string as is, null as empty, anything else as JSON.
    static func words(_ value: JSON) -> String {
        switch value {
        case .string(let text): text
        case .null: ""
        default: value.text
        }
    }
}

extension HTTPAddress {
    /// The address with parameters appended.
    func adding(_ pairs: [(String, String)]) -> HTTPAddress {
        if pairs.isEmpty { return self }
        let joint = !target.contains("?") ? "?" : target.last == "?" || target.last == "&" ? "" : "&"
        return with(target: target + joint + PercentEncoding.query(pairs))
    }

    /// The address with parameters that replace those with the same names.
    func setting(_ pairs: [(String, String)]) -> HTTPAddress {
        let names = Set(pairs.map(\.0))
        let query = target.drop { $0 != "?" }.dropFirst()
        let kept = query.split(separator: "&").filter { pair in
            !names.contains(PercentEncoding.decode(pair.prefix { $0 != "=" }, plusIsSpace: true))
        }
        let base = with(target: path + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&")))
        return base.adding(pairs)
    }
}
