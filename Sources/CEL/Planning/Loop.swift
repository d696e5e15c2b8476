/// The common parts of all macros over a list or a map: the range, and the places of their variables.
struct Loop: Sendable {
    let range: Plan.Evaluate
    /// The place of the first variable; the second follows it.
    let place: Int
    let hasTwoVariables: Bool
    /// Where the list or map is in the text.
    let source: Range<Int>
    let name: String

    /// Runs the body with the variables set to each element in turn, until it returns false.
    @inline(__always)
    func forEach(
        _ activation: Activation, _ body: (Activation) throws(EvaluationError) -> Bool
    ) throws(EvaluationError) {
        let value = try range(activation)
        do throws(EvaluationError) { try visit(value, activation, body) } catch { throw error.at(source) }
        activation[local: place] = .null
    }

    @inline(__always)
    private func visit(
        _ value: Value, _ activation: Activation, _ body: (Activation) throws(EvaluationError) -> Bool
    ) throws(EvaluationError) {
        switch value {
        case .list(let list):
            let count = list.count
            for index in 0..<count {
                try activation.spend(1)
                if hasTwoVariables {
                    activation[local: place] = .int(Int64(index))
                    activation[local: place + 1] = list[index]
                } else {
                    activation[local: place] = list[index]
                }
                guard try body(activation) else { break }
            }
        case .map(let map):
            for key in map.keys {
                try activation.spend(1)
                activation[local: place] = key
                if hasTwoVariables { activation[local: place + 1] = map[key] ?? .null }
                guard try body(activation) else { break }
            }
        default: throw Operators.mismatch(call: name, [value])
        }
    }

    /// The condition of an element; throws its failure.
    @inline(__always)
    private func holds(_ test: Plan.Test, _ activation: Activation) throws(EvaluationError) -> Bool {
        switch test(activation) {
        case .yes: return true
        case .no: return false
        case .failed: throw activation.reason
        }
    }

    /// `all` and `exists`: one deciding element is enough, and outweighs the failures of others.
    func any(_ test: Plan.Test, deciding: Truth) -> Plan.Test {
        Plan.Test { activation in
            var failure: EvaluationError?
            var isDecided = false
            do throws(EvaluationError) {
                try forEach(activation) { activation throws(EvaluationError) in
                    let answer = test(activation)
                    if answer == deciding {
                        isDecided = true
                        return false
                    }
                    if answer == .failed {
                        let reason = activation.reason
                        if reason.isFinal { throw reason }
                        try activation.spend(Activation.failureWork)
                        if failure.map({ $0.severity < reason.severity }) ?? true { failure = reason }
                    }
                    return true
                }
            } catch {
                activation.failure = error
                return .failed
            }
            if isDecided { return deciding }
            guard let failure else { return deciding.negated }
            activation.failure = failure
            return .failed
        }
    }

    /// `exists_one`: evaluates the condition for every element, and fails if it fails for any.
    func one(_ test: Plan.Test) -> Plan.Test {
        Plan.Test { activation in
            var count = 0
            do throws(EvaluationError) {
                try forEach(activation) { activation throws(EvaluationError) in
                    if try holds(test, activation) { count += 1 }
                    return true
                }
            } catch {
                activation.failure = error
                return .failed
            }
            return Truth(count == 1)
        }
    }

    func filter(_ test: Plan.Test) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            var kept: [Value] = []
            try forEach(activation) { activation throws(EvaluationError) in
                if try holds(test, activation) {
                    try activation.spend(elements: 1)
                    kept.append(activation[local: place])
                }
                return true
            }
            return .list(kept)
        }
    }

    func map(_ body: @escaping Plan.Evaluate, where filter: Plan.Test?) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            var made: [Value] = []
            try forEach(activation) { activation throws(EvaluationError) in
                if let filter, try !holds(filter, activation) { return true }
                try activation.spend(elements: 1)
                made.append(try body(activation))
                return true
            }
            return try activation.bounded(.list(made))
        }
    }

    /// `transformMap`: new values under the old keys.
    func transform(_ body: @escaping Plan.Evaluate, where filter: Plan.Test?) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            var made: [(Value, Value)] = []
            try forEach(activation) { activation throws(EvaluationError) in
                if let filter, try !holds(filter, activation) { return true }
                try activation.spend(elements: 2)
                let key = activation[local: place]
                made.append((key, try body(activation)))
                return true
            }
            return try activation.bounded(.map(Value.Map(made)))
        }
    }

    /// `transformMapEntry`: the body makes maps, which are merged.
    func entries(_ body: @escaping Plan.Evaluate, where filter: Plan.Test?, at bodyRange: Range<Int>) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            var made: [(Value, Value)] = []
            var seen: Set<Value> = []
            try forEach(activation) { activation throws(EvaluationError) in
                if let filter, try !holds(filter, activation) { return true }
                let value = try body(activation)
                guard case .map(let map) = value else { throw .noOverload(name, [value]).at(bodyRange) }
                try activation.spend(elements: map.count * 2)
                for (key, value) in map.entries {
                    guard seen.insert(key).inserted else { throw .duplicateKey(key).at(bodyRange) }
                    made.append((key, value))
                }
                return true
            }
            return try activation.bounded(.map(Value.Map(made)))
        }
    }

    /// `sortBy`: sorts by the body's values, which must be of one orderable type; the sort is stable.
    func sort(by body: @escaping Plan.Evaluate, at bodyRange: Range<Int>) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            var elements: [Value] = []
            var keys: [Value] = []
            try forEach(activation) { activation throws(EvaluationError) in
                try activation.spend(elements: 2)
                elements.append(activation[local: place])
                keys.append(try body(activation))
                return true
            }
            do throws(EvaluationError) {
                return .list(try Sorting.order(of: keys, activation).map { elements[$0] })
            } catch {
                throw error.at(bodyRange)
            }
        }
    }

    /// `optMap` and `optFlatMap`.
    func optional(_ body: @escaping Plan.Evaluate, isFlat: Bool) -> Plan.Evaluate {
        { activation throws(EvaluationError) in
            let value = try range(activation)
            guard case .optional(let inner) = value else { throw Operators.mismatch(call: name, [value]).at(source) }
            guard let inner else { return value }
            activation[local: place] = inner
            let made = try body(activation)
            guard isFlat else { return try activation.bounded(.optional(made)) }
            guard case .optional = made else { throw .noOverload(name, [made]).at(source) }
            return made
        }
    }
}

/// Sorting that reports why it fails.
enum Sorting {
    /// The order of the keys, ascending and stable. Nulls come last: a task without a date is not an error in a list.
    static func order(of keys: [Value], _ activation: Activation) throws(EvaluationError) -> [Int] {
        guard keys.count > 1 else { return Array(keys.indices) }
        let weight = keys.reduce(0) { $0 &+ $1.weight }
        try activation.spend(weight &* (Int.bitWidth - keys.count.leadingZeroBitCount))
        guard let first = keys.first(where: { !$0.isNull }) else { return Array(keys.indices) }
        for key in keys where !key.isNull {
            guard Value.order(first, key) != nil else { throw .noOverload("sort", [first, key]) }
        }
        return keys.indices.sorted { a, b in
            if keys[a].isNull || keys[b].isNull {
                return !keys[a].isNull && keys[b].isNull || (keys[a].isNull == keys[b].isNull && a < b)
            }
            switch Value.order(keys[a], keys[b]) {
            case .less: return true
            case .more: return false
            default: return a < b
            }
        }
    }
}
