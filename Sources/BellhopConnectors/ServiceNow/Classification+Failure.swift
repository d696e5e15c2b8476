import BellhopCore

extension Classification {
    /// The failure this answer means for the caller; nil if it is a good one.
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
        case .gateway(let status):
            return Failure(.gateway, again, "A gateway in front of \(place) answered \(status).")
        case .unexpectedPage(let status):
            return Failure(.unexpectedPage, again, "\(place) answered with a page (\(status)) instead of data.")
        case .dropped:
            return Failure(.dropped, again, "\(place) discarded the request (202): the session was overloaded.")
        case .quota: return Failure(.quota, again, "\(place) cancelled the request at its own time limit.")
        case .throttled(let after):
            return Failure(.throttled, .rest(after), "\(place) takes no more requests for now (429).")
        case .unavailable(let after):
            return Failure(
                .throttled, changesSomething ? .unknownOutcome : .rest(after), "\(place) takes no requests for now (503).")
        case .mfaRequired:
            return Failure(.mfaRequired, .pauseConnection, "\(place) requires a second factor for this account.")
        case .unauthenticated:
            return Failure(.unauthenticated, .pauseConnection, "\(place) does not accept the credentials (401).")
        case .forbidden(let text):
            return Failure(.forbidden, .giveUp, "\(place) does not allow it (403)\(Self.said(text)).")
        case .goneOrHidden(let text):
            return Failure(
                .goneOrHidden, .giveUp, "\(place) has no such record, or hides it from this account (404)\(Self.said(text)).")
        case .noPage(let status):
            return Failure(
                .goneOrHidden, .giveUp, "\(place) is not there, or is hidden from this account (\(status)): see `path`.")
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
            return Failure(.refused, .giveUp, "\(place) refuses the request (\(status))\(Self.said(text)).")
        case .serverError(let status, let text):
            return Failure(.serverError, again, "\(place) failed (\(status))\(Self.said(text)).")
        case .badAnswer(let text): return Failure(.badAnswer, again, "\(place) sent an invalid answer: \(text).")
        }
    }

    /// What the refusal of a batch means for its one request.
    func ofBatch(_ status: Int) -> Classification {
        switch self {
        case .apiMissing, .forbidden, .goneOrHidden, .refused, .tooLong: .noBatch(status: status)
        case .ok, .noRows, .loginRequired, .elsewhere, .noPage, .sessionExpired, .moved, .csrf, .hibernating, .gateway,
            .unexpectedPage, .dropped,
            .quota, .throttled, .unavailable, .mfaRequired, .unauthenticated, .noBatch, .serverError, .badAnswer:
            self
        }
    }

    private static func said(_ text: String) -> String { text.isEmpty ? "" : ": " + text }
}
