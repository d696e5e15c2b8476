import BellhopCore
import YAML

extension ActionManifest {
    /// The argument that a node stands for by itself; nil where it names its arguments.
    func shorthand(for node: YAML.Node) -> Setting? {
        guard let setting = arguments.first(where: { $0.name == shorthand }) else { return nil }
        guard case .map = setting.type else { return node.scalar == nil ? nil : setting }
        guard let mapping = node.mapping else { return nil }
        let named = RuleKeys.arguments(of: self).map(\.name)
        return mapping.contains { named.contains($0.name) } ? nil : setting
    }
}

extension StepReader {
    /// Looks at the names of the fields that an action sets.
    mutating func checkFields(_ node: YAML.Node, of action: ActionManifest) {
        guard action.arguments.contains(where: { $0.name == "fields" && $0.type == .map(.scalar) }) else { return }
        guard let fields = (action.shorthand(for: node) == nil ? node["fields"] : node)?.mapping else { return }
        if fields.isEmpty { compiler.report(code: "missing-key", "`\(action.kind)` sets no field", at: node) }
        for pair in fields {
            if let help = action.refusedFields[pair.name] {
                compiler.report(
                    code: "wrong-field", "`\(action.kind)` does not set `\(pair.name)`", at: pair.key, help: help)
            } else if !Self.isFieldName(pair.name) {
                compiler.report(
                    code: "wrong-field", "`\(pair.name)` is no field of a record", at: pair.key,
                    help: pair.name.contains(".") ? "fields of other records cannot be set" : "letters, digits and `_`")
            }
        }
    }

    /// Whether the tasks of the rule's sources are where the action can be done.
    mutating func checkSources(of action: ActionManifest, _ pair: Mapping.Pair) {
        guard action.receiver == .taskConnection, !surroundings.isOpen else { return }
        for source in sources {
            guard let connection = surroundings.connections.first(where: { $0.name == source.connection }),
                !connection.actions.contains(action.kind)
            else { continue }
            let able = surroundings.sources.filter { other in
                surroundings.connections.contains { $0.name == other.connection && $0.actions.contains(action.kind) }
            }
            let names = able.map { "`\($0.name)`" }.joined(separator: ", ")
            return compiler.report(
                code: "wrong-connection",
                "`\(action.kind)` cannot be done to the tasks of `\(source.name)`: connection `\(connection.name)` takes no "
                    + "`\(action.kind)`", at: pair.key,
                help: names.isEmpty ? "a connection of kind \(connection.kind) cannot do it" : "`from:` may name \(names)")
        }
    }

    private static func isFieldName(_ name: String) -> Bool {
        name.utf8.first.map { $0 > UInt8(ascii: "9") } ?? false
            && name.utf8.allSatisfy {
                ($0 | 0x20) &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: "_")
            }
    }
}
