import BellhopCore
import YAML

/// `on: {all}`, `{sequence}` or `{none}` as written; its expressions are read once the names of the rule are known.
struct PatternDraft {
    struct Entry {
        var node: Node
        /// Its types and changes.
        var trigger: TriggerReader
        var condition: Node?
        var from: Node?
    }

    var kind: Pattern.Kind
    var entries: [Entry]
    var after: [Entry]
    var within: Node?
    var by: Node?
}

/// Reads the shape of `on: {all}`, `{sequence}` or `{none}`.
struct PatternReader: ProblemCollector {
    let file: String
    let context: RuleContext
    var problems = Diagnostics()

    /// The first of the keys that make a mapping a pattern.
    static func key(in mapping: Mapping) -> Mapping.Pair? {
        mapping.first { Pattern.Kind(rawValue: $0.name) != nil }
            ?? mapping.first { RuleKeys.pattern.map(\.name).contains($0.name) }
    }

    mutating func read(_ mapping: Mapping, _ node: Node) -> PatternDraft? {
        let kinds = mapping.filter { Pattern.Kind(rawValue: $0.name) != nil }
        guard let first = kinds.first, let kind = Pattern.Kind(rawValue: first.name) else {
            return refuse(
                "missing-key", "`\(mapping.pairs[0].name)` needs `all`, `sequence` or `none` next to it", at: node,
                help: "write, for example, `on: {none: task_commented, after: task_created, within: 4h, by: task.id}`")
        }
        for other in kinds.dropFirst() {
            report(
                "not-together", "a rule has only one of `all`, `sequence` and `none`", at: other.key, help: "write two rules")
        }
        let known = ["within", "by"] + (kind == .none ? ["after"] : [])
        for pair in mapping where Pattern.Kind(rawValue: pair.name) == nil && !known.contains(pair.name) {
            report(
                "unknown-key", "`\(kind.rawValue)` has no setting `\(pair.name)`", at: pair.key,
                help: pair.name == "after"
                    ? "`after` belongs to `none`"
                    : pair.name == "from" || pair.name == "when"
                        ? "it belongs to the rule, or to one event: `{type: task_created, \(pair.name): …}`"
                        : Suggestion.didYouMean(pair.name, among: known) ?? "use " + known.quotedList)
        }
        let within = mapping["within"]?.value
        if within == nil || within?.isNull == true {
            report(
                "missing-key", "`\(kind.rawValue)` needs `within`", at: first.key,
                help:
                    "add `within: \(kind == .none ? "4h" : "1h")`, the time in which \(kind == .none ? "one of them must come" : "all must come")"
            )
        }
        var entries: [PatternDraft.Entry]
        if kind == .none {
            entries = any(first.value, "`none`")
        } else if let items = first.value.items {
            if items.count < 2 {
                report("wrong-value", "`\(kind.rawValue)` must be a list of at least two events", at: first.value)
            }
            entries = items.compactMap { entry($0) }
        } else {
            report(
                "wrong-type", "`\(kind.rawValue)` must be a list of events, not \(first.value.kind)", at: first.value,
                help: "write, for example, `\(kind.rawValue): [task_created, task_commented]`")
            entries = []
        }
        let after = kind == .none ? mapping["after"].map { any($0.value, "`after`") } ?? [] : []
        return PatternDraft(
            kind: kind, entries: entries, after: after, within: within?.isNull == true ? nil : within, by: mapping["by"]?.value)
    }

    /// Reads one event, or a list of alternative events.
    private mutating func any(_ node: Node, _ name: String) -> [PatternDraft.Entry] {
        guard let items = node.items else { return entry(node).map { [$0] } ?? [] }
        if items.isEmpty { report("wrong-type", "\(name) names no event", at: node) }
        return items.compactMap { entry($0) }
    }

    private mutating func entry(_ node: Node) -> PatternDraft.Entry? {
        var entry = PatternDraft.Entry(node: node, trigger: TriggerReader(file: file, context: context))
        if let mapping = node.mapping, mapping["type"] != nil {
            let known = RuleKeys.patternEntry.map(\.name)
            for pair in mapping where !known.contains(pair.name) {
                report(
                    "unknown-key", "an event here has no setting `\(pair.name)`", at: pair.key,
                    help: Suggestion.didYouMean(pair.name, among: known) ?? "use " + known.quotedList)
            }
            (entry.condition, entry.from) = (mapping["when"]?.value, mapping["from"]?.value)
            mapping["type"].map { entry.trigger.read($0.value) }
        } else if let mapping = node.mapping, let key = ["when", "from"].lazy.compactMap({ mapping[$0] }).first {
            return refuse(
                "missing-key", "an event with `\(key.name)` needs `type`", at: node,
                help: "write, for example, `{type: task_commented, when: \"!comment.own\"}`")
        } else {
            entry.trigger.read(node)
        }
        problems.report(entry.trigger.problems)
        if entry.trigger.schedule != nil || entry.trigger.pattern != nil {
            return refuse(
                "wrong-value", "a schedule or a pattern cannot be one of several events", at: node,
                help: "name a type, or write `{type: …, when: …}`")
        }
        return entry.trigger.triggers.isEmpty ? nil : entry
    }
}
