import BellhopCore

/// The meaning of a ServiceNow answer; the status alone is not enough.
enum Classification: Sendable, Hashable {
    /// A good answer, with its parsed body: null for a list, which the caller scans, and for a page.
    case ok(JSON)
    /// An empty list, sent as a 404.
    case noRows
    /// A redirect to another host: single sign-on, which requires a person.
    case loginRequired(host: String)
    case sessionExpired
    /// A page redirects to another host, but not for a login.
    case elsewhere(host: String)
    /// A page redirects to another target on the instance.
    case moved(String)
    /// The request needs this CSRF token besides the session; nil if the server did not send it.
    case csrf(token: String?)
    case hibernating
    /// Something between Bellhop and the instance answered.
    case gateway(status: Int)
    case unexpectedPage(status: Int)
    /// 202: the server was overloaded by this session and discarded the request.
    case dropped
    /// The server cancelled the request at its own time limit.
    case quota
    case throttled(after: Duration?)
    /// 503 with `Retry-After`.
    case unavailable(after: Duration)
    case mfaRequired
    case unauthenticated
    case forbidden(String)
    case goneOrHidden(String)
    /// The page does not exist: a 404, or a 400 for an unknown API.
    case noPage(status: Int)
    case apiMissing
    case tooLong
    /// The address is too long, and the account may not use the Batch API.
    case noBatch(status: Int)
    /// Any other refusal.
    case refused(status: Int, String)
    case serverError(status: Int, String)
    case badAnswer(String)

    var isLogin: Bool { if case .loginRequired = self { true } else { false } }
}

/// The content that a good answer must have.
enum AnswerShape: Sendable, Hashable {
    /// A list, which the caller scans: here it must only not be empty.
    case listing
    /// `result` with an array.
    case rows
    /// `result` with an object.
    case record
    /// `serviced_requests`, the answers to the requests of a batch.
    case batch
    /// A page for people, or 304 for a conditional request.
    case page
    /// `data`, the Task Tracker's answer to a comment.
    case data
}

extension Classification {
    /// Classifies an answer by the first of these that applies: redirect, page, 202, error in the body, status.
    init(_ response: HTTPResponse, to address: HTTPAddress, expecting: AnswerShape, at now: Timestamp) {
        if expecting == .page {
            self = Self.readPage(response, from: address, at: now)
        } else if 300..<400 ~= response.status {
            self = Self.redirect(response.headers["Location"], from: address, status: response.status)
        } else if let page = Self.page(response, at: now) {
            self = page
        } else if response.status == 202 {
            self = .dropped
        } else if let error = ErrorEnvelope(response.body) {
            self = Self.error(error, response, expecting, at: now)
        } else if response.isSuccess {
            self = Self.success(response, expecting)
        } else {
            self = Self.status(response, ErrorEnvelope(), expecting, at: now)
        }
    }

    /// Classifies an answer to a request for a page. After the session's end it is a redirect to the login page, or that page.
    private static func readPage(_ response: HTTPResponse, from address: HTTPAddress, at now: Timestamp) -> Classification {
        switch response.status {
        case 304: return .ok(.null)
        case 300..<400:
            let meaning = redirect(response.headers["Location"], from: address, status: response.status)
            guard let target = response.headers["Location"].flatMap({ address.resolving($0) }) else { return meaning }
            if case .loginRequired(let host) = meaning { return LoginPage.isLogin(target) ? meaning : .elsewhere(host: host) }
            guard case .unexpectedPage = meaning else { return meaning }
            return target.hasOrigin(of: address) ? .moved(target.target) : meaning
        case 202: return .dropped
        default: break
        }
        let text = ASCII.lowercased(String(decoding: response.body.prefix(256 << 10), as: UTF8.self))
        if text.contains("instance-hibernating-page") { return .hibernating }
        let isLogin = text.contains("user_password") && (text.contains("login.do") || text.contains("sysverb_login"))
        let isOther =
            LoginPage.hasPassword(text) && ["login.do", "sysverb_login", "login_redirect"].contains { text.contains($0) }
        if isLogin || isOther || LoginPage.redirectsToLogin(text) { return .sessionExpired }
        if response.isSuccess, response.body.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let error = ErrorEnvelope(response.body)
        {
            let isStranger = ASCII.lowercased(error.text).contains("not authenticated")
            return isStranger ? .sessionExpired : .serverError(status: response.status, error.text)
        }
        guard response.isSuccess else {
            let meaning = status(response, ErrorEnvelope(response.body) ?? ErrorEnvelope(), .page, at: now)
            let isAbsent = meaning == .apiMissing || response.status == 404
            return isAbsent ? .noPage(status: response.status) : meaning
        }
        guard response.status == 200, !response.body.isEmpty else {
            return .badAnswer("the page is empty, or only a part of it (\(response.status))")
        }
        return .ok(.null)
    }

    private static func redirect(_ location: String?, from address: HTTPAddress, status: Int) -> Classification {
        guard let location, let target = address.resolving(location) else { return .unexpectedPage(status: status) }
        if target.host != address.host { return .loginRequired(host: target.host) }
        return switch target.path.split(separator: "/").last.map({ ASCII.lowercased($0) }) {
        case "login.do", "login_redirect.do", "login_with_sso.do", "session_timeout.do", "auth_redirect.do": .sessionExpired
        case "security_interceptor.do": .csrf(token: nil)
        default: .unexpectedPage(status: status)
        }
    }

    /// Classifies an answer that is not JSON; nil for JSON, and if the status says more than the page.
    private static func page(_ response: HTTPResponse, at now: Timestamp) -> Classification? {
        guard let first = response.body.first(where: { $0 > 0x20 }) else { return nil }
        let type = ASCII.lowercased(response.headers["Content-Type"] ?? "application/json")
        guard first == UInt8(ascii: "<") || !type.contains("json") else { return nil }
        let text = ASCII.lowercased(String(decoding: response.body.prefix(256 << 10), as: UTF8.self))
        if text.contains("instance-hibernating-page") || text.contains("instance is hibernating")
            || text.contains("instance hibernating page")
        {
            return .hibernating
        }
        // A proxy in front of the server sent this page.
        if response.status >= 500 { return gateway(response, at: now) }
        // Even with a login form: a wrong password must count as refused.
        if response.status == 401 { return nil }
        if text.contains("login.do") || text.contains("sysparm_login") { return .sessionExpired }
        if [403, 404, 414, 429].contains(response.status) { return nil }
        return .unexpectedPage(status: response.status)
    }

    private static func error(
        _ error: ErrorEnvelope, _ response: HTTPResponse, _ expecting: AnswerShape, at now: Timestamp
    ) -> Classification {
        if error.message.hasPrefix("Transaction cancelled") { return .quota }
        if error.message.hasPrefix("Rate limit exceeded") { return .throttled(after: RetryAfter.read(response.headers, at: now)) }
        if response.isSuccess { return .serverError(status: response.status, error.text) }
        return status(response, error, expecting, at: now)
    }

    private static func status(
        _ response: HTTPResponse, _ error: ErrorEnvelope, _ expecting: AnswerShape, at now: Timestamp
    ) -> Classification {
        let headers = response.headers
        switch response.status {
        case 401:
            if headers["X-Is-Logged-In"].map({ ASCII.lowercased($0) }) == "true", let token = headers["X-UserToken-Response"] {
                return .csrf(token: token)
            }
            return headers["X-MFA_TOKEN"] != nil ? .mfaRequired : .unauthenticated
        case 403: return .forbidden(error.text)
        case 404: return expecting == .rows && error.message == "No Record found" ? .noRows : .goneOrHidden(error.text)
        case 414: return .tooLong
        case 429: return .throttled(after: RetryAfter.read(headers, at: now))
        case 400 where error.message.hasPrefix("Requested URI does not represent any resource"): return .apiMissing
        case 502, 503, 504: return gateway(response, at: now)
        case 500...: return .serverError(status: response.status, error.text)
        default: return .refused(status: response.status, error.text)
        }
    }

    private static func gateway(_ response: HTTPResponse, at now: Timestamp) -> Classification {
        guard response.status == 503, let after = RetryAfter.read(response.headers, at: now, readsReset: false) else {
            return .gateway(status: response.status)
        }
        return .unavailable(after: after)
    }

    private static func success(_ response: HTTPResponse, _ expecting: AnswerShape) -> Classification {
        if expecting == .listing || expecting == .page {
            return response.body.isEmpty ? .badAnswer("the answer is empty") : .ok(.null)
        }
        do {
            let body = try JSON.parse(response.body)
            return switch expecting {
            case .listing, .page: .ok(.null)
            case .rows: body["result"]?.asArray != nil ? .ok(body) : .badAnswer("the answer has no list in 'result'")
            case .record: body["result"]?.asObject != nil ? .ok(body) : .badAnswer("the answer has no record in 'result'")
            case .batch:
                body["serviced_requests"]?.asArray != nil ? .ok(body) : .badAnswer("the answer has no 'serviced_requests'")
            case .data: body["data"] != nil ? .ok(body) : .badAnswer("the answer has no 'data'")
            }
        } catch {
            return .badAnswer(error.description)
        }
    }
}

extension Classification {
    /// The failure for the caller; nil for a good answer.
    func failure(of place: String, changesSomething: Bool) -> Failure? {
        let again: Failure.Remedy = changesSomething ? .unknownOutcome : .retry(after: nil)
        switch self {
        case .ok, .noRows: return nil
        case .loginRequired(let host):
            return Failure(
                .loginRequired, .pauseConnection,
                "\(place) redirects to \(host) for login: Basic authentication is not accepted for this account or this interface."
            )
        case .elsewhere(let host):
            return Failure(
                .refused, .giveUp,
                "\(place) redirects to another host, \(host), although the session is valid, so this is not a login. "
                    + "To watch that page, configure a connection of kind `http` to that host."
            )
        case .sessionExpired:
            return Failure(.sessionExpired, .retry(after: nil), "\(place) ended the session again right after a new login.")
        case .csrf: return Failure(.csrf, .retry(after: nil), "\(place) refuses the request: it has no session token (CSRF).")
        case .moved(let target):
            return Failure(
                .unexpectedPage, .giveUp,
                "\(place) redirects too many times: the last page was \(target.prefix { $0 != "?" }).")
        case .hibernating:
            return Failure(
                .hibernating, .retry(after: .seconds(300)),
                "\(place) is hibernating; wake it up at developer.servicenow.com.")
        case .gateway(let status): return Failure(.gateway, again, "A gateway in front of \(place) answered \(status).")
        case .unexpectedPage(let status):
            return Failure(.unexpectedPage, again, "\(place) answered with a page (\(status)) instead of data.")
        case .dropped: return Failure(.dropped, again, "\(place) discarded the request (202): the session was overloaded.")
        case .quota: return Failure(.quota, again, "\(place) cancelled the request at its own time limit.")
        case .throttled(let after): return Failure(.throttled, .rest(after), "\(place) takes no more requests for now (429).")
        case .unavailable(let after):
            var failure = Failure(
                .throttled, changesSomething ? .unknownOutcome : .rest(after), "\(place) takes no requests for now (503).")
            failure.rest = after
            return failure
        case .mfaRequired: return Failure(.mfaRequired, .pauseConnection, "\(place) requires a second factor for this account.")
        case .unauthenticated:
            return Failure(.unauthenticated, .pauseConnection, "\(place) does not accept the credentials (401).")
        case .forbidden(let text): return Failure(.forbidden, .giveUp, "\(place) does not allow it (403)\(Self.suffix(text)).")
        case .goneOrHidden(let text):
            return Failure(
                .goneOrHidden, .giveUp, "\(place) has no such record, or hides it from this account (404)\(Self.suffix(text)).")
        case .noPage(let status):
            return Failure(
                .goneOrHidden, .giveUp, "\(place) is not there, or is hidden from this account (\(status)): check `path`.")
        case .apiMissing:
            return Failure(
                .apiMissing, .giveUp,
                "\(place) has no Task Tracker API: install the \"My Work\" update set there (400, no such resource).")
        case .tooLong: return Failure(.tooLarge, .giveUp, "\(place) refuses the address as too long (414).")
        case .noBatch(let status):
            return Failure(
                .tooLarge, .giveUp,
                "\(place) refuses the address as too long, and accepts no batch from this account either (\(status)): "
                    + "allow the account the Batch API (/api/now/v1/batch), or shorten the query.")
        case .refused(let status, let text):
            return Failure(.refused, .giveUp, "\(place) refuses the request (\(status))\(Self.suffix(text)).")
        case .serverError(let status, let text):
            return Failure(.serverError, again, "\(place) failed (\(status))\(Self.suffix(text)).")
        case .badAnswer(let text): return Failure(.badAnswer, again, "\(place) sent an invalid answer: \(text).")
        }
    }

    /// The classification of a batch's only request when the batch is refused.
    func ofBatch(_ status: Int) -> Classification {
        switch self {
        case .apiMissing, .forbidden, .goneOrHidden, .refused, .tooLong: .noBatch(status: status)
        case .ok, .noRows, .loginRequired, .elsewhere, .noPage, .sessionExpired, .moved, .csrf, .hibernating, .gateway,
            .unexpectedPage, .dropped, .quota, .throttled, .unavailable, .mfaRequired, .unauthenticated, .noBatch, .serverError,
            .badAnswer:
            self
        }
    }

    private static func suffix(_ text: String) -> String { text.isEmpty ? "" : ": " + text }
}
