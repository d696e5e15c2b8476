import BellhopAgent
import BellhopConnectors
import BellhopCore

/// Asks an agent elsewhere through its console.
struct ConsoleClient {
    /// The console's address, without a `/` at the end.
    let address: HTTPAddress
    let token: String
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
        guard let token = environment[Self.variable], !token.isEmpty else {
            throw CommandError(
                .usage, "Set \(Self.variable) to a token of that console: `bellhop console token add NAME` makes one there.")
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
    }

    /// Passes on the answer's rows, and returns its end.
    func ask(_ inquiry: Inquiry, row: (JSON) -> Void) async throws(CommandError) -> JSON {
        var question = inquiry.json
        if let command = Person.current?.command { question["command_name"] = .string(command) }
        let answer: HTTPResponse
        do {
            let connection = try HTTPConnection(configuration, clock: SystemClock())
            let fields: HeaderFields = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
            answer = try await connection.send(HTTPRequest("POST", address, headers: fields, body: question.encoded()))
            try await connection.shutdown()
        } catch let error as ConnectorError {
            throw CommandError(.usage, configuration.ca == nil ? error.message : "\(Self.authorities): \(error.message)")
        } catch let error as TransportError where error.isOfTrust {
            throw CommandError(
                .unreachable,
                "This machine does not trust the certificate of \(address.place). If it has not ended, name a PEM file with its authority in \(Self.authorities)."
            )
        } catch let error as TransportError {
            throw CommandError(.unreachable, "The console at \(address.place) cannot be asked: \(error.message)")
        } catch {
            throw CommandError(.unreachable, "The console at \(address.place) cannot be asked: \(error)")
        }
        guard answer.status == 200 else {
            let detail = (try? JSON.parse(answer.body))?["detail"]?.asString ?? "it answered \(answer.status)."
            // The agent's own answer, as from its socket.
            if answer.status == 409 || answer.status == 503 {
                throw CommandError(answer.status == 409 ? .problem : .tryLater, detail.visible)
            }
            throw CommandError(answer.status == 401 ? .loginRefused : .problem, "The console refused: \(detail.visible)")
        }
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            switch ControlFrame(line: Array(line)) {
            case .row(let value): row(value)
            case .end(let value): return value
            case .failure(let error): throw CommandError(error)
            case nil: break
            }
        }
        throw CommandError(.problem, "The console's answer was cut off: try again.")
    }
}
