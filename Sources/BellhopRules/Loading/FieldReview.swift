import BellhopCore
import CEL

/// Finds wrong fields that the checker cannot refuse: those in `changes` and `event.data`, and, without a configuration, probable typos.
struct FieldReview {
    let names: RuleNames

    func issues(in expression: CEL.Expression) -> [Issue] {
        let used = expression.references.variables
        guard used.contains("changes") || used.contains("event") || names.types.isOpen else { return [] }
        var found: [Issue] = []
        visit(expression.root, &found)
        return found
    }

    private func visit(_ node: CEL.Node, _ found: inout [Issue]) {
        switch node.kind {
        case .select(let operand, let field, _), .has(let operand, let field, _):
            if case .identifier(let name, _) = operand.kind, let issue = review(field, of: name, at: node.point) {
                found.append(issue)
            } else if let data = EventMembers(of: operand, names.events), let issue = data.issue(field, at: node.point) {
                found.append(issue)
            }
        default: break
        }
        for child in node.kind.children { visit(child, &found) }
    }

    private func review(_ field: String, of name: String, at range: Range<Int>) -> Issue? {
        let known: [String]
        switch name {
        case "changes": known = names.types.changeable
        case "task", "before": known = names.types.isOpen ? names.types.task.fields.map(\.name) : []
        default: return nil
        }
        guard !known.isEmpty, !known.contains(field) else { return nil }
        let help = Suggestion.didYouMean(field, among: known)
        // Without a configuration any field may exist; only probable typos are reported.
        if names.types.isOpen, help == nil || names.types.isCustom(field) { return nil }
        return Issue("unknown-field", "no field `\(field)` on \(names.types.task.name)", at: range, help: help)
    }
}
