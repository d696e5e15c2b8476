/// Tests of a slot against a constant, the most common form of a condition: the value is read in place.
extension Comparison {
    static func equality(_ slot: Int, _ constant: Value, at range: Range<Int>) -> Plan.Test {
        switch constant {
        case .string(let wanted):
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                guard case .string(let text) = activation.values[slot] else { return .no }
                guard activation.affords(reading: text.utf8.count) else { return activation.fail(activation.reason, at: range) }
                return Truth(text.hasSameBytes(as: wanted))
            }
        case .int(let wanted):
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                if case .int(let number) = activation.values[slot] { return Truth(number == wanted) }
                return Truth(activation.values[slot] == constant)
            }
        case .null:
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                if case .null = activation.values[slot] { return .yes }
                return .no
            }
        default:
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                return Truth(activation.values[slot] == constant)
            }
        }
    }

    static func order(_ relation: Relation, _ slot: Int, _ constant: Value, at range: Range<Int>) -> Plan.Test {
        let null = Operators.mismatch(relation.rawValue, .null, constant).at(range)
        let general: @Sendable (Activation) -> Truth = { activation in
            let value = activation.values[slot]
            if let order = Value.order(value, constant) { return Truth(relation.holds(order)) }
            activation.failure = value.isNull ? null : Operators.mismatch(relation.rawValue, value, constant).at(range)
            return .failed
        }
        guard case .int(let wanted) = constant else {
            return Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
                return general(activation)
            }
        }
        // One closure per relation: the choice is made here, not at each event.
        @inline(__always)
        func int(_ holds: @escaping @Sendable (Int64) -> Bool) -> Plan.Test {
            Plan.Test { activation in
                guard activation.makeReady(slot) else { return activation.fail(activation.reason, at: range) }
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
}
