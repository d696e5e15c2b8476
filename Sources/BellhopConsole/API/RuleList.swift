import BellhopAgent
import BellhopCore
import BellhopRules

/// The rules in force, with their statistics from the store.
struct RuleList: Sendable {
    struct Rule: Sendable {
        var summary: RuleSummary
        var status: JSON
        var isPaused: Bool

        var mode: String {
            switch summary.mode {
            case .live: "live"
            case .shadow: "shadow"
            case .off: "off"
            case .canary: "canary"
            }
        }

        var json: JSON {
            [
                "rule": .string(summary.name), "file": .string(summary.file), "line": .int(Int64(summary.line)),
                "description": .optional(summary.description),
                "types": .array(summary.types.map { .string($0.name) }), "sources": .array(summary.sources.map(JSON.string)),
                "mode": .string(mode), "schedule": .optional(summary.schedule),
                "actions": .array(summary.actions.map(JSON.string)), "runs": status["runs"] ?? 0, "errors": status["errors"] ?? 0,
                "error": status["error"] ?? .null, "last_run": status["last_run"] ?? .null, "next": status["next"] ?? .null,
                "paused": .bool(isPaused),
            ]
        }
    }

    let rules: [Rule]
    /// The number of errors because of which changed rule files are not in force.
    let refused: Int
    private let view: AgentView

    init(_ call: Call) async throws(Problem) {
        view = call.view
        let status = try await call.ask(.status).end
        refused = Int(status["agent"]?["refused_rules"]?.asInt ?? 0)
        let counts = Dictionary(status["rules"].elements.map { ($0["rule"]?.asString, $0) }) { first, _ in first }
        let paused = Set(status["paused"].elements.compactMap { $0["rule"]?.asString })
        rules = (call.view.book()?.rules ?? []).map { summary in
            Rule(
                summary: summary, status: counts[summary.name] ?? .null, isPaused: paused.contains(summary.name))
        }
    }

    func rule(_ name: String) throws(Problem) -> Rule {
        if let rule = rules.first(where: { $0.summary.name == name }) { return rule }
        throw Problem(404, Problem.unknown("rule", name, among: rules.map(\.summary.name)))
    }

    /// Why a rule stopped or waited in the last 24 hours: how often, and when it last did.
    func stops(of rule: Rule) async throws(Problem) -> [(verdict: DecisionRecord.Verdict, count: Int, last: Timestamp)] {
        do throws(StoreError) {
            return try await view.inquirer.verdicts(of: rule.summary.name, since: view.clock.now - .days(1))
        } catch {
            throw Problem(InquiryError(error))
        }
    }

    /// Which parts of a rule's file recent events reached; nil if the file cannot be read.
    func coverage(of rule: Rule, _ call: Call) async throws(Problem) -> RecentCoverage? {
        guard let bytes = view.file(rule.summary.file) else { return nil }
        let workshop = try call.workshop
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        do throws(WorkshopError) {
            return try await workshop.recentCoverage(
                of: RuleFile(path: rule.summary.file, bytes: bytes), rule: rule.summary.name)
        } catch {
            throw Problem(error)
        }
    }

    func text(of rule: Rule) -> String? { view.file(rule.summary.file).map { String(decoding: $0, as: UTF8.self) } }
}
