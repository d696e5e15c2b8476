import BellhopCore
import CEL

/// Finds wrong fields that the checker cannot refuse: those in `changes` and `event.data`, and, without a configuration, probable typos.
struct FieldReview {
    let names: RuleNames
    let expression: CEL.Expression

    var issues: [Issue] {
        var found: [Issue] = []
        visit(expression.root, &found)
        return found
    }

    private func visit(_ node: CEL.Node, _ found: inout [Issue]) {
        switch node.kind {
        case .select(let operand, let field, _), .has(let operand, let field, _):
            if let issue = review(field, of: operand, at: node.point) {
                found.append(issue)
            } else if let data = EventMembers(of: operand, names.events), let issue = data.issue(field, at: node.point) {
                found.append(issue)
            }
        default: break
        }
        for child in node.kind.children { visit(child, &found) }
    }

    private func review(_ field: String, of operand: CEL.Node, at range: Range<Int>) -> Issue? {
        let known = fields(of: operand)
        guard !known.isEmpty, !known.contains(field) else { return nil }
        let help = Suggestion.didYouMean(field, among: known)
        // Without a configuration any field may exist; only probable typos are reported.
        if names.types.isOpen, help == nil || names.types.isCustom(field) { return nil }
        return Issue("unknown-field", "no field `\(field)` on \(names.types.task.name)", at: range, help: help)
    }

    /// The fields of `changes`, also those of a gathered event, and without a configuration those of `task` and `before`.
    private func fields(of operand: CEL.Node) -> [String] {
        if expression.type(of: operand) == names.types.changes { return names.types.changeable }
        guard names.types.isOpen, case .identifier(let name, _) = operand.kind, ["task", "before"].contains(name) else {
            return []
        }
        return names.types.task.fields.map(\.name)
    }
}
