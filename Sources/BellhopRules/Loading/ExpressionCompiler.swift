import BellhopCore
import CEL
import YAML

/// Compiles the expressions of one rule and says what is wrong with them, in the file.
struct ExpressionCompiler {
    let file: String
    var names: RuleNames
    private(set) var problems: [Diagnostic] = []

    init(file: String, names: RuleNames) {
        self.file = file
        self.names = names
    }

    /// Compiles a scalar that is an expression. `what` names it in messages: `` `when` ``.
    mutating func compile(_ node: YAML.Node, _ what: String, expecting type: CELType? = nil) -> RuleExpression? {
        compileFully(node, what, expecting: type).map(\.0)
    }

    /// The same, with what the language made of it.
    mutating func compileFully(
        _ node: YAML.Node, _ what: String, expecting type: CELType? = nil
    ) -> (RuleExpression, CEL.Expression)? {
        guard let scalar = node.scalar else {
            report(code: "wrong-type", "\(what) is an expression, not \(node.kind)", at: node)
            return nil
        }
        if let cut = node.cutByComment() {
            problems.append(Diagnostic(cut, in: node.source, file: file))
            return nil
        }
        let text = scalar.meantText
        if text.trimmedBlanks.isEmpty {
            report(code: "empty-expression", "\(what) is empty", at: node, help: "write an expression, or leave the key out")
            return nil
        }
        if let template = try? TemplateText(text), template.whole != nil {
            report(
                code: "template-in-expression", "\(what) is an expression already", at: node,
                help: "write it without `${{` and `}}`")
            return nil
        }
        return compile(text, at: 0, of: node, what, expecting: type)
    }

    /// Compiles an expression inside a scalar, which begins at this byte of the scalar's characters.
    mutating func compile(
        _ text: String, at offset: Int, of node: YAML.Node, _ what: String, expecting type: CELType? = nil
    ) -> (RuleExpression, CEL.Expression)? {
        do throws(Issues) {
            let expression = try names.environment.compile(text, expecting: type)
            let issues = FieldReview(names: names).issues(in: expression)
            guard issues.isEmpty else {
                problems += issues.map { told($0, text, at: offset, of: node, what) }
                return nil
            }
            let compiled = RuleExpression(
                program: expression.program, type: expression.type, equalities: expression.equalities,
                needs: names.needs(of: expression))
            return (compiled, expression)
        } catch {
            if let comment = node.trailingComment, error.all.contains(where: { $0.range.upperBound >= text.utf8.count }),
                error.all.contains(where: { $0.code == "syntax" })
            {
                problems.append(Diagnostic(node.cutByComment(comment), in: node.source, file: file))
            } else {
                problems += error.all.map { told($0, text, at: offset, of: node, what) }
            }
            return nil
        }
    }

    mutating func report(code: String, _ message: String, at node: YAML.Node, help: String? = nil) {
        problems.append(Diagnostic(code: code, message, at: Diagnostic.Place(node, file: file), help: help))
    }

    mutating func report(_ diagnostic: Diagnostic) { problems.append(diagnostic) }

    mutating func report(_ others: Diagnostics) { problems += others.all }

    /// The problems so far, which are then the caller's.
    mutating func takeProblems() -> [Diagnostic] {
        defer { problems = [] }
        return problems
    }

    // MARK: What the language says, in the words of rules

    private func told(_ issue: Issue, _ text: String, at offset: Int, of node: YAML.Node, _ what: String) -> Diagnostic {
        let place = Diagnostic.Place(
            node, utf8: issue.range.lowerBound + offset..<issue.range.upperBound + offset, file: file)
        let part = Array(text.utf8)[issue.range.clamped(to: 0..<text.utf8.count)]
        let word = String(decoding: part, as: UTF8.self)
        switch issue.code {
        case "unknown-name":
            if let better = unknownName(word, at: place) { return better }
        case "unknown-field", "invalid-argument":
            if let better = unknownField(issue, word, at: place) { return better }
        case "wrong-type":
            let prefix = "the expression's type here"
            if issue.message.hasPrefix(prefix) {
                return Diagnostic(code: issue.code, what + issue.message.dropFirst(prefix.count), at: place, help: issue.help)
            }
        default: break
        }
        return Diagnostic(code: issue.code, issue.message, at: place, help: issue.help)
    }

    /// A field that a source lacks, with the name of that source.
    private func unknownField(_ issue: Issue, _ word: String, at place: Diagnostic.Place) -> Diagnostic? {
        let task = names.types.task.name
        guard issue.message.hasPrefix("no field "), issue.message.hasSuffix(task) else { return nil }
        let field = issue.code == "unknown-field" ? word : String(word.dropFirst().dropLast())
        let source = names.sources.count > 1 ? names.sources.first { $0.schema[field] == nil } : nil
        let whose = source.map { "a task of source `\($0.name)`" } ?? task
        let help = issue.help ?? source.flatMap { Suggestion.didYouMean(field, among: $0.schema.fields.map(\.name)) }
        return Diagnostic(code: "unknown-field", "no field `\(field)` on \(whose)", at: place, help: help)
    }

    private func unknownName(_ word: String, at place: Diagnostic.Place) -> Diagnostic? {
        let name = String(word.prefix { $0 != "." })
        switch name {
        case "env", "secret":
            return Diagnostic(
                code: "not-in-rules", "`\(name)` exists in bellhop.yaml only", at: place,
                help: "give a connection there what it needs, and name the connection in `to`")
        case "task", "before", "changes":
            let types = names.events.map { "`\($0.name)`" }.joined(separator: ", ")
            return Diagnostic(
                code: "no-task", "\(types) has no task", at: place, help: "`tasks` holds the tasks of the rule's sources")
        case _ where RuleKeys.laterNames.contains(name):
            return Diagnostic(code: "not-built-yet", "`\(name)` is not built yet", at: place)
        default: return nil
        }
    }
}

/// Looks for fields that the checker cannot refuse: those among `changes`, and, without a configuration, probable slips.
private struct FieldReview {
    let names: RuleNames

    func issues(in expression: CEL.Expression) -> [Issue] {
        let used = expression.references.variables
        guard used.contains("changes") || names.types.isOpen else { return [] }
        var found: [Issue] = []
        visit(expression.root, &found)
        return found
    }

    private func visit(_ node: CEL.Node, _ found: inout [Issue]) {
        switch node.kind {
        case .select(let operand, let field, _), .has(let operand, let field, _):
            if case .identifier(let name, _) = operand.kind, let issue = review(field, of: name, at: node.point) {
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
        // Without a configuration a field may be anybody's own; only what looks like a slip is one.
        if names.types.isOpen, help == nil || field.hasPrefix("u_") || field.hasPrefix("x_") { return nil }
        return Issue(code: "unknown-field", message: "no field `\(field)` on \(names.types.task.name)", range: range, help: help)
    }
}
