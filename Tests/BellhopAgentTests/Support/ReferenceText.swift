import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound
@testable import BellhopRules

/// The generated parts of the reference pages, as Markdown.
enum ReferenceText {
    /// The text of the part with this name; nil if the name is unknown.
    static func part(_ name: String) -> String? {
        switch name {
        case "configuration": table(ConfigurationManifest.root)
        case "every connection": table(ConfigurationManifest.connection.filter { $0.name != "kind" } + common)
        case "every receiver": table(commonToReceivers)
        case "receivers": receivers
        case "oauth": table(members(of: "auth", "oauth", in: Catalogue.connections[0].settings))
        case "connections": Catalogue.connections.map(connection).joined(separator: "\n")
        case "webhook source": table(InboundSettings.webhook, folding: ["auth"])
        case "push": table(InboundSettings.push, folding: ["auth"])
        case "sender": table(members(of: "auth", in: InboundSettings.push))
        case "declared event": table(InboundSettings.event)
        case "every source": table(ConfigurationManifest.source)
        case "sources": Catalogue.sources.map(source).joined(separator: "\n")
        case "actions": Catalogue.actions.map(action).joined(separator: "\n")
        case "rule keys": table(RuleKeys.rule)
        case "quiet": table(QuietTime.settings(except: .expression))
        case "step keys": table(RuleKeys.step)
        case "pattern keys": table(RuleKeys.pattern)
        case "pattern entry keys": table(RuleKeys.patternEntry)
        case "schedule keys": table(RuleKeys.schedule + RuleKeys.every.filter { $0.name == "every" })
        case "delivery states":
            "| state | meaning |\n|---|---|\n" + DeliveryState.allCases.map { "| `\($0.rawValue)` | \($0.summary) |\n" }.joined()
        case "verdicts":
            "| verdict | the rule |\n|---|---|\n"
                + Explanation.Verdict.allCases.map { "| `\($0.rawValue)` | \($0.summary) |\n" }.joined()
        case "names":
            "| name | what it is |\n|---|---|\n" + ExpressionReference.names.map { "| `\($0.name)` | \($0.summary) |\n" }.joined()
        case "functions":
            "| function | result |\n|---|---|\n"
                + ExpressionReference.functions.map { "| `\($0.call)` | \($0.summary) |\n" }.joined()
        case "test keys": table(TestKeys.test)
        case "filter settings": table(FilterReference.settings)
        case "filter operators": filterOperators
        case "not built": notBuilt
        case "events": events
        case "signals": SignalText.signals
        case "metrics": SignalText.metrics
        default: nil
        }
    }

    // MARK: Events

    private static var events: String {
        "| type | when | `data` |\n|---|---|---|\n"
            + EventCatalogue.builtIn.definitions.map { event in
                "| `\(event.type.name)` | \(event.summary) | \(event.members.map(member).joined(separator: ", ")) |\n"
            }.joined()
    }

    /// A member of an event's data, with notes.
    private static func member(_ member: Setting) -> String {
        var notes = member.summary.isEmpty ? [] : [member.summary]
        switch member.type {
        case .record(let members) where members.map(\.name) != Snapshot.ownNames:
            notes.append(members.map(Self.member).joined(separator: ", "))
        case .oneOf(let names) where names.count <= 4: notes.append(names.map { "`\($0)`" }.joined(separator: ", "))
        default: break
        }
        return "`\(member.name)`" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ": ")))")
    }

    // MARK: Kinds

    /// The settings of all kinds of connection but mail. A kind with another default has its own row.
    private static let common = shared(by: Catalogue.connections) {
        var setting = $0
        setting.fallback = nil
        return rows([setting])
    }

    /// The further settings of all kinds that get messages, but mail.
    private static let commonToReceivers = shared(by: Catalogue.connections.filter { $0.messages != nil }) { rows([$0]) }
        .filter { setting in !common.contains { rows([$0]) == rows([setting]) } }

    /// The settings of the first of these kinds that all of them but mail have, and most of them as `form` shows them.
    private static func shared(by manifests: [ConnectionManifest], as form: (Setting) -> [[String]]) -> [Setting] {
        let all = manifests.filter { $0.kind != "email" }.map(\.settings)
        return (all.first ?? []).filter { setting in
            all.allSatisfy { settings in settings.contains { $0.name == setting.name } }
                && all.count { settings in settings.contains { form($0) == form(setting) } } > all.count / 2
        }
    }

    private static func connection(_ manifest: ConnectionManifest) -> String {
        let role =
            manifest.messages == nil ? "Sources read from it, and actions write through it." : "`notify` can name it in `to`."
        let receivers = manifest.messages == nil ? [] : commonToReceivers
        let shared = receivers + common.filter { setting in !receivers.contains { $0.name == setting.name } }
        let own = manifest.settings.filter { setting in !shared.contains { rows([$0]) == rows([setting]) } }
        return "### \(manifest.kind)\n\n\(manifest.summary) \(role)\n\n\(table(own))"
    }

    private static var receivers: String {
        "| kind | `thread` | `update` | `resolve` | `mentions` |\n|---|---|---|---|---|\n"
            + Catalogue.connections.compactMap { manifest in
                manifest.messages.map { abilities in
                    let cells = [abilities.threads, abilities.updates, abilities.resolves, abilities.mentions].map(word)
                    return "| `\(manifest.kind)` | \(cells.joined(separator: " | ")) |\n"
                }
            }.joined()
    }

    private static func word(_ ability: Ability) -> String {
        switch ability {
        case .yes: "yes"
        case .no: ""
        case .setting(_, _, let line): "with `\(line)`"
        }
    }

    private static func source(_ manifest: SourceManifest) -> String {
        let connections = manifest.connections.map { "`\($0)`" }.joined(separator: ", ")
        return
            "### \(manifest.kind)\n\n\(manifest.summary) It reads from connections of kind \(connections).\n\n\(table(manifest.settings))"
    }

    private static func action(_ manifest: ActionManifest) -> String {
        var notes: [String] = [manifest.summary]
        switch manifest.receiver {
        case .taskConnection: notes.append("It goes to the connection of the source that showed the task.")
        case .named: break  // described in its summary
        case .namedOrAddress: notes.append("It goes to each connection that `to` names, or to the address in `url`.")
        case .local: notes.append("It stays on this machine.")
        }
        if let name = manifest.shorthand {
            let isMap = if case .map = manifest.arguments.first(where: { $0.name == name })?.type { true } else { false }
            notes.append(isMap ? "A mapping without `\(name)` is `{\(name): …}`." : "A bare text is `{\(name): …}`.")
        }
        if manifest.effect == .writes { notes.append("It writes to a task, so it counts against the budget of writes.") }
        if let expires = manifest.expires { notes.append("It expires after \(DurationText.format(expires)).") }
        return "### \(manifest.kind)\n\n\(notes.joined(separator: " "))\n\n"
            + table(RuleKeys.arguments(of: manifest), folding: ["sections"])
    }

    private static var filterOperators: String {
        FilterReference.operators.reduce("| operator | meaning | as in | encoded |\n|---|---|---|---|\n") { text, row in
            let cells = ["`\(row.word)`", row.summary, "`\(row.example)`", "`\(row.encoded)`"]
            return text + "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n"
        }
    }

    private static var notBuilt: String {
        func list(_ what: String, _ names: [String]) -> String {
            names.isEmpty ? "" : "- \(what): \(names.map { "`\($0)`" }.joined(separator: ", "))\n"
        }
        return list("in bellhop.yaml", ["store: postgres://…"])
    }

    // MARK: Tables

    /// The settings whose members have a table of their own.
    private static let tabled: Set = ["oauth", "push", "quiet"]

    private static func table(_ settings: [Setting], folding folded: Set<String> = []) -> String {
        let head = "| setting | what may be written | default | meaning |\n|---|---|---|---|\n"
        return head + rows(settings, folding: folded).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
    }

    /// A row for each setting, and for each member of a record with its full path: without the members of tabled and folded settings, and
    /// of spans of working time.
    private static func rows(_ settings: [Setting], in prefix: String = "", folding folded: Set<String> = []) -> [[String]] {
        settings.flatMap { setting in
            let name = prefix + setting.name
            let fallback = setting.fallback.map { "`\($0)`" } ?? (setting.required ? "*required*" : "")
            let row = ["`\(name)`", words(setting.type), fallback, setting.summary].map { $0.replacing("|", with: "\\|") }
            let inner = tabled.union(folded).contains(setting.name) ? [] : members(setting.type)
            return [row] + (inner.map(\.name) == ["time", "calendar"] ? [] : rows(inner, in: name + ".", folding: folded))
        }
    }

    /// The members of a record that lies below others.
    private static func members(of path: String..., in settings: [Setting]) -> [Setting] {
        path.reduce(settings) { level, name in level.filter { $0.name == name }.flatMap { members($0.type) } }
    }

    private static func members(_ type: SettingType) -> [Setting] {
        switch type {
        case .record(let members): members
        case .either(let types): types.flatMap(members)
        case .list(let element), .map(let element): members(element)
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .json, .markdown, .expression:
            []
        }
    }

    private static func words(_ type: SettingType) -> String {
        switch type {
        case .text, .target: "text"
        case .scalar: "text, number, `true`, `false` or `null`"
        case .secret: "text, never shown"
        case .name: "name"
        case .integer(let range):
            range.upperBound == Int.max
                ? "number from \(range.lowerBound)" : "number from \(range.lowerBound) to \(range.upperBound)"
        case .number(let range):
            "number from \(JSON.double(range.lowerBound).text) to \(JSON.double(range.upperBound).text), with decimals"
        case .boolean: "`true` or `false`"
        case .duration: "duration"
        case .size: "size"
        case .rate: "rate"
        case .oneOf(let names): names.map { "`\($0)`" }.joined(separator: ", ")
        case .address: "http or https address"
        case .path: "path"
        case .list(let element): "\(words(element)), or a list"
        case .map(let element): "names, each with: \(words(element))"
        case .record: "mapping"
        case .json: "any value"
        case .either(let types): types.map(words).joined(separator: ", or ")
        case .markdown: "text in the small Markdown"
        case .expression: "CEL"
        }
    }
}
