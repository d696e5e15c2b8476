import BellhopRules

@testable import BellhopAgent

extension RuleBook {
    /// The rules of a text, without a configuration.
    static func load(_ text: String) throws -> RuleBook {
        try load([RuleFile(path: "rules/a.yaml", bytes: Array(text.utf8))], context: RuleLoading.openContext())
    }
}
