/// Tests that compare two values of any origin.
enum Comparison {
    static func equality(_ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving {
            if let slot = left.slot, let constant = right.constant { return equality(slot, constant, at: range) }
            if let slot = right.slot, let constant = left.constant { return equality(slot, constant, at: range) }
        }
        let (first, second) = (left.evaluate, right.evaluate)
        return Plan.Test { activation in
            do throws(EvaluationError) {
                let (a, b) = (try first(activation), try second(activation))
                let work = min(a.weight, b.weight)
                if work > 4 { try activation.spend(work) }
                return Truth(a == b)
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }

    static func order(_ relation: Relation, _ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving {
            if let slot = left.slot, let constant = right.constant { return order(relation, slot, constant, at: range) }
            if let slot = right.slot, let constant = left.constant { return order(relation.reversed, slot, constant, at: range) }
        }
        let (first, second) = (left.evaluate, right.evaluate)
        return Plan.Test { activation in
            do throws(EvaluationError) {
                let (a, b) = (try first(activation), try second(activation))
                let work = min(a.weight, b.weight)
                if work > 4 { try activation.spend(work) }
                guard let order = Value.order(a, b) else {
                    return activation.fail(Operators.mismatch(relation.rawValue, a, b), at: range)
                }
                return Truth(relation.holds(order))
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }

    static func membership(_ left: Plan, _ right: Plan, at range: Range<Int>, isObserving: Bool) -> Plan.Test {
        if !isObserving, case .list(let list)? = right.constant { return membership(left, among: list.elements, at: range) }
        let (first, second) = (left.evaluate, right.evaluate)
        return Plan.Test { activation in
            do throws(EvaluationError) {
                let (value, list) = (try first(activation), try second(activation))
                return Truth(try Operators.isIn(activation, value, list))
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }

    private static func membership(_ left: Plan, among choices: [Value], at range: Range<Int>) -> Plan.Test {
        let known = choices.count > 8 ? Set(choices) : []
        let value = left.evaluate
        return Plan.Test { activation in
            do throws(EvaluationError) {
                let value = try value(activation)
                if value.weight > 4 { try activation.spend(value.weight) }
                return Truth(known.isEmpty ? choices.contains(value) : known.contains(value))
            } catch {
                return activation.fail(error, at: range)
            }
        }
    }

    static func text(
        _ plan: Plan, _ name: String, at range: Range<Int>, _ holds: @escaping @Sendable (String) -> Bool
    ) -> Plan.Test {
        let null = EvaluationError.nullOperand("\(name)()").at(range)
        let other: @Sendable (Activation, Value) -> Truth = { activation, value in
            activation.failure = value.isNull ? null : .noOverload(name, [value]).at(range)
            return .failed
        }
        if let slot = plan.slot {
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                guard case .string(let text) = activation.values[slot] else { return other(activation, activation.values[slot]) }
                guard activation.affords(reading: text.utf8.count) else { return activation.fail(activation.reason, at: range) }
                return Truth(holds(text))
            }
        }
        let evaluate = plan.evaluate
        return Plan.Test { activation in
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
