/// Tests with closures of their own for the shapes that conditions are made of: a slot against a constant, read where it lies.
enum Comparison {
    static func equality(_ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving {
            if let slot = left.slot, let constant = right.constant { return equality(slot, constant, at: range) }
            if let slot = right.slot, let constant = left.constant { return equality(slot, constant, at: range) }
        }
        let (first, second) = (left.evaluate, right.evaluate)
        return { activation in
            do throws(EvaluationError) {
                return Truth(try first(activation) == second(activation))
            } catch {
                activation.failure = error
                return .failed
            }
        }
    }

    private static func equality(_ slot: Int, _ constant: Value, at range: Range<Int>) -> Plan.Test {
        switch constant {
        case .string(let wanted):
            return { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                guard case .string(let text) = activation.values[slot] else { return .no }
                return Truth(text.hasSameBytes(as: wanted))
            }
        case .int(let wanted):
            return { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                if case .int(let number) = activation.values[slot] { return Truth(number == wanted) }
                return Truth(activation.values[slot] == constant)
            }
        default:
            return { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                return Truth(activation.values[slot] == constant)
            }
        }
    }

    static func order(_ relation: Relation, _ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving {
            if let slot = left.slot, let constant = right.constant { return order(relation, slot, constant, at: range) }
            if let slot = right.slot, let constant = left.constant { return order(relation.reversed, slot, constant, at: range) }
        }
        let (first, second) = (left.evaluate, right.evaluate)
        return { activation in
            do throws(EvaluationError) {
                let (a, b) = (try first(activation), try second(activation))
                guard let order = Value.order(a, b) else {
                    return activation.fail(Operators.mismatch(relation.rawValue, a, b), at: range)
                }
                return Truth(relation.holds(order))
            } catch {
                activation.failure = error
                return .failed
            }
        }
    }

    private static func order(_ relation: Relation, _ slot: Int, _ constant: Value, at range: Range<Int>) -> Plan.Test {
        let null = Operators.mismatch(relation.rawValue, .null, constant).at(range)
        let general: Plan.Test = { activation in
            let value = activation.values[slot]
            if let order = Value.order(value, constant) { return Truth(relation.holds(order)) }
            activation.failure = value.isNull ? null : Operators.mismatch(relation.rawValue, value, constant).at(range)
            return .failed
        }
        guard case .int(let wanted) = constant else {
            return { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                return general(activation)
            }
        }
        // One closure for each relation: the choice is made here, not at each event.
        func int(_ holds: @escaping @Sendable (Int64) -> Bool) -> Plan.Test {
            { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                if case .int(let number) = activation.values[slot] { return Truth(holds(number)) }
                return general(activation)
            }
        }
        switch relation {
        case .less: return int { $0 < wanted }
        case .lessOrEqual: return int { $0 <= wanted }
        case .more: return int { $0 > wanted }
        case .moreOrEqual: return int { $0 >= wanted }
        }
    }

    static func membership(_ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving, case .list(let list)? = right.constant {
            let choices = list.elements
            let known = choices.count > 8 ? Set(choices) : []
            let value = left.evaluate
            return { activation in
                do throws(EvaluationError) {
                    let value = try value(activation)
                    return Truth(known.isEmpty ? choices.contains(value) : known.contains(value))
                } catch {
                    activation.failure = error
                    return .failed
                }
            }
        }
        let (first, second) = (left.evaluate, right.evaluate)
        return { activation in
            do throws(EvaluationError) {
                let (value, list) = (try first(activation), try second(activation))
                return Truth(try Operators.isIn(activation, value, list))
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }

    /// A test of a text, read in its slot where it is one.
    static func text(
        _ plan: Plan, _ name: String, at range: Range<Int>, _ holds: @escaping @Sendable (String) -> Bool
    ) -> Plan.Test {
        let null = EvaluationError.nullOperand("\(name)()").at(range)
        let other: @Sendable (Activation, Value) -> Truth = { activation, value in
            activation.failure = value.isNull ? null : .noOverload(name, [value]).at(range)
            return .failed
        }
        if let slot = plan.slot {
            return { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.failure!, at: range) }
                if case .string(let text) = activation.values[slot] { return Truth(holds(text)) }
                return other(activation, activation.values[slot])
            }
        }
        let evaluate = plan.evaluate
        return { activation in
            do throws(EvaluationError) {
                let value = try evaluate(activation)
                guard case .string(let text) = value else { return other(activation, value) }
                try activation.spend(1 + text.utf8.count >> 6)
                return Truth(holds(text))
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }
}
