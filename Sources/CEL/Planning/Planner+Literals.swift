extension Planner {
    mutating func list(_ elements: [Node.Element]) -> Plan {
        let plans = elements.map { (plan($0.value), $0.optional, $0.value.range) }
        let isConstant = !isObserving && plans.allSatisfy { $0.0.constant != nil }
        guard elements.contains(where: \.optional) else {
            return Plan { activation throws(EvaluationError) in
                try activation.spend(elements: plans.count)
                var values: [Value] = []
                values.reserveCapacity(plans.count)
                for (plan, _, _) in plans { values.append(try plan.evaluate(activation)) }
                return try activation.bounded(.list(values))
            }.folded(isConstant)
        }
        return Plan { activation throws(EvaluationError) in
            try activation.spend(elements: plans.count)
            var values: [Value] = []
            for (plan, optional, range) in plans {
                let value = try plan.evaluate(activation)
                guard optional else {
                    values.append(value)
                    continue
                }
                guard case .optional(let inner) = value else { throw .noOverload("?", [value]).at(range) }
                if let inner { values.append(inner) }
            }
            return try activation.bounded(.list(values))
        }
    }

    mutating func map(_ entries: [Node.Entry]) -> Plan {
        let plans = entries.map { (plan($0.key), plan($0.value), $0.optional, $0.key.range) }
        let isConstant = !isObserving && plans.allSatisfy { $0.0.constant != nil && $0.1.constant != nil }
        return Plan { activation throws(EvaluationError) in
            try activation.spend(elements: plans.count * 2)
            var made: [(Value, Value)] = []
            made.reserveCapacity(plans.count)
            var seen: Set<Value> = []
            for (key, value, optional, range) in plans {
                let key = try key.evaluate(activation)
                guard Fields.isKey(key) else { throw .badKey(key).at(range) }
                guard seen.insert(key).inserted else { throw .duplicateKey(key).at(range) }
                let value = try value.evaluate(activation)
                guard optional else {
                    made.append((key, value))
                    continue
                }
                guard case .optional(let inner) = value else { throw .noOverload("?", [value]).at(range) }
                if let inner { made.append((key, inner)) }
            }
            return try activation.bounded(.map(Value.Map(made)))
        }.folded(isConstant)
    }

    mutating func bind(_ node: Node, _ value: Node, _ body: Node) -> Plan {
        guard case .local(let place)? = checked.references[node.id] else { return plan(body) }
        let (value, body) = (plan(value), plan(body))
        var plan = Plan { activation throws(EvaluationError) in
            activation[local: place] = try value.evaluate(activation)
            return try body.evaluate(activation)
        }
        if let test = body.test {
            plan.test = Plan.Test { activation in
                do throws(EvaluationError) { activation[local: place] = try value.evaluate(activation) } catch {
                    activation.failure = error
                    return .failed
                }
                return test(activation)
            }
        }
        return plan
    }

    /// Each value of a block has its own place, which is marked as not computed until its first use.
    mutating func block(_ node: Node, _ values: [Node], _ body: Node) -> Plan {
        guard case .local(let first)? = checked.references[node.id] else { return plan(body) }
        for (index, value) in values.enumerated() { blockPlans[first + index] = plan(value) }
        let plan = plan(body)
        let count = values.count
        return Plan { activation throws(EvaluationError) in
            for index in 0..<count { activation[local: first + index] = .object(NotComputed.mark) }
            return try plan.evaluate(activation)
        }
    }

    /// A use of a block's value; computes it on first use.
    func blockValue(_ place: Int, _ node: Node) -> Plan {
        guard let evaluate = blockPlans[place]?.evaluate else {
            return Plan(failure: EvaluationError.unknownName("cel.index").at(node.range))
        }
        return Plan { activation throws(EvaluationError) in
            let stored = activation[local: place]
            guard case .object(let object) = stored, object === NotComputed.mark else { return stored }
            let value = try evaluate(activation)
            activation[local: place] = value
            return value
        }
    }
}

/// Stands in for a block's value until its first use. A class, because a host object must be one.
private final class NotComputed: HostObject {
    static let mark = NotComputed()
    var celType: CELType { .dyn }
    func value(named name: String) -> Value? { nil }
}
