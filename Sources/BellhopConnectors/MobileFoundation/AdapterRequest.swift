import BellhopCore

/// What is asked of an adapter, a resource outside or a back-end service: all that a resource request of Mobile Foundation can say.
struct AdapterRequest: Sendable, Hashable {
    /// Whom it is for.
    enum Target: Sendable, Hashable {
        /// An adapter and what follows its name.
        case adapter(String, path: String)
        /// A service of the API connector and the path below its own address.
        case service(String, path: String)
        /// An address outside.
        case outside(HTTPAddress)
    }

    var method: String
    var target: Target
    var query: [(String, String)]
    var headers: HeaderFields
    var body: [UInt8]?
    var timeout: Duration?
    /// The scopes that the settings name; nil where the server is to say.
    var scopes: Set<String>?

    static let methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
    private static let reserved = [
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "authorization", "cookie",
    ]

    /// Why there is no such request; one sentence.
    struct Problem: Error {
        var setting: String
        var message: String

        init(_ setting: String, _ message: String) {
            self.setting = setting
            self.message = message
        }
    }

    /// - Parameter fallback: the method where none is named.
    init(_ arguments: JSON.Object, method fallback: String) throws(Problem) {
        let settings = Settings(arguments)
        method = settings.text("method") ?? fallback
        guard Self.methods.contains(method) else { throw Problem("method", "`\(DisplayText.line(method))` is no method.") }
        target = try Self.target(settings)
        query = Self.pairs(arguments["query"])
        headers = try Self.headers(arguments["headers"])
        timeout = settings.duration("timeout")
        let scopes = settings.texts("scope").flatMap { $0.split(separator: " ").map(String.init) }
        self.scopes = scopes.isEmpty ? nil : Set(scopes)
        var form = arguments["form"].map(Self.pairs)
        if settings.text("procedure") != nil {
            let params = try Self.params(arguments["params"])
            switch method {
            case "GET": query.append(("params", params))
            case "POST": form = (form ?? []) + [("params", params)]
            default: throw Problem("method", "A procedure is called by GET or POST.")
            }
        } else if let params = arguments["params"], !params.isNull {
            throw Problem("params", "`params` are for a `procedure`; a path has `query`, `form` or a body.")
        }
        try addBody(arguments, form)
    }

    private mutating func addBody(_ arguments: JSON.Object, _ form: [(String, String)]?) throws(Problem) {
        let given = ["text", "json", "data"].filter { arguments[$0].map { !$0.isNull } ?? false }
        guard given.count + (form == nil ? 0 : 1) <= 1 else {
            throw Problem(given.first ?? "form", "A request has one body: give one of `form`, `text`, `json` and `data`.")
        }
        guard form != nil || !given.isEmpty else { return }
        guard method != "GET" else {
            throw Problem(given.first ?? "form", "A GET request has no body: use `query`, or another method.")
        }
        let type: String
        if let form {
            body = Array(PercentEncoding.query(form).utf8)
            type = "application/x-www-form-urlencoded"
        } else if let json = arguments["json"] {
            body = json.encoded()
            type = "application/json"
        } else if let text = arguments["text"] {
            body = Array(ItemValue.text(text).utf8)
            type = "text/plain; charset=utf-8"
        } else {
            guard let bytes = Base64.decode(ItemValue.text(arguments["data"])) else {
                throw Problem("data", "`data` is bytes in Base64.")
            }
            body = bytes
            type = "application/octet-stream"
        }
        if headers["Content-Type"] == nil { headers["Content-Type"] = type }
    }

    private static func target(_ settings: Settings) throws(Problem) -> Target {
        let (adapter, service, address) = (settings.text("adapter"), settings.text("service"), settings.text("address"))
        switch (adapter, service, address) {
        case (let adapter?, nil, nil):
            guard isName(adapter) else { throw Problem("adapter", "`\(DisplayText.line(adapter))` is no name of an adapter.") }
            guard let procedure = settings.text("procedure") else { return .adapter(adapter, path: try path(settings)) }
            guard settings.values["path"] == nil else {
                throw Problem("path", "A JavaScript adapter has a `procedure`, a Java adapter a `path`: give one of them.")
            }
            guard isName(procedure) else {
                throw Problem("procedure", "`\(DisplayText.line(procedure))` is no name of a procedure.")
            }
            return .adapter(adapter, path: procedure)
        case (nil, let service?, nil):
            guard isName(service) else { throw Problem("service", "`\(DisplayText.line(service))` is no name of a service.") }
            return .service(service, path: try path(settings))
        case (nil, nil, let address?):
            do throws(HTTPAddress.Problem) {
                return .outside(try HTTPAddress(ASCII.trimmed(address)))
            } catch {
                throw Problem("address", error.message)
            }
        default: throw Problem("adapter", "Name one of `adapter`, `service` and `address`.")
        }
    }

    /// A path as it is written, or made of parts: each part of a list is one step, whatever characters it has.
    private static func path(_ settings: Settings) throws(Problem) -> String {
        let path: String
        if let parts = settings.values["path"]?.asArray {
            path = parts.map { PercentEncoding.encode(ItemValue.text($0)) }.joined(separator: "/")
        } else {
            path = String(ItemValue.text(settings.values["path"]).drop { $0 == "/" })
        }
        guard !path.contains("?"), !path.contains("#") else { throw Problem("path", "A path has no `?` or `#`: use `query`.") }
        let steps = PercentEncoding.decode(path).split(separator: "/", omittingEmptySubsequences: false)
        guard !steps.contains(".."), !steps.contains(".") else { throw Problem("path", "A path has no steps `.` and `..`.") }
        return path
    }

    /// The arguments of a procedure, in order, as strict JSON.
    private static func params(_ value: JSON?) throws(Problem) -> String {
        switch value {
        case nil, .null?: return "[]"
        case .array?: return value?.text ?? "[]"
        default: throw Problem("params", "`params` is a list: the arguments of the procedure in their order.")
        }
    }

    private static func headers(_ value: JSON?) throws(Problem) -> HeaderFields {
        var headers: HeaderFields = [:]
        for (name, value) in value?.asObject ?? [:] {
            guard HeaderFields.isName(name), !reserved.contains(ASCII.lowercased(name)) else {
                throw Problem("headers", "The header field `\(DisplayText.line(name))` cannot be set.")
            }
            // Control characters become blanks, so that no inserted text can add a field of its own.
            let bytes = ItemValue.text(value).utf8.map { $0 < 0x20 || $0 == 0x7f ? 0x20 : $0 }
            headers.add(name, String(ASCII.trimmed(String(decoding: bytes, as: UTF8.self))))
        }
        return headers
    }

    /// A name with a list has one pair for each of its elements; one with null has none.
    private static func pairs(_ value: JSON?) -> [(String, String)] {
        (value?.asObject ?? [:]).flatMap { name, value -> [(String, String)] in
            switch value {
            case .null: []
            case .array(let items): items.map { (name, ItemValue.text($0)) }
            default: [(name, ItemValue.text(value))]
            }
        }
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-_.".utf8.contains($0) } && text != "."
            && text != ".."
    }

    static func == (left: Self, right: Self) -> Bool { left.facts == right.facts }
    func hash(into hasher: inout Hasher) { hasher.combine(facts) }

    /// The request in texts that are the same for the same request.
    var facts: [String] {
        let name =
            switch target {
            case .adapter(let name, let path): "adapter \(name) \(path)"
            case .service(let name, let path): "service \(name) \(path)"
            case .outside(let address): "outside \(address.text)"
            }
        let pairs = query.map { "\($0.0)=\($0.1)" } + headers.fields.map { "\($0.name): \($0.value)" }
        return [method, name] + pairs + [String(decoding: body ?? [], as: UTF8.self)]
    }

    /// What can be read from settings and arguments alike.
    static let settings: [Setting] = [
        Setting("adapter", .name, "The adapter's name."),
        Setting(
            "path", .either([.text, .list(.text)]), "The path below a Java adapter or a service; each part of a list is one step."
        ),
        Setting("procedure", .name, "The procedure of a JavaScript adapter."),
        Setting("params", .json, "The procedure's arguments, a list in their order."),
        Setting("service", .name, "A back-end service of the API connector, instead of an adapter."),
        Setting(
            "address", .text, "The whole address of a resource outside, of a server that the connection lists under `external`."),
        Setting("query", .map(.json), "Query parameters; a list gives one each."),
        Setting("form", .map(.json), "A body as HTML forms send it."),
        Setting("headers", .map(.text), "Header fields, besides those of the connection."),
        Setting("json", .json, "A body in JSON."),
        Setting("text", .text, "A body of plain text."),
        Setting("data", .text, "A body of bytes, in Base64."),
        Setting("scope", .list(.text), "The scopes that its token needs; by default those that the server asks for."),
    ]
}
