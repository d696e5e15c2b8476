import BellhopCore
import CEL

/// Comparisons of one value with constants that contradict each other, so that a condition is never true, or always.
extension ExpressionReview {
    /// Warns about two sides of `&&` that are never true together.
    mutating func checkNeverTrue(_ left: CEL.Node, _ right: CEL.Node) {
        for (first, one) in comparisons(left, isOr: false) {
            for (second, other) in comparisons(right, isOr: false) where one.excludes(other) {
                var help = "write `||` if one of them is enough"
                if case (.oneOf, .oneOf) = (one.relation, other.relation) {
                    help = "write `\(one.operand) in [\(one.constants), \(other.constants)]` for one of several values"
                }
                return report(
                    "never-true", "this is never true together with `\(text(first))`", at: second.range, help: help)
            }
        }
    }

    /// Warns about two sides of `||` of which one is always true: `state != 1 || state != 2`.
    mutating func checkAlwaysTrue(_ left: CEL.Node, _ right: CEL.Node) {
        for (first, one) in comparisons(left, isOr: true) {
            for (second, other) in comparisons(right, isOr: true) where one.operand == other.operand {
                guard case (.not(let value), .not(let different)) = (one.relation, other.relation), value != different else {
                    continue
                }
                return report(
                    "always-true", "either this or `\(text(first))` is always true", at: second.range,
                    help: "write `&&` if both must hold")
            }
        }
    }

    /// The comparisons with constants among the sides of `&&` or `||`.
    private func comparisons(_ node: CEL.Node, isOr: Bool) -> [(CEL.Node, Comparison)] {
        switch node.kind {
        case .or(let left, let right) where isOr, .and(let left, let right) where !isOr:
            comparisons(left, isOr: isOr) + comparisons(right, isOr: isOr)
        case .call(let name, target: nil, let sides) where sides.count == 2:
            (comparison(name, sides[0], sides[1]) ?? comparison(Self.mirrored[name], sides[1], sides[0])).map { [(node, $0)] }
                ?? []
        default: []
        }
    }

    private static let mirrored = ["_==_": "_==_", "_!=_": "_!=_", "_<_": "_>_", "_<=_": "_>=_", "_>_": "_<_", "_>=_": "_<=_"]

    private func comparison(_ name: String?, _ operand: CEL.Node, _ constant: CEL.Node) -> Comparison? {
        if case .literal = operand.kind { return nil }
        let relation: Comparison.Relation
        if name == "@in" {
            guard case .list(let elements) = constant.kind else { return nil }
            let values = elements.compactMap { Comparison.Constant($0.value) }
            guard values.count == elements.count else { return nil }
            relation = .oneOf(values)
        } else {
            guard let value = Comparison.Constant(constant) else { return nil }
            switch (name, value) {
            case ("_==_", _): relation = .oneOf([value])
            case ("_!=_", _): relation = .not(value)
            case ("_<_", .number(let most)): relation = .below(most, inclusive: false)
            case ("_<=_", .number(let most)): relation = .below(most, inclusive: true)
            case ("_>_", .number(let least)): relation = .above(least, inclusive: false)
            case ("_>=_", .number(let least)): relation = .above(least, inclusive: true)
            default: return nil
            }
        }
        let written = text(constant)
        let constants = name == "@in" ? String(written.dropFirst().dropLast()) : written
        return Comparison(operand: text(operand), relation: relation, constants: constants)
    }
}

/// A comparison of a value with one or several constants.
private struct Comparison {
    enum Constant: Hashable {
        case number(Double)
        case text(String)
        case flag(Bool)

        /// Nil for other nodes, and for numbers that a `Double` does not hold exactly.
        init?(_ node: CEL.Node) {
            guard case .literal(let value) = node.kind else { return nil }
            switch value {
            case .int(let number): self = .number(Double(number))
            case .double(let number): self = .number(number)
            case .string(let text): self = .text(text)
            case .bool(let flag): self = .flag(flag)
            default: return nil
            }
            if case .int(let number) = value, Int64(exactly: Double(number)) != number { return nil }
        }
    }

    enum Relation {
        case oneOf([Constant])
        case not(Constant)
        case above(Double, inclusive: Bool)
        case below(Double, inclusive: Bool)

        func allows(_ value: Constant) -> Bool {
            switch (self, value) {
            case (.oneOf(let values), _): values.contains(value)
            case (.not(let other), _): value != other
            case (.above(let least, let inclusive), .number(let number)): inclusive ? number >= least : number > least
            case (.below(let most, let inclusive), .number(let number)): inclusive ? number <= most : number < most
            case (.above, _), (.below, _): true
            }
        }
    }

    /// The text of the value that is compared.
    var operand: String
    var relation: Relation
    /// The text of the constants.
    var constants: String

    /// Whether no value fulfils both.
    func excludes(_ other: Comparison) -> Bool {
        guard operand == other.operand else { return false }
        switch (relation, other.relation) {
        case (.oneOf(let values), let limit), (let limit, .oneOf(let values)): return !values.contains(where: limit.allows)
        case (.above(let least, let first), .below(let most, let second)),
            (.below(let most, let second), .above(let least, let first)):
            return least > most || least == most && !(first && second)
        default: return false
        }
    }
}
