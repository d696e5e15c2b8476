import BellhopAgent
import BellhopCore

/// Handles requests: authenticates the visitor, checks the role, and runs the API's operation or the page.
struct ConsoleHandler: Sendable {
    let view: AgentView
    let feed: LiveFeed
    let authenticator: Authenticator
    let jobs: BackTestJobs
    private let telemetry: TelemetryHandler?
    let openID: OpenIDLogin?

    init(_ view: AgentView, _ feed: LiveFeed, _ jobs: BackTestJobs) {
        self.view = view
        self.feed = feed
        self.jobs = jobs
        authenticator = Authenticator(view)
        openID = OpenIDLogin(view)
        telemetry = view.telemetry.map { TelemetryHandler(telemetry: $0) }
    }

    /// The header fields of every answer: browsers load only our files, and no other site may embed our pages or submit our forms.
    static let securityHeaders: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    func answer(_ request: ConsoleRequest) async -> ConsoleAnswer {
        do throws(Problem) {
            var answer = try await routed(request)
            answer.fields += Self.securityHeaders
            return answer
        } catch {
            return answer(request, error)
        }
    }

    func answer(_ request: ConsoleRequest, _ problem: Problem) -> ConsoleAnswer {
        var answer = request.wantsPage ? Pages.problem(problem, request, self) : ConsoleAnswer(problem)
        answer.fields += Self.securityHeaders
        return answer
    }

    /// Why a large body is not read, from the request without it: its sender is not known. Nil to read it.
    func refusal(ofLargeBody request: ConsoleRequest) async -> Problem? {
        do throws(Problem) {
            return try await authenticator.visitor(of: request) == nil ? .needsToken : nil
        } catch {
            return error
        }
    }

    private func routed(_ request: ConsoleRequest) async throws(Problem) -> ConsoleAnswer {
        if let asset = Assets.answer(request) { return asset }
        if let telemetry, TelemetryHandler.serves(request) {
            if !TelemetryHandler.isOpen(request), try await authenticator.visitor(of: request) == nil { throw .needsToken }
            return try await telemetry.answer(request)
        }
        let visitor = try await authenticator.visitor(of: request)
        if request.path.first == "api" {
            guard request.path.dropFirst().first == "v1" else {
                throw Problem(404, "The API begins with /api/v1; /api/v1/openapi.json describes it.")
            }
            let (operation, values) = try Operations.find(request.method, request.path.dropFirst(2))
            guard let visitor else { throw .needsToken }
            try visitor.require(operation.role)
            if operation.method != .get { try checkOrigin(request, visitor, formToken: request.header("x-form-token")) }
            let call = try Call(operation, self, request, visitor, path: values)
            return try await operation.run(call).tagged(for: request)
        }
        return try await Pages.answer(request, visitor, self)
    }

    /// - Throws: 403 if a page of another site may have sent the request (CSRF).
    func checkOrigin(_ request: ConsoleRequest, _ visitor: Visitor, formToken: String?) throws(Problem) {
        guard let session = visitor.session else { return }
        guard let formToken, ConsoleToken.hash(of: formToken) == ConsoleToken.hash(of: session.formToken) else {
            throw Problem(403, "The form is out of date, or came from another site. Open the page again.")
        }
        try checkSite(request)
    }

    /// - Throws: 403 if the browser says that a page of another site sent the request.
    func checkSite(_ request: ConsoleRequest) throws(Problem) {
        // Our pages send no referrer, so their origin is `null`; then only this field shows the site.
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
            throw Problem(403, "The request came from another site.")
        }
        if let origin = request.header("origin"), let host = request.header("host"), origin != "null" {
            let own = view.configuration.publicURL.map { [$0] } ?? ["http://\(host)", "https://\(host)"]
            guard own.contains(origin) else {
                throw Problem(403, "The request came from another site, \(origin).")
            }
        }
    }
}
