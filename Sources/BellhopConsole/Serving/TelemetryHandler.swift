import BellhopAgent
import BellhopCore
import BellhopTelemetry

/// Serves metrics, and the liveness and readiness of the agent.
struct TelemetryHandler: Sendable {
    let telemetry: AgentTelemetry

    static func serves(_ request: ConsoleRequest) -> Bool { paths.contains(request.path) }

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

    /// Whether a request needs no login. Metrics need one, because they name rules and sources.
    static func isOpen(_ request: ConsoleRequest) -> Bool { request.path != metrics }

    private static let metrics = ["metrics"]
    private static let live = ["health", "live"]
    private static let paths = [metrics, live, ["health", "ready"]]
}
