import BellhopCore
import YAML

/// Finds mistakes in the arguments of an action that their types do not exclude, in rules and in deliveries that a person edits.
struct ArgumentReview {
    let action: ActionManifest
    let file: String

    /// - Parameter arguments: those that are known; nil members are templates.
    func problems(of arguments: JSON, at node: YAML.Node) -> Diagnostics {
        var problems = Diagnostics()
        if action.effect == .writes, let name = action.shorthand, arguments[name]?.asString?.trimmedBlanks.isEmpty == true {
            problems.report(problem("empty-text", "this `\(action.kind)` is empty", at: node[name] ?? node))
        }
        for names in action.exclusive {
            let given = (node.mapping?.pairs ?? []).filter { names.contains($0.name) }
            guard given.count > 1 else { continue }
            problems.report(
                problem(
                    "two-values", "`\(given[0].name)` and `\(given[1].name)` cannot be combined", at: given[1].key,
                    help: "write one of " + names.quotedList))
        }
        if case .namedOrAddress = action.receiver, node["to"] == nil, let place = node["url"],
            let text = arguments["url"]?.asString, Self.isUnencrypted(text)
        {
            problems.report(
                problem(
                    "plain-http", "plain http:// to another machine can be read on the way", at: place,
                    help: "write `https://`, or name in `to` a connection of kind `\(action.kind)` that has `plain_http: true`"))
        }
        problems.report(fieldProblems(at: node))
        return problems
    }

    /// Problems in the names of the fields that the action sets.
    private func fieldProblems(at node: YAML.Node) -> Diagnostics {
        var problems = Diagnostics()
        guard action.arguments.contains(where: { $0.name == "fields" && $0.type == .map(.scalar) }),
            let fields = (action.shorthand(for: node) == nil ? node["fields"] : node)?.mapping
        else { return problems }
        if fields.isEmpty { problems.report(problem("missing-key", "`\(action.kind)` sets no field", at: node)) }
        for pair in fields {
            if let help = action.refusedFields[pair.name] {
                problems.report(
                    problem("wrong-field", "`\(action.kind)` does not set `\(pair.name)`", at: pair.key, help: help))
            } else if !FieldName.isValid(pair.name) {
                problems.report(
                    problem(
                        "wrong-field", "`\(pair.name)` is not a field of a record", at: pair.key,
                        help: pair.name.contains(".") ? "fields of other records cannot be set" : "letters, digits and `_`"))
            }
        }
        return problems
    }

    /// Whether the address is plain http:// to another machine, so that others can read the request on the way.
    private static func isUnencrypted(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard lower.hasPrefix("http://") else { return false }
        var authority = lower.utf8.dropFirst("http://".utf8.count).prefix { !"/?#".utf8.contains($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[authority.index(after: at)...] }
        if authority.first == UInt8(ascii: "[") { return !authority.starts(with: "[::1]".utf8) }
        return !Loopback.contains(Substring(authority.prefix { $0 != UInt8(ascii: ":") }))
    }

    private func problem(_ code: String, _ message: String, at node: YAML.Node, help: String? = nil) -> Diagnostic {
        Diagnostic(code: code, message, at: Diagnostic.Place(node, file: file), help: help)
    }
}
