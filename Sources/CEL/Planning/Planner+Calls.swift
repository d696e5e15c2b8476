extension Planner {
    mutating func call(_ node: Node, _ name: String, _ target: Node?, _ arguments: [Node]) -> Plan {
        guard case .function(let function, let overloads, let isNamespaced)? = checked.references[node.id] else {
            return Plan(failure: EvaluationError.unknownName(name).at(node.range))
        }
        let nodes = (isNamespaced ? [] : [target].compactMap { $0 }) + arguments
        let plans = nodes.map { plan($0) }
        let isConstant = !isObserving && plans.allSatisfy { $0.constant != nil }
        if let plan = operation(node, function, plans) { return plan.folded(isConstant) }
        if !isObserving, let plan = textTest(node, function, plans, overloads) { return plan.folded(isConstant) }
        let call = Call(name: function, overloads: overloads, range: node.point)
        return call.plan(plans).folded(isConstant && !overloads.isEmpty && overloads.allSatisfy(\.isPure))
    }

    /// A plan for an operator; nil for any other function.
    private func operation(_ node: Node, _ name: String, _ plans: [Plan]) -> Plan? {
        let range = node.range
        if plans.count == 1 {
            let operand = plans[0]
            switch name {
            case "!_":
                let test = operand.asTest(at: range)
                return Plan(test: { test($0).negated })
            case "-_":
                return Plan { activation throws(EvaluationError) in
                    let value = try operand.evaluate(activation)
                    do throws(EvaluationError) { return try Operators.negate(value) } catch { throw error.at(range) }
                }
            default: return nil
            }
        }
        guard plans.count == 2 else { return nil }
        switch name {
        case "_==_": return Plan(test: Comparison.equality(plans[0], plans[1], at: range, isObserving: isObserving))
        case "_!=_":
            let test = Comparison.equality(plans[0], plans[1], at: range, isObserving: isObserving)
            return Plan(test: { test($0).negated })
        case "_<_": return order(.less, plans, range)
        case "_<=_": return order(.lessOrEqual, plans, range)
        case "_>_": return order(.more, plans, range)
        case "_>=_": return order(.moreOrEqual, plans, range)
        case "@in": return Plan(test: Comparison.membership(plans[0], plans[1], at: range, isObserving: isObserving))
        case "_+_": return arithmetic(Operators.add, plans, range)
        case "_-_": return arithmetic(Operators.subtract, plans, range)
        case "_*_": return arithmetic(Operators.multiply, plans, range)
        case "_/_": return arithmetic(Operators.divide, plans, range)
        case "_%_": return arithmetic(Operators.remainder, plans, range)
        default: return nil
        }
    }

    private func order(_ relation: Relation, _ plans: [Plan], _ range: Range<Int>) -> Plan {
        Plan(test: Comparison.order(relation, plans[0], plans[1], at: range, isObserving: isObserving))
    }

    private func arithmetic(
        _ operation: @escaping @Sendable (Activation, Value, Value) throws(EvaluationError) -> Value, _ plans: [Plan],
        _ range: Range<Int>
    ) -> Plan {
        let (left, right) = (plans[0].evaluate, plans[1].evaluate)
        return Plan { activation throws(EvaluationError) in
            let (a, b) = (try left(activation), try right(activation))
            do throws(EvaluationError) { return try operation(activation, a, b) } catch { throw error.at(range) }
        }
    }

    /// `contains`, `startsWith`, `endsWith` and `matches` with a constant: on the text's bytes in place.
    private func textTest(_ node: Node, _ name: String, _ plans: [Plan], _ overloads: [Overload]) -> Plan? {
        guard plans.count == 2, overloads.count == 1, case .string(let constant)? = plans[1].constant, plans[0].constant == nil
        else { return nil }
        switch name {
        case "contains": return Plan(test: Comparison.text(plans[0], name, at: node.point, { $0.containsBytes(of: constant) }))
        case "startsWith": return Plan(test: Comparison.text(plans[0], name, at: node.point, { $0.hasBytePrefix(constant) }))
        case "endsWith": return Plan(test: Comparison.text(plans[0], name, at: node.point, { $0.hasByteSuffix(constant) }))
        case "matches":
            do throws(EvaluationError) {
                let pattern = try Pattern(constant, limit: environment.limits.patternBytes)
                return Plan(test: Comparison.text(plans[0], name, at: node.point, { $0.withBytes(pattern.isFound) }))
            } catch {
                return Plan(failure: error.at(node.range))
            }
        default: return nil
        }
    }
}

/// A function call that selects its overload by its arguments at run time.
///
/// Calls with one or two arguments make no array of them, so that conditions allocate no memory (`cel.allocations`).
struct Call: Sendable {
    let name: String
    let overloads: [Overload]
    let range: Range<Int>

    func plan(_ plans: [Plan]) -> Plan {
        switch plans.count {
        case 1:
            let first = plans[0].evaluate
            return Plan { activation throws(EvaluationError) in
                let value = try first(activation)
                return try run(activation) { overload throws(EvaluationError) -> Value? in
                    guard value.fits(overload.mask(0), overload.parameter(0)) else { return nil }
                    switch overload.implementation {
                    case .unary(let body): return try body(activation, value)
                    case .any(let body): return try body(activation, [value])
                    case .nullary, .binary: return nil
                    }
                } arguments: {
                    [value]
                }
            }
        case 2:
            let (first, second) = (plans[0].evaluate, plans[1].evaluate)
            return Plan { activation throws(EvaluationError) in
                let (a, b) = (try first(activation), try second(activation))
                return try run(activation) { overload throws(EvaluationError) -> Value? in
                    guard a.fits(overload.mask(0), overload.parameter(0)), b.fits(overload.mask(1), overload.parameter(1)) else {
                        return nil
                    }
                    switch overload.implementation {
                    case .binary(let body): return try body(activation, a, b)
                    case .any(let body): return try body(activation, [a, b])
                    case .nullary, .unary: return nil
                    }
                } arguments: {
                    [a, b]
                }
            }
        default:
            return Plan { activation throws(EvaluationError) in
                var values: [Value] = []
                values.reserveCapacity(plans.count)
                for plan in plans { values.append(try plan.evaluate(activation)) }
                return try run(activation) { overload throws(EvaluationError) -> Value? in
                    for (index, value) in values.enumerated() where !value.fits(overload.mask(index), overload.parameter(index)) {
                        return nil
                    }
                    switch overload.implementation {
                    case .nullary(let body): return try body(activation)
                    case .any(let body): return try body(activation, values)
                    case .unary, .binary: return nil
                    }
                } arguments: {
                    values
                }
            }
        }
    }

    /// The cost of a call besides the work counted by its function: about 150 nanoseconds, like three elements of a loop.
    private static var callWork: Int { 3 }

    /// Tries the overloads in turn; if none accepts the arguments, the error says whether a null was the reason.
    @inline(__always)
    private func run(
        _ activation: Activation, _ attempt: (Overload) throws(EvaluationError) -> Value?, arguments: () -> [Value]
    ) throws(EvaluationError) -> Value {
        do throws(EvaluationError) {
            try activation.spend(Self.callWork)
            for overload in overloads {
                if let value = try attempt(overload) { return value }
            }
        } catch {
            throw error.at(range)
        }
        throw Operators.mismatch(call: name, arguments()).at(range)
    }
}
