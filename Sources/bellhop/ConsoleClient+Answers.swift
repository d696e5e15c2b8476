import BellhopAgent
import BellhopConnectors
import BellhopCore

extension ConsoleClient {
    /// The media types of a console's successful answers.
    enum MediaType: String {
        case lines = "application/x-ndjson"
        case json = "application/json"
        case events = "text/event-stream"
    }

    static let notUnderstood = CommandError(
        .problem, "This `bellhop` cannot read the console's answer: check that both have the same version.")

    /// The statuses that a proxy in front of the console may send itself.
    private static let proxyStatuses = [408, 413, 414, 429, 431, 502, 503, 504]

    /// - Throws: the reason of a failed answer, or that the answer is not from a console.
    func check(_ answer: HTTPResponse, expecting expected: MediaType) throws(CommandError) {
        let type = answer.mediaType
        if [200, 202].contains(answer.status), type == expected.rawValue { return }
        guard type == "application/problem+json" || Self.proxyStatuses.contains(answer.status) else {
            throw foreignAnswer(answer, type)
        }
        let problem = try? JSON.parse(answer.body)
        let mistakes = (problem?["problems"]?.asArray ?? []).compactMap(Diagnostic.init(json:))
        if !mistakes.isEmpty { throw CommandError(Diagnostics(mistakes)) }
        let detail = (problem?["detail"]?.asString ?? "it answered \(answer.status).").visible
        // Errors of the agent itself read as they do over its socket.
        switch answer.status {
        case 400: throw CommandError(.usage, detail)
        case 401: throw CommandError(.loginRefused, "The console refused: \(detail)")
        case 409: throw CommandError(.problem, detail)
        case 503: throw CommandError(.tryLater, detail)
        case 429: throw CommandError(.tryLater, "The console refused: \(detail)")
        case 408, 502, 504: throw CommandError(.unreachable, "The console cannot be reached: \(detail)")
        case 413 where problem?["detail"] != nil: throw CommandError(.problem, "The console refused: \(detail)")
        case 413, 414, 431:
            throw CommandError(
                .problem,
                "A proxy before the console refuses the request as too long (\(answer.status)): shorten the condition, or name fewer rules."
            )
        default: throw CommandError(.problem, "The console refused: \(detail)")
        }
    }

    private func foreignAnswer(_ answer: HTTPResponse, _ type: String) -> CommandError {
        let kind = type.isEmpty ? "" : " with \(type.visible)"
        let place = "\(address.origin)\(address.path.dropLast("/api/v1/inquiries".count))"
        let what = "\(place) does not answer as a Bellhop console: it answered \(answer.status)\(kind)"
        switch answer.status {
        case 300..<400:
            let target = answer.headers["Location"].flatMap { address.resolving($0) }
            let lead = target.map { " and leads to \($0.description.visible)" } ?? ""
            return CommandError(.unreachable, "\(what)\(lead). Give the address at which the console itself answers.")
        case 401, 403, 407:
            return CommandError(
                .loginRefused,
                "\(what). Check the address. If a proxy in front of the console has its own login, let /api/v1 through without it."
            )
        default:
            return CommandError(
                .unreachable,
                "\(what). Check the host, the port and the path of the address, and `console` in the bellhop.yaml of that agent."
            )
        }
    }
}

extension HTTPResponse {
    /// The media type without parameters, in lower case; empty without `Content-Type`.
    fileprivate var mediaType: String {
        let field = headers["Content-Type"] ?? ""
        return String(field.prefix { $0 != ";" }.filter { $0 != " " }).lowercased()
    }
}

extension Inquiry {
    func isAnswered(by end: JSON) -> Bool {
        switch self {
        case .status: end["sources"]?.asArray != nil && end["agent"]?.asObject != nil
        case .silences: end["silences"]?.asArray != nil
        default: end.asObject != nil
        }
    }
}
