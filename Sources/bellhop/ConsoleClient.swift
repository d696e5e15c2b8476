import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

/// Asks an agent elsewhere through its console.
struct ConsoleClient {
    /// The address at which it answers inquiries.
    let address: HTTPAddress
    let token: String
    /// The address of the console itself.
    private let base: String
    private let configuration: HTTPConnection.Configuration

    /// The name of the environment variable that holds the token.
    static let variable = "BELLHOP_TOKEN"
    /// The name of the environment variable that names a PEM file with authorities to trust besides the system's.
    static let authorities = "BELLHOP_CA"

    init(_ address: String, environment: [String: String]) throws(CommandError) {
        let text = address.hasSuffix("/") ? String(address.dropLast()) : address
        let url: HTTPAddress
        do { url = try HTTPAddress(text + "/api/v1/inquiries") } catch {
            throw CommandError(
                .usage, "--console: `\(address.visible)` is not the address of a console, such as https://bellhop.example.com.")
        }
        // A file's last line end is no part of a token.
        let token = (environment[Self.variable] ?? "").trimming(while: { " \t\r\n".unicodeScalars.contains($0) })
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

    /// Passes on the answer's rows, and returns its end.
    func ask(_ inquiry: Inquiry, row: (JSON) -> Void) async throws(CommandError) -> JSON {
        var question = inquiry.json
        if let command = Person.current?.command { question["command_name"] = .string(command) }
        let fields: HeaderFields = ["Content-Type": "application/json"]
        let answer = try await send(HTTPRequest("POST", address, headers: fields, body: question.encoded()))
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            switch ControlFrame(line: Array(line)) {
            case .row(let value): row(value)
            case .end(let value): return value
            case .failure(let error): throw CommandError(error)
            case nil: break
            }
        }
        throw CommandError(.unreachable, "The console's answer was cut off: try again.")
    }

    /// Searches events or deliveries with the API's parameters, and returns the rows, newest first.
    ///
    /// - Parameters:
    ///   - what: the last part of the address, which is also the member of the rows.
    ///   - limit: how many rows at most.
    func search(
        _ what: String, _ parameters: [(String, String)], limit: Int
    ) async throws(CommandError) -> (rows: [JSON], failures: SearchFailures) {
        var (rows, failures, before): ([JSON], SearchFailures, Int64?) = ([], .init(), nil)
        repeat {
            var parameters = parameters + [("limit", "\(min(limit - rows.count, Self.mostRows))")]
            if let before { parameters.append(("before", "\(before)")) }
            let answer = try await send(HTTPRequest(try address(of: what, parameters)))
            let page = try? JSON.parse(answer.body)
            let next = page?["next"]?.asInt
            // Each page is of earlier rows than the one before.
            guard let page, let found = page[what]?.asArray, next ?? .min < before ?? .max else {
                throw CommandError(.problem, "The console gave no answer that this `bellhop` understands.")
            }
            rows += found
            failures += SearchFailures(json: page["failed"])
            before = next
        } while before != nil && rows.count < limit
        return (rows, failures)
    }

    /// The most rows of one page.
    private static let mostRows = 1000

    /// The address of a part of the API with a query.
    func address(of part: String, _ parameters: [(String, String)]) throws(CommandError) -> HTTPAddress {
        let query = parameters.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        do throws(HTTPAddress.Problem) { return try HTTPAddress("\(base)/api/v1/\(part)?\(query)") } catch {
            throw CommandError(.usage, "--console: \(error.message)")
        }
    }

    /// Sends a request with the token, and returns its answer if it is a success.
    private func send(_ request: HTTPRequest) async throws(CommandError) -> HTTPResponse {
        try Self.checked(
            await connected { connection, fields in
                var request = request
                request.headers.add("Authorization", fields)
                return try await connection.send(request)
            })
    }

    /// Follows an answer without an end line by line, until the server ends it.
    func lines(
        of address: HTTPAddress, _ fields: HeaderFields, line: @escaping @Sendable (String) async -> Void
    ) async throws(CommandError) {
        let answer = try await connected { connection, authorization in
            var request = HTTPRequest(address, headers: fields)
            request.headers.add("Authorization", authorization)
            return try await connection.lines(of: request, silence: Self.longestSilence, line: line)
        }
        if let answer { _ = try Self.checked(answer) }
    }

    /// The console sends something every 15 seconds.
    private static let longestSilence = Duration.seconds(60)

    /// Uses a connection to the console, with the value of the field `Authorization`.
    private func connected<Value>(
        _ body: (HTTPConnection, String) async throws -> Value
    ) async throws(CommandError) -> Value {
        do {
            let connection = try HTTPConnection(configuration, clock: SystemClock())
            let value: Value
            do { value = try await body(connection, "Bearer \(token)") } catch {
                try? await connection.shutdown()  // what comes after the failure does not matter
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
            trust.isOfTrust = true
            throw trust
        } catch let error as TransportError {
            throw CommandError(.unreachable, "The console at \(address.place) cannot be asked: \(error.message)")
        } catch {
            throw CommandError(.unreachable, "The console at \(address.place) cannot be asked: \(error)")
        }
    }

    /// The answer, if it is a success.
    private static func checked(_ answer: HTTPResponse) throws(CommandError) -> HTTPResponse {
        if answer.status == 200 { return answer }
        let detail = ((try? JSON.parse(answer.body))?["detail"]?.asString ?? "it answered \(answer.status).").visible
        // The agent's own answers are those from its socket.
        switch answer.status {
        case 401: throw CommandError(.loginRefused, "The console refused: \(detail)")
        case 409: throw CommandError(.problem, detail)
        case 503: throw CommandError(.tryLater, detail)
        case 429: throw CommandError(.tryLater, "The console refused: \(detail)")
        case 502, 504: throw CommandError(.unreachable, "The console cannot be reached: \(detail)")
        default: throw CommandError(.problem, "The console refused: \(detail)")
        }
    }
}

extension String {
    /// Without such characters at its begin and its end.
    fileprivate func trimming(while isBlank: (Unicode.Scalar) -> Bool) -> String {
        let begin = unicodeScalars.drop(while: isBlank)
        return String(String.UnicodeScalarView(begin.reversed().drop(while: isBlank).reversed()))
    }
}
