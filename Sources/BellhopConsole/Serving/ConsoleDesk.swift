import BellhopAgent
import BellhopCore

/// Answers requests: finds the visitor, checks the role, and runs the operation or makes the page.
struct ConsoleDesk: Sendable {
    let view: AgentView
    let feed: LiveFeed
    let gate: Gate
    let jobs: BackTestJobs
    private let telemetry: TelemetryDesk?
    let openID: OpenIDDesk?

    init(_ view: AgentView, _ feed: LiveFeed, _ jobs: BackTestJobs) {
        self.view = view
        self.feed = feed
        self.jobs = jobs
        gate = Gate(view)
        openID = OpenIDDesk(view)
        telemetry = view.telemetry.map { TelemetryDesk(telemetry: $0) }
    }

    /// The header fields of every answer: browsers load only our own files, and no other site may show or send our pages.
    static let safety: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    func answer(_ request: ConsoleRequest) async -> ConsoleAnswer {
        var answer: ConsoleAnswer
        do throws(Problem) {
            answer = try await routed(request)
        } catch {
            answer = request.wantsPage ? Pages.problem(error, request, view) : ConsoleAnswer(error)
        }
        answer.fields += Self.safety
        return answer
    }

    private func routed(_ request: ConsoleRequest) async throws(Problem) -> ConsoleAnswer {
        if let asset = Assets.answer(request) { return asset }
        if let telemetry, TelemetryDesk.serves(request) {
            if !TelemetryDesk.isOpen(request), try await gate.visitor(of: request) == nil { throw .needsToken }
            return try await telemetry.answer(request)
        }
        let visitor = try await gate.visitor(of: request)
        if request.path.first == "api" {
            guard request.path.dropFirst().first == "v1" else {
                throw Problem(404, "The API begins with /api/v1; /api/v1/openapi.json describes it.")
            }
            let (operation, values) = try Operations.find(request.method, request.path.dropFirst(2))
            guard let visitor else {
                throw .needsToken
            }
            try visitor.require(operation.role)
            if operation.method != .get { try checkOrigin(request, visitor, formToken: request.header("x-form-token")) }
            let call = try Call(operation, self, request, visitor, path: values)
            return try await operation.run(call).tagged(for: request)
        }
        return try await Pages.answer(request, visitor, self)
    }

    /// - Throws: 403 if a page of another site may have made the browser send the request.
    func checkOrigin(_ request: ConsoleRequest, _ visitor: Visitor, formToken: String?) throws(Problem) {
        guard let session = visitor.session else { return }
        guard let formToken, ConsoleToken.hash(of: formToken) == ConsoleToken.hash(of: session.formToken) else {
            throw Problem(403, "The form is out of date, or came from another site. Open the page again.")
        }
        try checkSite(request)
    }

    /// - Throws: 403 if the browser says that a page of another site made it send the request.
    func checkSite(_ request: ConsoleRequest) throws(Problem) {
        // Pages that name no referrer send the origin `null`, also ours; then this field tells.
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
            throw Problem(403, "The request came from another site.")
        }
        if let origin = request.header("origin"), let host = request.header("host"), origin != "null" {
            let own = view.configuration.publicURL.map { [$0] } ?? ["http://\(host)", "https://\(host)"]
            guard own.contains(where: { $0 == origin || $0.hasPrefix(origin + "/") }) else {
                throw Problem(403, "The request came from another site, \(origin).")
            }
        }
    }
}
