import BellhopConnectors
import BellhopCore
import BellhopRules
import YAML

extension ConfigurationReading {
    mutating func connections(_ node: Node?) -> [Configuration.ConnectionEntry] {
        let manifests = Catalogue.connections
        let allSettings = ConfigurationManifest.connection + manifests.flatMap(\.settings)
        let found = entries(node, key: "connections", settings: allSettings).compactMap {
            name, node -> (entry: Configuration.ConnectionEntry, node: Node)? in
            guard let manifest = manifest(of: node, subject: "connection `\(name)`", kinds: manifests.map(\.kind)) else {
                return nil
            }
            let declared = ConfigurationManifest.connection + manifests[manifest].settings
            var settings = reader.settings(node, as: declared, of: "connection `\(name)`")
            settings.secrets = secrets
            return (Configuration.ConnectionEntry(name: name, kind: manifests[manifest].kind, settings: settings), node)
        }
        // If the connection exists but has mistakes, only these mistakes are reported.
        let names = node?.mapping?.names ?? []
        for (entry, node) in found { checkOnPaused(entry, node, among: found.map(\.entry), named: names) }
        return found.map(\.entry)
    }

    /// Checks that the connection for messages about a pause exists, takes messages, and is not the paused one.
    private mutating func checkOnPaused(
        _ entry: Configuration.ConnectionEntry, _ node: Node, among all: [Configuration.ConnectionEntry], named names: [String]
    ) {
        guard let other = entry.settings.text("on_paused"), let place = node["on_paused"] else { return }
        let candidates = all.filter { other in
            Catalogue.connections.contains { $0.kind == other.kind && $0.messages != nil } && other.name != entry.name
        }
        let help = candidates.isEmpty ? nil : "use \(candidates.map(\.name).alternatives)"
        if other == entry.name {
            reader.report(
                code: "wrong-connection", "`on_paused` names `\(other)` itself, which sends nothing while it is paused",
                at: place, help: help ?? "add another connection that takes messages, and name that one")
        } else if let found = all.first(where: { $0.name == other }) {
            if candidates.contains(where: { $0.name == other }) { return }
            reader.report(
                code: "wrong-connection", "a connection of kind `\(found.kind)` takes no messages", at: place, help: help)
        } else if !names.contains(other) {
            reader.report(
                code: "unknown-connection", "there is no connection \(Self.shown(other, of: place))", at: place,
                help: Suggestion.didYouMean(other, among: candidates.map(\.name)) ?? help)
        }
    }

    /// The pairs of a mapping of names.
    mutating func entries(_ node: Node?, key: String, settings: [Setting]) -> [(String, Node)] {
        guard let node, !node.isNull else { return [] }
        guard let mapping = node.mapping else {
            reader.report(code: "wrong-type", "`\(key)` must be a mapping of names", at: node)
            return []
        }
        let reported = outdented(in: mapping, of: settings)
        for pair in mapping where !Interpolation.isName(pair.name) {
            reader.report(
                code: "bad-name", "`\(reader.shown(pair.name))` cannot be a name", at: pair.key,
                help: "use letters, digits, `-` and `_`")
        }
        return mapping.filter { !reported.contains($0.name) }.map { ($0.name, $0.value) }
    }

    /// The index in `kinds` of the kind that a node names.
    mutating func manifest(of node: Node, subject: String, kinds: [String]) -> Int? {
        guard let mapping = node.mapping else {
            reader.report(
                code: "wrong-type", "\(subject) must be a mapping", at: node, help: "write `\(subject.quoted): {kind: …}`")
            return nil
        }
        guard let kind = mapping["kind"]?.value, let name = kind.scalarText else {
            reader.report(code: "missing-key", "\(subject) needs `kind`", at: node, help: "use \(kinds.alternatives)")
            return nil
        }
        if let index = kinds.firstIndex(of: name) { return index }
        reader.report(
            code: "unknown-kind", "there is no kind `\(name)`", at: kind,
            help: Suggestion.didYouMean(name, among: kinds) ?? "use \(kinds.alternatives)")
        return nil
    }
}

extension String {
    /// The name between the backticks of a subject.
    fileprivate var quoted: String { split(separator: "`").dropFirst().first.map(String.init) ?? self }
}
