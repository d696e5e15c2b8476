import BellhopCore

extension ServiceNowConnection: PageHost {
    /// Empty: non-page answers are filtered out before they reach a source.
    var hidden: [String] { [] }

    /// A page read in the reading session: after the login, only cookies authenticate.
    func page(_ address: HTTPAddress, headers: HeaderFields, timeout: Duration?) async throws(Failure) -> HTTPResponse {
        var call = ServiceNowCall(target: address.target, expecting: .page, timeout: timeout)
        call.headers = headers.with(["Accept": "text/html, */*;q=0.5"])
        do throws(Failure) {
            let reply = try await reading.send(call)
            return HTTPResponse(status: reply.status, headers: reply.headers, body: reply.body)
        } catch {
            var failure = error
            if failure.reason == .sessionExpired {
                failure.message +=
                    " The login is valid, so either the account may not open this page, or the instance does not accept API sessions for pages (com.glide.processors.aprocessor.donot_reuse_api_session)."
            }
            throw failure
        }
    }
}
