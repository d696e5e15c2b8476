import BellhopCore
public import YAML

/// The texts of rules by key, to find the keys that have changed.
public enum RuleParts {
    /// The value of each key of each rule, by the rule's name, in YAML on one line: values that are only written differently are
    /// the same.
    public static func parts(of files: [RuleFile]) -> [String: [String: String]] {
        var found: [String: [String: String]] = [:]
        for file in files where !file.isTest {
            for document in (try? parse(SourceText(file.bytes), keys: RuleKeys.known)) ?? [] where !document.isEmpty {
                for node in document.root["rules"]?.items ?? [document.root] {
                    guard let mapping = node.mapping, let name = mapping["rule"]?.value.scalarText else { continue }
                    found[name] = Dictionary(
                        mapping.map { ($0.name, RuleReader.text($0.value)) }, uniquingKeysWith: { first, _ in first })
                }
            }
        }
        return found
    }

    /// A value in YAML on one line: values that are only written differently are the same.
    public static func text(_ node: YAML.Node) -> String { RuleReader.text(node) }

    /// The keys whose values differ, in their order in the documentation.
    public static func changed(_ before: [String: String], _ after: [String: String]) -> [String] {
        let names = RuleKeys.rule.map(\.name).filter { before[$0] != after[$0] }
        return names.isEmpty ? ["text"] : names
    }
}
