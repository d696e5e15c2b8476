import BellhopCore
import CEL
import YAML

/// The expressions of a rule outside its steps: `let`, and the keys of `once` and `throttle`.
extension RuleReader {
    mutating func readLet(_ node: YAML.Node?, rule: String, _ compiler: inout ExpressionCompiler) {
        guard let node else { return }
        guard let mapping = node.mapping else {
            return report("wrong-type", "`let` must be a mapping of names to expressions, not \(node.kind)", at: node)
        }
        let taken: Set<String> = [
            "event", "task", "before", "changes", "comment", "tasks", "events", "events_more", "now", "source", "rule", "user",
            "zone", "key", "since", "answered", "env",
            "secret",
        ]
        for pair in mapping {
            if taken.contains(pair.name) || !MessageReader.isName(pair.name) {
                let help =
                    taken.contains(pair.name) ? "this name already has a meaning in expressions" : "letters, digits and `_`"
                report("wrong-value", "`\(pair.name)` is not a valid name in `let`", at: pair.key, help: help)
                continue
            }
            let reported = compiler.problems.all.count
            if let (compiled, expression) = compiler.compileFully(pair.value, "`\(pair.name)`") {
                compiler.names.declare(pair.name, expression, needs: compiled.needs, rule: rule)
            } else {
                // Declared anyway, so that its uses are not reported too.
                compiler.names.declare(element: pair.name, .dyn, scope: rule)
                let later = mapping.names.drop { $0 != pair.name }.dropFirst()
                for index in compiler.problems.all.indices.dropFirst(reported) {
                    let problem = compiler.problems.all[index]
                    guard problem.code == "unknown-name", let name = later.first(where: { problem.message.contains("`\($0)`") })
                    else { continue }
                    compiler.problems.all[index].help = "write `\(name)` above `\(pair.name)`, which uses it"
                }
            }
        }
    }

    /// A key expression, which must give the same value whenever it is evaluated.
    /// - Parameter isLate: whether it is evaluated after the rule has waited, counted or gathered.
    mutating func key(
        _ node: YAML.Node, _ what: String, _ compiler: inout ExpressionCompiler, isLate: Bool = false
    ) -> RuleExpression? {
        guard let (expression, read) = compiler.compileFully(node, what) else { return nil }
        let isConstant =
            Set(read.references.variables).isSubset(of: ["rule", "zone"])
            && RuleFunctions.ofEvents.isDisjoint(with: read.references.functions)
        if expression.type == .bool || isConstant {
            problems.report(constantKey(node, what, isSwitch: expression.type == .bool, compiler.names.events))
        }
        if let help = Self.part(of: expression.type) {
            report("wrong-type", "\(what) must be one value, not \(help.what)", at: node, help: help.help)
        }
        let needs = expression.needs.subtracting(isLate ? .gathered : [])
        if !needs.isEmpty {
            let (name, help) =
                needs.contains(.now)
                ? ("`now`, the time of routing", "`event.time` is when the event was observed")
                : !needs.isDisjoint(with: [.gathered, .digest])
                    ? ("`events`, `key` or `since`", "use the event or its task as the key")
                    : (needs.contains(.tasks) ? "`tasks`" : "`snapshot`", "use the event's task as the key")
            report("not-known-yet", "\(what) cannot use \(name)", at: node, help: help)
        }
        return expression
    }

    /// The name of a type of whole objects, and the suggestion to write instead; nil for any other type.
    private static func part(of type: CELType) -> (what: String, help: String)? {
        switch type {
        case .nullable(let inner), .list(let inner): part(of: inner)
        case .object(let type): ("\(type.name) as a whole", "name a part of it that stays the same, such as `task.id`")
        default: nil
        }
    }

    /// Reports a key that is the same for every event.
    private func constantKey(_ node: YAML.Node, _ what: String, isSwitch: Bool, _ events: [EventDefinition]) -> Diagnostic {
        let isOnce = what == "`once`"
        let message =
            isSwitch
            ? "\(what) must be a key, not true or false: \(isOnce ? "the rule runs only once for each key" : "runs with the same key share the time")"
            : isOnce ? "`once` is the same for every event, so the rule runs only one time" : "`by` is the same for every event"
        let key = events.allSatisfy(\.hasTask) ? "task.id" : "event.id"
        let help =
            isOnce ? "write `once: \(key)`" : "write `by: \(key)`, or leave `by` out if all runs share the time"
        return Diagnostic(
            isSwitch ? .error : .warning, code: "constant-key", message, at: Diagnostic.Place(node, file: file), help: help)
    }

    mutating func throttle(_ node: YAML.Node, _ compiler: inout ExpressionCompiler) -> Rule.Throttle? {
        if let text = node.scalarText, (try? DurationText.parse(text)) != nil {
            return refuse(
                "wrong-type", "`throttle` must be a mapping, not \(node.kind)", at: node,
                help: "write `throttle: {every: \(text)}`")
        }
        let tree = tree(node, RuleKeys.throttle, of: "`throttle`")
        guard let every = tree["every"]?.json?.asInt else { return nil }
        guard let place = tree.deferred("by") else { return Rule.Throttle(every: .microseconds(every)) }
        return key(place, "`by`", &compiler, isLate: true).map { Rule.Throttle(every: .microseconds(every), by: $0) }
    }

    /// Warns if a rule answers every comment, so also its own ones, unless the source reports no comments of their kind.
    mutating func warnOfOwnComments(_ mapping: Mapping, _ trigger: TriggerReader, _ steps: [Step]) {
        guard trigger.pattern == nil, trigger.triggers.contains(where: { $0.type == .taskCommented }), let pair = mapping["on"],
            ["when", "once", "throttle", "count", "group", "for"].allSatisfy({ mapping[$0] == nil }),
            steps.contains(where: { $0.action.kind == "comment" && $0.condition == nil && $0.task == nil })
        else { return }
        warn(
            "own-comments", "this rule may answer its own comments too, until the limit of writes stops it", at: pair.key,
            help: "add `when: \"!comment.own\"`")
    }
}
