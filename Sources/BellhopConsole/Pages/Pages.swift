import BellhopAgent
import BellhopCore

/// All pages of the console.
enum Pages {
    /// One page or form: its path, its role, and the function that answers it.
    struct Page: Sendable {
        enum Method: String, Sendable { case get = "GET", post = "POST" }

        var method: Method
        /// The path, with at most one parameter: its name is in braces.
        var path: String
        var role: ConsoleRole
        var run: Run

        /// - Parameter name: the value of the parameter in the path; empty without one.
        typealias Run = @Sendable (PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer

        init(
            _ path: String, _ method: Method = .get, role: ConsoleRole = .viewer, _ run: @escaping Run
        ) {
            precondition(path.count(where: { $0 == "{" }) <= 1, "a page has at most one parameter: \(path)")
            self.path = path
            self.method = method
            self.role = role
            self.run = run
        }

        func values(in parts: [String]) -> [String: String]? { PathPattern.values(path, in: parts) }
    }

    static let all: [Page] = [
        Page("/") { context, _ throws(Problem) in try await overview(context) },
        Page("/events") { context, _ throws(Problem) in try await events(context) },
        Page("/events/{event}") { context, name throws(Problem) in try await event(context, name) },
        Page("/events/{event}/test", role: .operator) { context, name throws(Problem) in
            try await test(context, event: name)
        },
        Page("/tasks/{task}/test", role: .operator) { context, name throws(Problem) in
            try await test(context, task: name)
        },
        Page("/calendar") { context, _ throws(Problem) in try await calendar(context) },
        Page("/tasks") { context, _ throws(Problem) in try await tasks(context) },
        Page("/tasks/{task}") { context, name throws(Problem) in try await task(context, name) },
        Page("/rules") { context, _ throws(Problem) in try await rules(context) },
        Page("/rules/{rule}") { context, name throws(Problem) in try await rule(context, name) },
        Page("/rules/{rule}/workbench", role: .operator) { context, name throws(Problem) in
            try await workbench(context, name)
        },
        Page("/workbench", role: .operator) { context, _ throws(Problem) in try await newRule(context) },
        Page("/backtests") { context, _ throws(Problem) in try await backTests(context) },
        Page("/backtests/{backtest}") { context, name throws(Problem) in try await backTest(context, name) },
        Page("/deliveries") { context, _ throws(Problem) in try await deliveries(context) },
        Page("/deliveries/{delivery}") { context, name throws(Problem) in try await delivery(context, name) },
        Page("/deliveries/{delivery}/edit", role: .operator) { context, name throws(Problem) in
            try await deliveryForm(context, name)
        },
        Page("/timers") { context, _ throws(Problem) in try await timers(context) },
        Page("/silences") { context, _ throws(Problem) in try await silences(context) },
        Page("/receivers") { context, _ throws(Problem) in try await receivers(context) },
        Page("/audit") { context, _ throws(Problem) in try await audit(context) },
    ]

    static func answer(
        _ request: ConsoleRequest, _ visitor: Visitor?, _ handler: ConsoleHandler
    ) async throws(Problem) -> ConsoleAnswer {
        if request.path == OpenIDLogin.path, let openID = handler.openID {
            return try await openID.answer(request, handler.authenticator)
        }
        if request.path == ["login"] { return try await logIn(request, visitor, handler) }
        guard let visitor else {
            guard request.method == "GET" else { return loginPage(request, handler, status: 401) }
            return .seeOther("/login?next=" + PercentEncoding.encode(address(of: request)))
        }
        let context = PageContext(request, visitor, handler)
        var methods: [String] = []
        for page in all + acts {
            guard let values = page.values(in: request.path) else { continue }
            guard page.method.rawValue == request.method || (page.method == .get && request.method == "HEAD") else {
                methods.append(page.method.rawValue)
                continue
            }
            try visitor.require(page.role)
            if page.method == .post {
                try handler.checkOrigin(request, visitor, formToken: request.field("form_token"))
            }
            var answer = try await page.run(context, values.values.first ?? "")
            answer.fields.append(("Cache-Control", "no-store"))
            return answer
        }
        let allow = methods.joined(separator: ", ")
        if !methods.isEmpty { throw Problem(405, "This address is for \(allow), not for \(request.method).", allow: allow) }
        throw Problem(404, "There is no such page.")
    }

    // Logging in.

    private static func logIn(
        _ request: ConsoleRequest, _ visitor: Visitor?, _ handler: ConsoleHandler
    ) async throws(Problem) -> ConsoleAnswer {
        guard request.method == "POST" else {
            if visitor?.session == nil { return loginPage(request, handler, status: 200) }
            // Logged in meanwhile, on another tab.
            return .seeOther(placeAfterLogin(request))
        }
        // Otherwise another site could log the browser in with its own token (login CSRF).
        try handler.checkSite(request)
        let token = request.field("token") ?? ""
        do throws(Problem) {
            let visitor = try await handler.authenticator.logIn(token.trimmedBlanks, from: request)
            var answer = ConsoleAnswer.seeOther(placeAfterLogin(request))
            answer.fields.append(handler.authenticator.cookie(for: visitor))
            return answer
        } catch {
            guard error.status == 401 || error.status == 429 else { throw error }
            return loginPage(request, handler, status: error.status, problem: error)
        }
    }

    /// Whether a text is the address of a page of this console.
    static func isPage(_ address: String) -> Bool {
        // Browsers skip tabs, and read a backslash as a slash.
        HTML.isLink(address) && address.hasPrefix("/")
            && address.utf8.allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "\\") }
    }

    /// The page to open after the login: the one that led to it, or the one of the form that was sent.
    private static func placeAfterLogin(_ request: ConsoleRequest) -> String {
        if request.path == ["login"] {
            let wanted = request.field("next") ?? request.value("next") ?? "/"
            return isPage(wanted) ? wanted : "/"
        }
        return all.contains { $0.values(in: request.path) != nil } ? address(of: request) : "/"
    }

    private static func address(of request: ConsoleRequest) -> String {
        let path = "/" + request.path.map { PercentEncoding.encode($0) }.joined(separator: "/")
        let query = PercentEncoding.query(request.query.map { ($0.name, $0.value) })
        return query.isEmpty ? path : path + "?" + query
    }

    private static func loginPage(
        _ request: ConsoleRequest, _ handler: ConsoleHandler, status: Int, problem: Problem? = nil
    ) -> ConsoleAnswer {
        let t = Words(language: Language(request))
        let next = placeAfterLogin(request)
        let complaint = problem.map { problem -> HTML in
            "<p class=\"bad\" role=\"alert\" id=\"problem\">\(t.sentence(problem.detail))</p>"
        }
        let account = handler.view.provider.map { _ -> HTML in
            let address = "/login/openid?next=" + PercentEncoding.encode(next)
            return "<p><a class=\"button\" href=\"\(address)\">\(t("Log in with your account"))</a></p>"
        }
        let body: HTML = """
            <main id="content" class="login"><h1>Bellhop</h1>
            \(complaint)\(account)
            <p>\(t("Log in with a token. `bellhop console token add NAME` makes one."))</p>
            <form method="post" action="/login"><input type="hidden" name="next" value="\(next)">
            <label for="token">\(t("Token"))</label>
            <input id="token" name="token" type="password" autocomplete="current-password" required>
            <button>\(t("Log in"))</button></form>\(entered(request, handler))</main>
            """
        var answer = ConsoleAnswer.page(document(t("Log in"), t, body), status: status)
        if let problem { answer.fields += ConsoleAnswer.fields(problem).filter { $0.name != "WWW-Authenticate" } }
        answer.fields.append(("Cache-Control", "no-store"))
        return answer
    }

    /// What a person entered in the form of a refused request, to be copied: a browser that goes back to the form loads it anew. Empty if
    /// a page of another site may have sent the form.
    private static func entered(_ request: ConsoleRequest, _ handler: ConsoleHandler) -> HTML {
        guard request.method == "POST", (try? handler.checkSite(request)) != nil else { return "" }
        let t = Words(language: Language(request))
        let names = [
            ("file", "File"), ("text", "Text"), ("after", "What is sent"), ("when", "Condition"), ("reason", "Reason"),
        ]
        let texts = names.compactMap { name, label -> HTML? in
            let text = request.entered(name)
            if text.isEmpty { return nil }
            let rows = text.contains("\n") ? 20 : 2
            return """
                <label for="entered-\(name)">\(t(label))</label>
                <textarea id="entered-\(name)" rows="\(rows)" readonly spellcheck="false">\n\(text)</textarea>
                """
        }
        if texts.isEmpty { return "" }
        return "<h2>\(t("What you entered"))</h2><p>\(t("Copy it before you leave this page."))</p>\(texts)"
    }

    // The frame of all pages.

    private static let navigation = [
        ("/", "Overview"), ("/events", "Events"), ("/tasks", "Tasks"), ("/rules", "Rules"), ("/deliveries", "Deliveries"),
        ("/timers", "Waiting"), ("/calendar", "Calendar"), ("/silences", "Silences"), ("/receivers", "Receivers"),
        ("/backtests", "Back-tests"), ("/audit", "Audit"),
    ]

    /// - Parameters:
    ///   - title: in the page's language.
    ///   - head: more elements of the document's head.
    static func page(
        _ context: PageContext, _ title: String, status: Int = 200, head: HTML = "", _ content: HTML
    ) -> ConsoleAnswer {
        let t = context.t
        let place = "/" + (context.request.path.first ?? "")
        let here = place == "/workbench" ? "/rules" : place
        let links = navigation.map { path, name -> HTML in
            "<li><a href=\"\(path)\"\(path == here ? " aria-current=\"page\"" : "" as HTML)>\(t(name))</a></li>"
        }
        let body: HTML = """
            <a class="skip" href="#content">\(t("Skip to the content"))</a>
            <header><span class="brand">Bellhop</span><nav aria-label="\(t("Pages"))"><ul>\(links)</ul></nav>
            <div class="who"><span>\(context.visitor.name)</span>\(context.button("/logout", t("Log out")))</div></header>
            <main id="content"><h1>\(title)</h1>
            <p class="as-of">\(t("As of")) \(context.time(context.view.clock.now)) \(context.zone.name)</p>\(content)</main>
            """
        return .page(document(title, t, head: head, body), status: status)
    }

    private static func document(_ title: String, _ t: Words, head: HTML = "", _ body: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="\(t.language.rawValue)"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
        <title>\(title) · Bellhop</title><link rel="icon" href="\(Assets.path("console.svg"))"><link rel="stylesheet" href="\(Assets.path("console.css"))">
        <script src="\(Assets.path("console.js"))" defer></script>\(head)</head>
        <body>\(body)</body></html>
        """
    }

    static func problem(_ problem: Problem, _ request: ConsoleRequest, _ handler: ConsoleHandler) -> ConsoleAnswer {
        let t = Words(language: Language(request))
        let body: HTML = """
            <main id="content"><h1>\(t("Problem"))</h1><p class="bad" role="alert">\(t.sentence(problem.detail))</p>
            <p><a href="/">\(t("Overview"))</a></p>\(entered(request, handler))</main>
            """
        var answer = ConsoleAnswer.page(document(t("Problem"), t, body), status: problem.status)
        answer.fields += ConsoleAnswer.fields(problem).filter { $0.name != "WWW-Authenticate" }
        return answer
    }
}
