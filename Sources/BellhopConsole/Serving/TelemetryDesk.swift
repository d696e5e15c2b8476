import BellhopAgent
import BellhopCore
import BellhopTelemetry

/// Answers the tools of operators: whether the agent lives and is ready, and its metrics.
struct TelemetryDesk: Sendable {
    let telemetry: AgentTelemetry

    static func serves(_ request: ConsoleRequest) -> Bool { paths.contains(request.path) }

    /// The answer to a request that it serves.
    func answer(_ request: ConsoleRequest) async throws(Problem) -> ConsoleAnswer {
        guard ["GET", "HEAD"].contains(request.method) else {
            throw Problem(405, "Only GET and HEAD are possible here.", allow: "GET, HEAD")
        }
        if request.path == Self.metrics {
            let format = MetricsFormat(accept: request.header("accept"))
            return ConsoleAnswer(200, type: format.contentType, Array(await telemetry.text(format).utf8))
        }
        let health = await telemetry.health()
        let isGood = request.path == Self.live ? health.isLive : health.isReady
        var answer = ConsoleAnswer.json(health.json, status: isGood ? 200 : 503)
        answer.fields.append(("Cache-Control", "no-store"))
        return answer
    }

    /// Whether anyone who can connect may ask: the metrics name the rules and the sources.
    static func isOpen(_ request: ConsoleRequest) -> Bool { request.path != metrics }

    private static let metrics = ["metrics"]
    private static let live = ["health", "live"]
    private static let paths = [metrics, live, ["health", "ready"]]
}
