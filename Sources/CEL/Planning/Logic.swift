/// `&&` and `||` over any number of terms: an error of one term is ignored if another decides.
enum Logic {
    /// - Parameter deciding: the answer of a term that decides the whole: `.no` for `&&`, `.yes` for `||`.
    static func chain(_ tests: [Plan.Test], deciding: Truth) -> Plan.Test {
        if tests.count == 1 { return tests[0] }
        let middle = tests.count / 2
        let first = chain(Array(tests[..<middle]), deciding: deciding)
        let second = chain(Array(tests[middle...]), deciding: deciding)
        return Plan.Test { activation in
            let answer = first(activation)
            if answer == deciding { return deciding }
            if answer == .failed { return afterFailure(activation, second, deciding) }
            return second(activation)
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
