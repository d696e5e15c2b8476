import BellhopCore

/// A request to an adapter, an external resource or a back-end service, with everything that a resource request of Mobile Foundation
/// can have.
struct AdapterRequest: Sendable, Hashable {
    enum Target: Sendable, Hashable {
        /// An adapter and the path after its name.
        case adapter(String, path: String)
        /// A service of the API connector and the path below its address.
        case service(String, path: String)
        case outside(HTTPAddress)
    }

    var target: Target
    var arguments: RequestArguments
    /// The scopes in the settings; nil to use those that the server requires.
    var scopes: Set<String>?

    var method: String { arguments.method }

    static let methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
    /// Header fields that the connection sets.
    private static let taken = ["authorization", "cookie"]

    typealias Problem = RequestArguments.Problem

    /// - Parameter fallback: the default method.
    init(_ arguments: JSON.Object, method fallback: String) throws(Problem) {
        let settings = Settings(arguments)
        target = try Self.target(settings)
        let scopes = settings.texts("scope").flatMap { $0.split(separator: " ").map(String.init) }
        self.scopes = scopes.isEmpty ? nil : Set(scopes)
        var arguments = arguments
        if settings.text("procedure") != nil {
            let place: String
            switch settings.text("method") ?? fallback {
            case "GET": place = "query"
            case "POST": place = "form"
            default: throw Problem("method", "A procedure is called by GET or POST.")
            }
            var pairs = arguments[place]?.asObject ?? [:]
            pairs["params"] = .string(try Self.params(arguments["params"]))
            arguments[place] = .object(pairs)
        } else if let params = arguments["params"], !params.isNull {
            throw Problem("params", "Only a `procedure` has `params`; with a `path`, use `query`, `form` or a body.")
        }
        self.arguments = try RequestArguments(arguments, method: fallback, of: Self.methods, taken: Self.taken)
    }

    private static func target(_ settings: Settings) throws(Problem) -> Target {
        let (adapter, service, address) = (settings.text("adapter"), settings.text("service"), settings.text("address"))
        switch (adapter, service, address) {
        case (let adapter?, nil, nil):
            guard isName(adapter) else { throw Problem("adapter", "`\(DisplayText.line(adapter))` is not an adapter name.") }
            guard let procedure = settings.text("procedure") else { return .adapter(adapter, path: try path(settings)) }
            guard settings.values["path"] == nil else {
                throw Problem("path", "A JavaScript adapter has a `procedure`, a Java adapter a `path`: give one of them.")
            }
            guard isName(procedure) else {
                throw Problem("procedure", "`\(DisplayText.line(procedure))` is not a procedure name.")
            }
            return .adapter(adapter, path: procedure)
        case (nil, let service?, nil):
            guard isName(service) else { throw Problem("service", "`\(DisplayText.line(service))` is not a service name.") }
            return .service(service, path: try path(settings))
        case (nil, nil, let address?):
            return try rethrowing(as: { Problem("address", $0.message) }) { () throws(InvalidValue) in
                .outside(try HTTPAddress(ASCII.trimmed(address)))
            }
        default: throw Problem("adapter", "Name one of `adapter`, `service` and `address`.")
        }
    }

    private static func path(_ settings: Settings) throws(Problem) -> String {
        try rethrowing(as: { Problem("path", $0.message) }) { () throws(InvalidValue) in
            let path = try InnerPath.text(settings.values["path"])
            guard !path.contains("?"), !path.contains("#") else {
                throw InvalidValue(message: "A path must not contain `?` or `#`: use `query`.")
            }
            return String(path.drop { $0 == "/" })
        }
    }

    /// The arguments of a procedure, in order, as strict JSON.
    private static func params(_ value: JSON?) throws(Problem) -> String {
        switch value {
        case nil, .null?: return "[]"
        case .array(let arguments)?: return JSON.array(arguments).text
        default: throw Problem("params", "`params` is a list: the arguments of the procedure in their order.")
        }
    }

    private static func isName(_ text: String) -> Bool {
        ASCII.isName(text, of: 1..., with: "-_.") && text != "." && text != ".."
    }

    /// Texts that identify the request.
    var facts: [String] {
        let name =
            switch target {
            case .adapter(let name, let path): "adapter \(name) \(path)"
            case .service(let name, let path): "service \(name) \(path)"
            case .outside(let address): "outside \(address.text)"
            }
        let pairs = arguments.query.map { "\($0.0)=\($0.1)" } + arguments.headers.fields.map { "\($0.name): \($0.value)" }
        return [method, name] + pairs + [String(decoding: arguments.body ?? [], as: UTF8.self)]
    }

    static let settings: [Setting] =
        [
            Setting("adapter", .name, "The adapter's name.", example: "adapter: tasks"),
            Setting(
                "path", .either([.target, .list(.text)]),
                "The path below a Java adapter or a service; each element of a list is one path segment."
            ),
            Setting("procedure", .name, "The procedure of a JavaScript adapter."),
            Setting("params", .json, "The procedure's arguments, as a list in order."),
            Setting("service", .name, "A back-end service of the API connector, instead of an adapter."),
            Setting(
                "address", .text,
                "The full address of a resource on another server, which the connection lists in `external`."),
        ] + RequestArguments.settings(headers: .text) + [
            Setting("scope", .list(.text), "The scopes that the token needs; by default those that the server requires.")
        ]
}

/// The answer of an adapter or a resource. A JavaScript adapter answers 200 even if its back end failed.
struct AdapterReply: Sendable {
    var response: HTTPResponse
    /// The sender, for messages. It contains no secret.
    var place: String
    /// The texts that error messages and receipts must not contain.
    var secrets: [String] = []
    /// False for the answer of an external server, which says nothing about the runtime.
    var isOwn = true

    /// The failure; nil for a success.
    func failure(expecting expected: StatusSet, _ repetition: Repetition, at now: Timestamp) -> Failure? {
        let answer = ReceiverAnswer(receiver: place, secrets: secrets)
        if let failure = answer.failure(of: response, expecting: expected, at: now) {
            return repetition.holdingIfUncertain(failure, status: response.status)
        }
        if ReceiverAnswer.isPage(response) {
            return repetition.uncertain(
                .unexpectedPage, "\(place) answered with a web page (\(response.status)) instead of data.")
        }
        return backEndFailure(repetition, answer)
    }

    /// The failure reported by a body whose `isSuccessful` is not true.
    private func backEndFailure(_ repetition: Repetition, _ answer: ReceiverAnswer) -> Failure? {
        guard response.body.contains("\"isSuccessful\""), let json = try? JSON.parse(response.body),
            !Self.meansSuccess(json["isSuccessful"])
        else { return nil }
        let lists = ["errors", "errorMessages", "info", "warnings"].flatMap { json[$0]?.asArray ?? [] }.map(ItemValue.text)
        let status = json["statusCode"]?.asInt
        let words = ([json["statusReason"].textOrEmpty] + lists).filter { !$0.isEmpty }.joined(separator: "; ")
        let reported = HTTPResponse(status: response.status, body: Array(words.utf8))
        let code = status.map { " (status \($0))" } ?? ""
        let message = "The back end behind \(place) failed\(code)\(words.isEmpty ? "." : answer.words(of: reported))"
        if let status, 400..<500 ~= status { return Failure(.refused, .giveUp, message) }
        return repetition.uncertain(.serverError, message)
    }

    /// Whether the value of `isSuccessful` means success. Adapters are scripts, which may write a boolean as a text or a number. A
    /// missing value and null mean success.
    private static func meansSuccess(_ value: JSON?) -> Bool {
        switch value {
        case nil, .null?: true
        case .bool(let flag)?: flag
        case .string(let text)?: ASCII.lowercased(ASCII.trimmed(text)) == "true" || text == "1"
        case .int(let number)?: number != 0
        case .double, .array, .object: false
        }
    }
}
