import CEL

/// An expression of a rule, ready to run.
///
/// A class, though immutable, so that programs are not copied when many rules judge one event.
final class RuleExpression: Sendable {
    let program: Program
    let type: CELType
    /// Paths that must have one of a few values for it to be true.
    let equalities: [Expression.Equality]
    /// The facts that it reads and that are known only at routing.
    let needs: Needs
    /// The names and functions that it uses.
    let (variables, functions): ([String], [String])
    /// The expression that explains its value; nil unless the rules were loaded for tests or to explain.
    let source: Expression?

    init(_ expression: Expression, needs: Needs, keepsSource: Bool) {
        program = expression.program
        type = expression.type
        equalities = expression.equalities
        self.needs = needs
        (variables, functions) = (expression.references.variables, expression.references.functions)
        source = keepsSource ? expression : nil
    }

    struct Needs: OptionSet, Sendable, Hashable {
        let rawValue: UInt8
        /// The snapshot of the rule's sources.
        static let tasks = Needs(rawValue: 1)
        /// The snapshots of sources that the expression names.
        static let snapshots = Needs(rawValue: 4)
        /// The time of routing.
        static let now = Needs(rawValue: 2)
        /// The events that the rule waited for, counted or gathered.
        static let gathered = Needs(rawValue: 8)
        /// The events since the previous run of the rule.
        static let digest = Needs(rawValue: 16)
    }
}
