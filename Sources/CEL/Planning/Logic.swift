/// `&&` and `||` over any number of terms: an error of one term is ignored if another decides.
enum Logic {
    /// - Parameter deciding: the answer of a term that decides the whole: `.no` for `&&`, `.yes` for `||`.
    static func chain(_ tests: [Plan.Test], deciding: Truth) -> Plan.Test {
        switch tests.count {
        case 1: return tests[0]
        case 2: return two(tests[0], tests[1], deciding)
        case 3: return three(tests[0], tests[1], tests[2], deciding)
        default:
            let middle = tests.count / 2
            return two(
                chain(Array(tests[..<middle]), deciding: deciding), chain(Array(tests[middle...]), deciding: deciding), deciding)
        }
    }

    private static func two(_ first: Plan.Test, _ second: Plan.Test, _ deciding: Truth) -> Plan.Test {
        Plan.Test { activation in
            let answer = first(activation)
            if answer == deciding { return deciding }
            if answer == .failed { return afterFailure(activation, second, deciding) }
            return second(activation)
        }
    }

    private static func three(
        _ first: Plan.Test, _ second: Plan.Test, _ third: Plan.Test, _ deciding: Truth
    ) -> Plan.Test {
        let rest = two(second, third, deciding)
        return Plan.Test { activation in
            let answer = first(activation)
            if answer == deciding { return deciding }
            if answer == .failed { return afterFailure(activation, rest, deciding) }
            let next = second(activation)
            if next == deciding { return deciding }
            if next == .failed { return afterFailure(activation, third, deciding) }
            return third(activation)
        }
    }

    /// Checks whether another term decides. If none does, the more severe failure is the reason (the first of equal ones): an error
    /// outranks an unknown, so the order of the terms does not matter.
    @inline(never)
    private static func afterFailure(_ activation: Activation, _ rest: Plan.Test, _ deciding: Truth) -> Truth {
        let failure = activation.failure
        if failure?.isFinal == true || !activation.affords(Activation.failureWork) { return .failed }
        let answer = rest(activation)
        if answer == deciding { return deciding }
        let isMoreSevere = answer == .failed && (activation.failure?.severity ?? 0) > (failure?.severity ?? 0)
        if !isMoreSevere { activation.failure = failure }
        return .failed
    }
}
