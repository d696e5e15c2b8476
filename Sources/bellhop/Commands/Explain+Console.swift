import BellhopAgent
import BellhopCore
import BellhopRules

extension Explain {
    /// How many events a console explains at most.
    static let mostThroughConsole = 1000

    /// Lets an agent elsewhere explain by its own rules.
    ///
    /// - Parameter found: what the agent has stored about the subject; nil for nothing.
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

    /// The rules in force at an agent elsewhere.
    private static func reaches(_ console: ConsoleClient) async throws(CommandError) -> [RuleReach] {
        try await console.rules().map { rule in
            func texts(_ list: String) -> [String] { (rule[list]?.asArray ?? []).compactMap(\.asString) }
            return RuleReach(name: rule["rule"]?.asString ?? "", types: texts("types"), sources: texts("sources"))
        }
    }
}
