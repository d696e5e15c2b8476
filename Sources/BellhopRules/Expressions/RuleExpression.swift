import CEL

/// An expression of a rule, ready to run.
struct RuleExpression: Sendable {
    var program: Program
    var type: CELType
    /// Paths that must have one of a few values for it to be true.
    var equalities: [Expression.Equality]
    /// What it reads that is known only at routing.
    var needs: Needs
    /// Explains its value; nil outside of tests.
    var source: Source?

    /// A class, so that expressions without one stay cheap to copy.
    final class Source: Sendable {
        let expression: CEL.Expression

        init(_ expression: CEL.Expression) { self.expression = expression }
    }

    struct Needs: OptionSet, Sendable, Hashable {
        let rawValue: UInt8
        /// The snapshot of the rule's sources.
        static let tasks = Needs(rawValue: 1)
        /// The time of routing.
        static let now = Needs(rawValue: 2)
    }
}
