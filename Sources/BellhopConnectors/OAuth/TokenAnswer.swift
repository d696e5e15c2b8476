import BellhopCore

enum TokenAnswer: Sendable, Hashable {
    struct Grant: Sendable, Hashable {
        var access: String
        var refresh: String?
        /// Nil if the server does not say.
        var expiresIn: Duration?
    }

    case granted(Grant)
    /// The endpoint refuses these credentials permanently.
    case refused(status: Int, String)
    /// Anything else; retrying may help.
    case failed(Failure)

    /// Reads an answer. Servers differ: ServiceNow refuses with 401 and `server_error` for every reason, others with 400 and
    /// `invalid_grant` or `invalid_client`, GitHub and Slack with 200 and an error.
    init(_ response: HTTPResponse, from address: HTTPAddress, hiding secrets: [String], at now: Timestamp) {
        let place = address.place
        let body = try? JSON.parse(response.body)
        func failed(_ reason: Failure.Reason, after wait: Duration? = nil, _ message: String) -> TokenAnswer {
            .failed(Failure(reason, .retry(after: wait), message))
        }
        let code = body?["error"]?.asString
        // Without an error code, a firewall may have sent the answer.
        let hasCode = code != nil
        switch response.status {
        case _ where response.isThrottled:
            self = failed(
                .throttled, after: RetryAfter.read(response.headers, at: now),
                "The token endpoint of \(place) takes no more requests for now (\(response.status)).")
        case 200..<500 where code.map(Self.outages.contains) ?? false:
            self = failed(.serverError, "The token endpoint of \(place) gives no token for now (\(response.status)).")
        case 200..<300 where hasCode && body?["access_token"] == nil,
            401,
            400 where hasCode, 403 where hasCode:
            self = .refused(status: response.status, Self.reason(body, hiding: secrets))
        case 200..<300:
            guard let body, body.asObject != nil else {
                self = failed(
                    .badAnswer,
                    "The token endpoint of \(place) did not answer with JSON: is \(address) its address?")
                return
            }
            self = Self.success(body, place)
        case 300..<400: self = failed(.badAnswer, "The token endpoint of \(place) redirects: is \(address) its address?")
        case 404: self = failed(.refused, "There is no token endpoint at \(address) (404).")
        case 502, 503, 504: self = failed(.gateway, "A gateway in front of \(place) answered \(response.status).")
        case 500...: self = failed(.serverError, "The token endpoint of \(place) failed (\(response.status)).")
        default: self = failed(.refused, "The token endpoint of \(place) refuses the request (\(response.status)).")
        }
    }

    /// The errors in RFC 6749, in RFC 8628 and of Slack that are outages, not refusals.
    private static let outages: Set<String> = [
        "temporarily_unavailable", "slow_down", "ratelimited", "internal_error", "fatal_error", "service_unavailable",
        "request_timeout",
    ]

    private static func success(_ body: JSON, _ place: String) -> TokenAnswer {
        guard let access = body["access_token"]?.asString, !access.isEmpty, HeaderFields.isValue(access) else {
            return .failed(Failure.badAnswer("The token endpoint of \(place) answered without an access_token."))
        }
        if let type = body["token_type"]?.asString, !ASCII.equalIgnoringCase(type, "bearer") {
            return .failed(
                Failure(
                    .badAnswer, .giveUp,
                    "The token endpoint of \(place) gives tokens of another type than Bearer: \(Redaction.excerpt(type, length: 20))."
                ))
        }
        let seconds: Int64? =
            switch body["expires_in"] {
            case .int(let number)?: number
            case .double(let number)?: Int64(exactly: number.rounded(.down))
            case .string(let text)?: Int64(text)
            default: nil
            }
        let refresh = body["refresh_token"]?.asString.flatMap { $0.isEmpty ? nil : $0 }
        // A lifetime is limited to a hundred years.
        return .granted(
            Grant(access: access, refresh: refresh, expiresIn: seconds.map { .seconds(min(max($0, 0), 3_155_760_000)) }))
    }

    /// The server's reason, for use in brackets: `server_error: access_denied`.
    private static func reason(_ body: JSON?, hiding secrets: [String]) -> String {
        let parts = [body?["error"]?.asString, body?["error_description"]?.asString].compactMap(\.self).filter { !$0.isEmpty }
        return Redaction.excerpt(Redaction.scrub(parts.joined(separator: ": "), of: secrets), length: 120)
    }
}
