/// Pages for people: shown with a session, otherwise redirected to the login page, never 401.
extension SimulatedInstance {
    struct Page: Sendable, Hashable {
        var html: String
        /// The address to redirect to; nil for none.
        var redirect: String?
    }

    /// Sets a page at a path, such as `/kb_view.do`; nil removes it.
    public func setPage(_ path: String, _ html: String?) {
        change { state, _ in state.pages[path] = html.map { Page(html: $0) } }
    }

    /// Whether there is a page at a path.
    public func hasPage(_ path: String) -> Bool { change { state, _ in state.pages[path] != nil } }

    /// Sets a page that redirects to another address.
    public func setRedirect(_ path: String, to address: String) {
        change { state, _ in state.pages[path] = Page(html: "", redirect: address) }
    }
}

extension SimulatedInstance.State {
    /// Nil for paths that are not pages.
    func page(_ request: ReceivedRequest) -> Reply? {
        if request.path == "/login.do" { return .html(200, FaultPages.login) }
        guard let page = pages[request.path] else { return nil }
        if let redirect = page.redirect { return Reply(302).with("Location", redirect) }
        let reply = Reply.html(200, page.html)
        return (request.header("If-None-Match") == reply.tag ? Reply(304) : reply).with("ETag", reply.tag)
    }

    /// Whether people open this path in a browser.
    func isPage(_ request: ReceivedRequest) -> Bool {
        guard request.method == "GET", request.path != "/oauth_auth.do" else { return false }
        return pages[request.path] != nil || request.path.hasSuffix(".do")
    }
}
