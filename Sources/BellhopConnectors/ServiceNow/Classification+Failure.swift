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
                "\(place) sends us to \(host) to log in: Basic authentication is not accepted for this account, or not for this interface."
            )
        case .elsewhere(let host):
            return Failure(
                .refused, .giveUp,
                "\(place) sends us to another host, \(host), although the session is valid, so this is not a login. "
                    + "Where that page is the one to be watched, configure a connection of kind `http` to that host."
            )
        case .sessionExpired:
            return Failure(.sessionExpired, .retry(after: nil), "\(place) ended the session again right after a new login.")
        case .csrf: return Failure(.csrf, .retry(after: nil), "\(place) refuses the request for want of a session token (CSRF).")
        case .moved(let target):
            return Failure(
                .unexpectedPage, .giveUp,
                "\(place) sends from page to page and never to one that stays: the last was \(target.prefix { $0 != "?" }).")
        case .hibernating:
            return Failure(
                .hibernating, .retry(after: .seconds(300)),
                "\(place) is hibernating; somebody must wake it at developer.servicenow.com.")
        case .gateway(let status):
            return Failure(.gateway, again, "A gateway before \(place) answered \(status) in its place.")
        case .unexpectedPage(let status):
            return Failure(.unexpectedPage, again, "\(place) answered with a page (\(status)) instead of data.")
        case .dropped:
            return Failure(.dropped, again, "\(place) dropped the request unprocessed (202): the session had too much to do.")
        case .quota: return Failure(.quota, again, "\(place) cancelled the request at its own time limit.")
        case .throttled(let after):
            return Failure(.throttled, .rest(after), "\(place) takes no more requests for now (429).")
        case .unavailable(let after):
            return Failure(
                .throttled, changesSomething ? .unknownOutcome : .rest(after), "\(place) takes no requests for now (503).")
        case .mfaRequired:
            return Failure(.mfaRequired, .pauseConnection, "\(place) wants a second factor for this account.")
        case .unauthenticated:
            return Failure(.unauthenticated, .pauseConnection, "\(place) does not accept who we say we are (401).")
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
        case .tooLong: return Failure(.tooLarge, .giveUp, "\(place) refuses so long an address (414).")
        case .noBatch(let status):
            return Failure(
                .tooLarge, .giveUp,
                "\(place) refuses so long an address, and takes no batch from this account either (\(status)): "
                    + "allow it the Batch API (/api/now/v1/batch), or ask for less.")
        case .refused(let status, let text):
            return Failure(.refused, .giveUp, "\(place) refuses the request (\(status))\(Self.said(text)).")
        case .serverError(let status, let text):
            return Failure(.serverError, again, "\(place) failed (\(status))\(Self.said(text)).")
        case .badAnswer(let text): return Failure(.badAnswer, again, "\(place) answered something else than it should: \(text).")
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
