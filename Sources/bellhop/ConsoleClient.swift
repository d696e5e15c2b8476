import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

/// A client of the console of an agent on another machine.
struct ConsoleClient {
    let address: HTTPAddress
    let token: String
    /// The address of the console itself.
    private let base: String
    private let configuration: HTTPConnection.Configuration

    /// The name of the environment variable that holds the token.
    static let variable = "BELLHOP_TOKEN"
    /// The name of the environment variable that names a PEM file with certificate authorities, trusted in addition to the system's.
    static let authorities = "BELLHOP_CA"

    init(_ address: String, environment: [String: String]) throws(CommandError) {
        let text = address.hasSuffix("/") ? String(address.dropLast()) : address
        try Self.refuseParts(of: text)
        let url: HTTPAddress
        do { url = try HTTPAddress(text + "/api/v1/inquiries") } catch {
            throw CommandError(
                .usage, "--console: `\(address.visible)` is not the address of a console, such as https://bellhop.example.com.")
        }
        // A token that was read from a file may end with a line feed.
        let token = (environment[Self.variable] ?? "").trimmedBlanks
        guard !token.isEmpty else {
            throw CommandError(
                .usage, "Set \(Self.variable) to a token of that console: `bellhop console token add NAME` makes one there.")
        }
        guard HeaderFields.isValue(token) else {
            throw CommandError(
                .usage, "\(Self.variable) has a line end or another invisible character in the middle: set it to one token alone."
            )
        }
        let authorities = environment[Self.authorities] ?? ""
        configuration = HTTPConnection.Configuration(name: "console", ca: authorities.isEmpty ? nil : authorities)
        if configuration.refusal(of: url) != nil {
            throw CommandError(
                .usage,
                "--console: plain http:// to \(url.place) would show the token to others: use https://, or a tunnel to 127.0.0.1."
            )
        }
        self.address = url
        self.token = token
        base = text
    }

    /// - Throws: if the address has a part that a console's address does not have. The message never shows a possible password.
    private static func refuseParts(of address: String) throws(CommandError) {
        if address.contains("@") {
            throw CommandError(
                .usage, "--console: the address names a user: leave out what is before the `@`, and set \(variable) to a token.")
        }
        for (mark, name) in [("?", "a query"), ("#", "a fragment")] where address.contains(mark) {
            throw CommandError(.usage, "--console: the address has \(name): leave out the `\(mark)` and everything after it.")
        }
    }

    /// Sends an inquiry: calls `row` for each row of the answer, and returns the answer's end.
    func ask(_ inquiry: Inquiry, row: (JSON) -> Void) async throws(CommandError) -> JSON {
        var question = inquiry.json
        if let command = Person.current?.command { question["command_name"] = .string(command) }
        let request = HTTPRequest("POST", address, headers: ["Content-Type": "application/json"], body: question.encoded())
        let answer = try await connected { connection in try await send(request, over: connection, expecting: .lines) }
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            switch ControlFrame(line: Array(line)) {
            case .row(let value): row(value)
            case .end(let value):
                guard inquiry.isAnswered(by: value) else { throw Self.notUnderstood }
                return value
            case .failure(let error): throw CommandError(error)
            case nil: throw Self.notUnderstood
            }
        }
        throw CommandError(.unreachable, "The console's answer was cut off: try again.")
    }

    /// Searches events or deliveries with the API's parameters, page by page over one connection.
    /// - Parameters:
    ///   - what: the last part of the address, which is also the member of the rows.
    ///   - limit: the most rows.
    ///   - most: how many events or deliveries to search before it stops.
    func search(
        _ what: String, _ parameters: [(String, String)], limit: Int, lookingAtMost most: Int
    ) async throws(CommandError) -> SearchPage {
        try await connected { connection in
            var found = SearchPage()
            repeat {
                var parameters = parameters + [("limit", "\(min(limit - found.rows.count, Self.maxRows))")]
                if let before = found.next { parameters.append(("before", "\(before)")) }
                let answer = try await send(
                    HTTPRequest(try address(of: what, parameters)), over: connection, expecting: .json)
                // The places must decrease from page to page, or the loop would not end.
                guard let page = (try? JSON.parse(answer.body)).flatMap({ SearchPage(json: $0, what) }),
                    page.next.map({ $0 < found.next ?? .max && page.seen > 0 }) ?? true
                else { throw Self.notUnderstood }
                found.rows += page.rows
                found.seen += page.seen
                found.failures += page.failures
                found.next = page.next
            } while found.next != nil && found.rows.count < limit && found.seen < most
            return found
        }
    }

    func get(_ part: String, _ parameters: [(String, String)] = []) async throws(CommandError) -> JSON {
        let request = HTTPRequest(try address(of: part, parameters))
        let answer = try await connected { connection in try await send(request, over: connection, expecting: .json) }
        guard let json = try? JSON.parse(answer.body) else { throw Self.notUnderstood }
        return json
    }

    func rules() async throws(CommandError) -> [JSON] {
        guard let rules = try await get("rules")["rules"]?.asArray else { throw Self.notUnderstood }
        return rules
    }

    private static let maxRows = 1000

    /// The address of a part of the API with a query.
    /// - Throws: also if a condition among the parameters is too long for the agent.
    func address(of part: String, _ parameters: [(String, String)]) throws(CommandError) -> HTTPAddress {
        try rethrowing(as: CommandError.init) { () throws(Diagnostics) in
            for (name, value) in parameters where name == "where" { try SilenceBook.checkLength(of: value, name) }
        }
        let query = PercentEncoding.query(parameters)
        let mark = query.isEmpty ? "" : "?"
        do throws(InvalidValue) { return try HTTPAddress("\(base)/api/v1/\(part)\(mark)\(query)") } catch {
            throw CommandError(.usage, "--console: \(error.message)")
        }
    }

    /// Sends a request with the token, and returns its answer if it is a success.
    func send(
        _ request: HTTPRequest, over connection: HTTPConnection, expecting type: MediaType
    ) async throws -> HTTPResponse {
        var request = request
        request.headers.add("Authorization", "Bearer \(token)")
        let answer = try await connection.send(request)
        try check(answer, expecting: type)
        return answer
    }

    /// Reads a stream line by line, until the server ends it.
    func lines(
        of address: HTTPAddress, _ fields: HeaderFields, line: @escaping @Sendable (String) async -> Void
    ) async throws(CommandError) {
        var fields = fields
        fields.add("Authorization", "Bearer \(token)")
        try await connected { [fields] connection in
            let answer = try await connection.lines(
                of: address, headers: fields, as: MediaType.events.rawValue, silence: Self.longestSilence, line: line)
            if let answer { try check(answer, expecting: .events) }
        }
    }

    /// The console sends something every 15 seconds.
    private static let longestSilence = Duration.seconds(60)

    func connected<Value>(_ body: (HTTPConnection) async throws -> Value) async throws(CommandError) -> Value {
        do {
            let connection = try HTTPConnection(configuration, clock: SystemClock())
            let value: Value
            do { value = try await body(connection) } catch {
                try? await connection.shutdown()  // the first error matters
                throw error
            }
            try await connection.shutdown()
            return value
        } catch let error as CommandError {
            throw error
        } catch let error as ConnectorError {
            throw CommandError(.usage, configuration.ca == nil ? error.message : "\(Self.authorities): \(error.message)")
        } catch let error as TransportError where error.isOfTrust {
            var trust = CommandError(
                .unreachable,
                "This machine does not trust the certificate of \(address.place). If it has not ended, name a PEM file with its authority in \(Self.authorities)."
            )
            trust.isUntrustedCertificate = true
            throw trust
        } catch let error as TransportError {
            let help = " Check the address, and that the agent was started with `console` in bellhop.yaml."
            throw CommandError(
                .unreachable,
                "The console at \(address.place) cannot be asked: \(error.message)\(error.kind == .unreachable ? help : "")")
        } catch {
            throw CommandError(.unreachable, "The console at \(address.place) cannot be asked: \(error)")
        }
    }
}

/// Reads server-sent events line by line (WHATWG HTML, 9.2.6).
struct ServerSentEvents: Sendable {
    struct Message: Sendable, Hashable {
        var type: String
        var data: String
        /// The last id in the stream so far.
        var id: String
    }

    private var lastID = ""
    /// The fields of the current event.
    private var (id, type, data): (String?, String, [Substring]) = (nil, "", [])

    /// Reads a line. Returns the event that it ends, if any; one with an id and without data only tells the id.
    mutating func read(_ line: String) -> Message? {
        let line = line.hasSuffix("\r") ? line.dropLast() : line[...]
        guard line.isEmpty else {
            let name = line.prefix { $0 != ":" }
            var value = line.dropFirst(name.count + 1)
            if value.first == " " { value.removeFirst() }
            switch name {
            case "id": id = String(value)
            case "event": type = String(value)
            case "data": data.append(value)
            default: break
            }
            return nil
        }
        defer { (id, type, data) = (nil, "", []) }
        if let id { lastID = id }
        return data.isEmpty && id == nil ? nil : Message(type: type, data: data.joined(separator: "\n"), id: lastID)
    }
}
