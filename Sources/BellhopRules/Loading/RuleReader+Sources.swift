import BellhopCore
import YAML

extension RuleReader {
    /// The sources and connections that `from` names; nil if it has mistakes.
    mutating func from(_ node: YAML.Node?, _ events: [EventDefinition]) -> [String]? {
        guard let node else { return [] }
        if node.items?.isEmpty == true {
            return refuse(
                "wrong-type", "`from` names no source", at: node,
                help: "name at least one source, or leave `from` out to use all sources")
        }
        var reader = SettingsReader<Never>(file: file)
        let value = reader.read(node, as: Setting("from", .list(.name), ""))
        problems.report(reader.diagnostics)
        guard reader.diagnostics.all.isEmpty, let json = value?.json else { return nil }
        let names = Settings(["from": json]).texts("from")
        guard !context.isOpen else { return names }
        let logins = events.contains(where: \.isLogin)
        let wantsSource = events.contains { !$0.isLogin } || events.isEmpty
        let sources = wantsSource ? context.sources.map(\.name) : []
        let connections = logins ? context.connections.map(\.name) : []
        var isValid = true
        for (index, name) in names.enumerated() where !sources.contains(name) && !connections.contains(name) {
            report(
                unknown: name, at: node.items.map { $0[index] } ?? node, wantsSource: wantsSource, events.map(\.type),
                among: sources + connections)
            isValid = false
        }
        return isValid ? names : nil
    }

    /// The sources whose tasks the rule is about. Without a configuration: the named ones, or one unnamed source.
    func sources(_ from: [String]) -> [RuleContext.SourceFacts] {
        guard context.isOpen else {
            return from.isEmpty ? context.taskSources : context.taskSources.filter { from.contains($0.name) }
        }
        return (from.isEmpty ? [""] : from).map(context.assumedSource)
    }

    private mutating func report(
        unknown name: String, at node: YAML.Node, wantsSource: Bool, _ types: [EventType], among known: [String]
    ) {
        let reading = context.sources.filter { $0.connection == name }.map(\.name)
        if wantsSource, context.connections.contains(where: { $0.name == name }) {
            let help = reading.isEmpty ? nil : "it is read by " + reading.quotedList
            return report("unknown-source", "`\(name)` is a connection, but `from` names sources here", at: node, help: help)
        }
        if !wantsSource, let source = context.sources.first(where: { $0.name == name }) {
            return report(
                "unknown-connection", "`\(name)` is a source, but logins are events of connections", at: node,
                help: loginHelp(source.connection, types))
        }
        let what = wantsSource ? "source" : "connection"
        let listing = known.isEmpty ? "bellhop.yaml has none" : "use " + known.quotedList
        report(
            "unknown-\(what)", "there is no \(what) `\(name)`", at: node,
            help: Suggestion.didYouMean(name, among: known) ?? listing)
    }

    /// The help that names the connection to write, and the type of login event to use with it.
    private func loginHelp(_ connection: String, _ types: [EventType]) -> String {
        let reach = EventReach(context, from: [connection])
        guard let type = types.first, let obstacle = reach.obstacle(to: type, among: types) else {
            return "write `\(connection)`"
        }
        if let instead = obstacle.instead { return "write `\(connection)`, and `on: \(instead.name)`" }
        return "its connection is `\(connection)`, but \(obstacle.reason)"
    }
}
