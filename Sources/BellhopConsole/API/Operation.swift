import BellhopAgent
import BellhopCore

/// One operation of the API: its description for the OpenAPI document, and the function that runs it.
struct Operation: Sendable {
    enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    /// A value in the query.
    struct Parameter: Sendable {
        var name: String
        var about: String
        var type: Kind
        var isRepeated = false

        enum Kind: Sendable, Hashable {
            case text
            /// A number from 1 to `most`.
            case count(most: Int)
            /// A place on the bus, taken from an earlier answer.
            case place
            /// A span of time before now, such as `7d`.
            case span
            case flag
            case word([String])
        }

        init(_ name: String, _ about: String, _ type: Kind = .text, repeated: Bool = false) {
            self.name = name
            self.type = type
            self.about = about
            isRepeated = repeated
        }
    }

    /// Whether a change may or must name the version that was read (`If-Match`): it is refused if the version has changed since.
    enum Match: Sendable {
        case none
        case allowed
        case required
    }

    /// The form of an operation's answer.
    enum Content: Sendable {
        case json(Schema)
        /// Server-sent events; the text says what they are.
        case events(String)
        /// JSON values, one on each line.
        case lines
    }

    /// The unique name, in camel case.
    var id: String
    var method: Method
    /// The path below `/api/v1`, with names of parameters in braces.
    var path: String
    var summary: String
    var role: ConsoleRole
    var parameters: [Parameter] = []
    var body: Schema?
    var content: Content
    /// The status of a successful answer.
    var success = 200
    var ifMatch = Match.none
    /// The statuses of further problems, in addition to those that every operation may have.
    var problems: [Int] = []
    var run: @Sendable (Call) async throws(Problem) -> ConsoleAnswer

    /// - Throws: 400 if a value of the query is unknown or does not fit.
    func check(_ query: [(name: String, value: String)]) throws(Problem) {
        for (name, value) in query {
            guard let parameter = parameters.first(where: { $0.name == name }) else {
                let known = parameters.map(\.name)
                let isFar = !known.isEmpty && Suggestion.didYouMean(name, among: known) == nil
                throw Problem(
                    400,
                    isFar
                        ? "There is no parameter `\(name)`; there are: \(known.quotedList)."
                        : Problem.unknown("parameter", name, among: known))
            }
            if !parameter.isRepeated, query.filter({ $0.name == name }).count > 1 {
                throw Problem(400, "The parameter `\(name)` is given more than once.")
            }
            if let complaint = parameter.type.complaint(about: value) {
                throw Problem(400, "The parameter `\(name)` \(complaint).")
            }
        }
    }
}

/// One call of an operation, with checked parameters.
struct Call: Sendable {
    private let handler: ConsoleHandler
    let request: ConsoleRequest
    let visitor: Visitor
    let path: [String: String]
    /// The body of the request; null without one.
    let body: JSON

    private let query: [(name: String, value: String)]

    var view: AgentView { handler.view }
    var feed: LiveFeed { handler.feed }
    var authenticator: Authenticator { handler.authenticator }
    var jobs: BackTestJobs { handler.jobs }

    /// - Throws: a problem if a parameter is unknown or does not fit.
    init(
        _ operation: Operation, _ handler: ConsoleHandler, _ request: ConsoleRequest, _ visitor: Visitor,
        path: [String: String]
    ) throws(Problem) {
        self.handler = handler
        self.request = request
        self.visitor = visitor
        self.path = path
        query = request.query
        try operation.check(query)
        for (name, value) in path where value.contains("\0") || value.isEmpty {
            throw Problem(400, "`\(name)` in the address cannot be used.")
        }
        guard let schema = operation.body else {
            body = .null
            return
        }
        body = try Self.body(of: request, as: schema)
    }

    /// A call by a page. Its values are not checked: a page gives only valid ones.
    init(_ context: PageContext, query: [(name: String, value: String)], path: [String: String], body: JSON) {
        (handler, request, visitor) = (context.handler, context.request, context.visitor)
        (self.query, self.path, self.body) = (query, path, body)
    }

    private static func body(of request: ConsoleRequest, as schema: Schema) throws(Problem) -> JSON {
        if request.body.isEmpty, request.header("content-type") == nil { return try checked([:], as: schema) }
        guard request.header("content-type")?.lowercased().hasPrefix("application/json") == true else {
            throw Problem(415, "Send the body as JSON, with `Content-Type: application/json`.")
        }
        let json: JSON
        do throws(JSONError) { json = try JSON.parse(request.body, depth: 64) } catch {
            throw Problem(400, "The body cannot be read: \(error).")
        }
        return try checked(json, as: schema)
    }

    private static func checked(_ json: JSON, as schema: Schema) throws(Problem) -> JSON {
        if let complaint = schema.complaint(about: json, named: OpenAPI.schemas) {
            throw Problem(422, "The body cannot be used: \(complaint).")
        }
        return json
    }

    func text(_ name: String) -> String? { query.first { $0.name == name }?.value }
    func texts(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }
    func number(_ name: String) -> Int64? { text(name).flatMap { Int64($0) } }
    func flag(_ name: String) -> Bool { text(name) == "true" }

    /// The start of the time span in a parameter, which ends now; nil without the parameter.
    func since(_ name: String) -> Timestamp? {
        text(name).flatMap { try? DurationText.parse($0) }.map { view.clock.now - $0 }
    }

    /// The visitor, for the audit.
    var person: Person { Person(user: visitor.name, host: request.peer, command: "console") }

    /// Sends an inquiry to the agent on behalf of the visitor.
    func ask(_ inquiry: Inquiry) async throws(Problem) -> (rows: [JSON], end: JSON) {
        let result: Result<(rows: [JSON], end: JSON), InquiryError> = await Person.$current.withValue(person) {
            do throws(InquiryError) { return .success(try await view.ask(inquiry)) } catch { return .failure(error) }
        }
        do throws(InquiryError) { return try result.get() } catch { throw Problem(error) }
    }
}

extension Operation.Parameter.Kind {
    /// The mistake in a value, as the end of a sentence that begins with the parameter; nil for a valid value.
    fileprivate func complaint(about value: String) -> String? {
        switch self {
        case .text: return value.contains("\0") ? "has a character that cannot be used" : nil
        case .count(let most):
            guard let number = Int(value), (1...most).contains(number) else { return "is a number from 1 to \(most)" }
            return nil
        case .place: return (Int64(value) ?? -1) < 0 ? "is a number that an earlier answer gave" : nil
        case .span:
            do {
                let span = try DurationText.parse(value)
                return span > .zero && span < .seconds(100 * 366 * 86_400) ? nil : "is a span of time such as 7d"
            } catch {
                return "is a span of time such as 7d"
            }
        case .flag: return value == "true" || value == "false" ? nil : "is true or false"
        case .word(let words): return words.contains(value) ? nil : "is one of \(words.joined(separator: ", "))"
        }
    }

    var schema: JSON {
        switch self {
        case .text: ["type": "string"]
        case .count(let most): ["type": "integer", "minimum": 1, "maximum": .int(Int64(most))]
        case .place: ["type": "integer", "format": "int64", "minimum": 0]
        case .span: ["type": "string", "examples": ["7d"]]
        case .flag: ["type": "boolean"]
        case .word(let words): ["type": "string", "enum": .array(words.map(JSON.string))]
        }
    }
}
