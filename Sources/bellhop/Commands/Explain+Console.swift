import BellhopAgent
import BellhopCore
import BellhopRules

extension Explain {
    /// The most events that a console explains.
    static let maxThroughConsole = 1000

    /// Lets an agent on another machine explain, with its rules in force.
    ///
    /// - Parameter found: the stored history of the subject; nil if nothing is stored.
    func explain(
        _ console: ConsoleClient, _ link: StoreLink, _ found: (facts: ExplanationFacts, areOfTask: Bool)?
    ) async throws(CommandError) {
        let reaches = rule == nil ? [] : try await Self.reaches(console)
        try checkRule(among: reaches.map(\.name), found?.facts)
        guard let (facts, areOfTask) = found,
            let event = facts.events.first(where: { $0.event.id.text == subject }) ?? facts.events.first
        else {
            return try await explainAbsence(link, reaches.first { $0.name == rule }, hasRules: true)
        }
        if tree { return printTree(facts, link) }
        let about = areOfTask ? ("task", subject) : ("event", event.event.id.text)
        let json = try await console.get(
            "explanations", [about, ("limit", "\(limit)")] + (rule.map { [("rule", $0)] } ?? []))
        guard let explanation = Explanation(json: json), let hasRules = json["rules_loaded"]?.asBool else {
            throw ConsoleClient.notUnderstood
        }
        if !hasRules { Console.note(Self.withoutRules) }
        if output.json { return Console.json(json) }
        show(explanation, hasRules: hasRules, in: link.zone)
    }

    /// The types and sources of the agent's rules in force.
    private static func reaches(_ console: ConsoleClient) async throws(CommandError) -> [RuleReach] {
        try await console.rules().map { rule in
            RuleReach(name: rule["rule"]?.asString ?? "", types: rule["types"].texts, sources: rule["sources"].texts)
        }
    }
}
