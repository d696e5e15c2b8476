import BellhopCore

/// The request that a step of kind `webhook` asks for, made from its arguments.
struct WebhookCall: Sendable, Hashable {
    var request: HTTPRequest
    var expected: StatusSet
    /// Whether the step wants a signature; nil when it does not say.
    var sign: Bool?

    static let methods = ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"]
    /// Fields that the exchange itself decides.
    private static let reserved = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"]

    /// - Parameter address: where it goes, before `query`.
    init(_ arguments: JSON.Object, to address: HTTPAddress, delivery: Delivery) throws(Failure) {
        let settings = Settings(arguments)
        let method = settings.text("method") ?? "POST"
        guard Self.methods.contains(method) else {
            throw Self.wrong("`\(method)` is no method; there is \(Self.methods.joined(separator: ", ")).")
        }
        var headers = try Self.headers(arguments["headers"])
        headers["webhook-id"] = delivery.id.text
        let content = try Self.content(arguments)
        if let content {
            guard method != "GET", method != "HEAD" else {
                throw Self.wrong("A \(method) request has no body: use `query`, or another method.")
            }
            if headers["Content-Type"] == nil { headers["Content-Type"] = content.type }
        }
        request = HTTPRequest(
            method, try Self.adding(arguments["query"], to: address), headers: headers,
            body: content?.bytes ?? (method == "GET" || method == "HEAD" ? nil : []), timeout: settings.duration("timeout"),
            notAfter: delivery.expires)
        if let expect = arguments["expect"], !expect.isNull {
            guard let statuses = StatusSet(expect) else {
                throw Self.wrong("`expect` lists statuses such as 204, or classes of them such as 2xx.")
            }
            expected = statuses
        } else {
            expected = .success
        }
        sign = settings.boolean("sign")
    }

    private static func wrong(_ message: String) -> Failure { Failure(.badArguments, .giveUp, message) }

    /// A value's control characters become blanks, so that no inserted text can add a field of its own.
    private static func headers(_ value: JSON?) throws(Failure) -> HeaderFields {
        var headers: HeaderFields = [:]
        for (name, value) in value?.asObject ?? [:] {
            guard HeaderFields.isName(name) else {
                throw wrong("`\(DisplayText.line(name))` cannot be the name of a header field.")
            }
            guard !reserved.contains(ASCII.lowercased(name)) else {
                throw wrong("The header field `\(name)` belongs to HTTP itself and cannot be set.")
            }
            let bytes = words(value).utf8.map { $0 < 0x20 || $0 == 0x7f ? 0x20 : $0 }
            headers.add(name, String(ASCII.trimmed(String(decoding: bytes, as: UTF8.self))))
        }
        return headers
    }

    private static func content(_ arguments: JSON.Object) throws(Failure) -> (bytes: [UInt8], type: String)? {
        let given = ["json", "form", "text"].filter { arguments[$0] != nil }
        guard given.count <= 1 else { throw wrong("A request has one body: give one of `json`, `form` and `text`.") }
        guard let name = given.first, let value = arguments[name] else { return nil }
        switch name {
        case "json": return (value.encoded(), "application/json")
        case "form": return (Array(PercentEncoding.query(pairs(value)).utf8), "application/x-www-form-urlencoded")
        default: return (Array(words(value).utf8), "text/plain; charset=utf-8")
        }
    }

    private static func adding(_ query: JSON?, to address: HTTPAddress) throws(Failure) -> HTTPAddress {
        let pairs = pairs(query ?? .null)
        if pairs.isEmpty { return address }
        let joint = !address.target.contains("?") ? "?" : address.target.last == "?" || address.target.last == "&" ? "" : "&"
        return address.with(target: address.target + joint + PercentEncoding.query(pairs))
    }

    /// A name with a list has one pair for each of its elements; one with null has none.
    private static func pairs(_ value: JSON) -> [(String, String)] {
        (value.asObject ?? [:]).flatMap { name, value -> [(String, String)] in
            switch value {
            case .null: []
            case .array(let items): items.map { (name, words($0)) }
            default: [(name, words(value))]
            }
        }
    }

    private static func words(_ value: JSON) -> String {
        switch value {
        case .string(let text): text
        case .null: ""
        default: value.text
        }
    }
}
