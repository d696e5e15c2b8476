import BellhopCore
import CEL
import YAML

/// Compiles the expressions of one rule and reports problems at their place in the file.
struct ExpressionCompiler: ProblemCollector {
    let file: String
    var names: RuleNames
    let purpose: ExpressionPurpose
    var problems = Diagnostics()
    /// The snapshots of the sources that the rule's expressions name.
    private(set) var snapshots: Set<Scope.ID> = []

    /// Compiles a scalar that is an expression. `what` names it in messages: `` `when` ``.
    mutating func compile(_ node: YAML.Node, _ what: String, expecting type: CELType? = nil) -> RuleExpression? {
        compileFully(node, what, expecting: type).map(\.0)
    }

    /// The same, together with the language's own expression.
    mutating func compileFully(
        _ node: YAML.Node, _ what: String, expecting type: CELType? = nil
    ) -> (RuleExpression, CEL.Expression)? {
        guard let scalar = node.scalar else {
            return refuse("wrong-type", "\(what) must be an expression, not \(node.kind)", at: node)
        }
        if let cut = node.cutByComment() {
            problems.report(Diagnostic(cut, in: node.source, file: file))
            return nil
        }
        let text = scalar.meantText
        if text.trimmedBlanks.isEmpty {
            return refuse("empty-expression", "\(what) is empty", at: node, help: "write an expression, or leave the key out")
        }
        if let template = try? TemplateText(text), template.whole != nil {
            return refuse(
                "template-in-expression", "\(what) is an expression already", at: node, help: "write it without `${{` and `}}`")
        }
        return compile(text, at: 0, of: node, what, expecting: type)
    }

    /// Compiles a condition, and warns if it is never true.
    /// - Parameter instead: the help of the warning: what to write instead.
    mutating func condition(_ node: YAML.Node, _ what: String, instead: String) -> RuleExpression? {
        guard let (condition, expression) = compileFully(node, what, expecting: .bool) else { return nil }
        if case .literal(.bool(false)) = expression.root.kind {
            warn("never-true", "\(what) is never true", at: node, help: instead)
        }
        return condition
    }

    /// Compiles an expression inside a scalar, starting at this byte of the scalar's text.
    mutating func compile(
        _ text: String, at offset: Int, of node: YAML.Node, _ what: String, expecting type: CELType? = nil
    ) -> (RuleExpression, CEL.Expression)? {
        do throws(Issues) {
            var expression = try names.compile(text, expecting: type)
            problems.all += ExpressionReview.issues(in: expression, names).map { issue in
                let place = place(of: issue, at: offset, of: node)
                return Diagnostic(.warning, code: issue.code, issue.message, at: place, help: issue.help)
            }
            snapshots.formUnion(names.snapshots(of: expression))
            if let coverage = purpose.coverage {
                let tally = coverage.tally(of: expression, what, isCondition: type == .bool) { range in
                    Diagnostic.Place(node, utf8: range.lowerBound + offset..<range.upperBound + offset, file: file)
                }
                expression = expression.counted(by: tally)
            }
            let compiled = RuleExpression(expression, needs: names.needs(of: expression), keepsSource: purpose.keepsSources)
            return (compiled, expression)
        } catch {
            if let comment = node.trailingComment, error.all.contains(where: { $0.range.upperBound >= text.utf8.count }),
                error.all.contains(where: { $0.code == "syntax" })
            {
                problems.report(Diagnostic(node.cutByComment(comment), in: node.source, file: file))
            } else {
                let all = error.all.map { diagnostic($0, text, at: offset, of: node, what) }
                // Report a query in another language once, not once per unknown word in it.
                problems.all += all.first { $0.code == IssueWording.foreignQuery }.map { [$0] } ?? all
            }
            return nil
        }
    }

    /// Hands the problems so far over to the caller.
    mutating func takeProblems() -> Diagnostics {
        defer { problems = Diagnostics() }
        return problems
    }

    private func diagnostic(_ issue: Issue, _ text: String, at offset: Int, of node: YAML.Node, _ what: String) -> Diagnostic {
        IssueWording(names: names).diagnostic(issue, in: text, at: place(of: issue, at: offset, of: node), what)
    }

    private func place(of issue: Issue, at offset: Int, of node: YAML.Node) -> Diagnostic.Place {
        Diagnostic.Place(node, utf8: issue.range.lowerBound + offset..<issue.range.upperBound + offset, file: file)
    }
}
