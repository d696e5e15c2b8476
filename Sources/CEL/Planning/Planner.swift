/// Turns a checked tree into closures: names become slots, constants are computed once, common forms get special closures.
struct Planner {
    let checked: Checked
    let environment: Environment
    /// Whether each part reports its value when evaluated; then nothing is fused or computed in advance.
    let isObserving: Bool
    /// Counts the results of observed parts; if nil, the activation's recorder gets them.
    let tally: Tally?
    /// Whether a path of fields is one part, the slot.
    let readsPaths: Bool
    /// The nodes that are slots.
    private(set) var slots: [Int: Int] = [:]
    /// The values known in advance, by node.
    private(set) var constants: [Int: Value] = [:]
    /// How block values are computed, by place.
    var blockPlans: [Int: Plan] = [:]

    init(_ checked: Checked, in environment: Environment, isObserving: Bool = false, readsPaths: Bool = true, tally: Tally? = nil)
    {
        self.tally = tally
        self.readsPaths = readsPaths
        self.checked = checked
        self.environment = environment
        self.isObserving = isObserving
    }

    mutating func program() -> Program {
        let plan = plan(checked.root)
        return Program(
            plan: plan, range: checked.root.range, slotCount: (slots.values.max() ?? -1) + 1, localCount: checked.locals,
            limits: environment.limits)
    }

    mutating func plan(_ node: Node) -> Plan {
        let plan = make(node)
        if isObserving { return observed(plan, node) }
        if let constant = plan.constant { constants[node.id] = constant }
        return plan
    }

    mutating func test(_ node: Node) -> Plan.Test { plan(node).asTest(at: node.range) }

    private mutating func make(_ node: Node) -> Plan {
        if let reference = checked.references[node.id], let plan = named(reference, node) { return plan }
        switch node.kind {
        case .literal(let value): return Plan(constant: value)
        case .identifier(let name, _): return Plan(failure: EvaluationError.unknownName(name).at(node.range))
        case .select(let operand, let field, let optional): return select(node, operand, field, optional)
        case .has(let operand, let field, _): return has(node, operand, field)
        case .index(let operand, let key, let optional): return index(node, operand, key, optional)
        case .call(let name, let target, let arguments): return call(node, name, target, arguments)
        case .and: return logical(node, isOr: false)
        case .or: return logical(node, isOr: true)
        case .conditional(let condition, let yes, let no): return conditional(condition, yes, no)
        case .list(let elements): return list(elements)
        case .map(let entries): return map(entries)
        case .structure(let name, _): return Plan(failure: EvaluationError.unknownName(name).at(node.range))
        case .comprehension(let macro): return comprehension(node, macro)
        case .bind(_, let value, let body): return bind(node, value, body)
        case .block(let values, let body): return block(node, values, body)
        }
    }

    /// A plan for a name that the checker found; nil for a node planned by its own kind.
    private mutating func named(_ reference: Reference, _ node: Node) -> Plan? {
        switch reference {
        case .failure(let error): return Plan(failure: error)
        case .constant(let value): return Plan(constant: value)
        case .function: return nil
        case .variable(let variable): return slot(variable, [], node)
        case .local(let place):
            guard case .identifier(let name, _) = node.kind else { return nil }
            if name.hasPrefix("@index") { return blockValue(place, node) }
            return Plan { activation throws(EvaluationError) in activation[local: place] }
        }
    }

    private mutating func slot(_ variable: Environment.Variable, _ path: [String], _ node: Node) -> Plan {
        let id = environment.slots.number(variable, path)
        let range = node.range
        slots[node.id] = id
        var plan = Plan { activation throws(EvaluationError) in
            guard activation.makeReady(id) else { throw activation.reason.at(range) }
            return activation.values[id]
        }
        plan.slot = id
        if checked.types[node.id]?.unwrapped == .bool {
            plan.test = Plan.Test { activation in
                guard activation.makeReady(id) else { return activation.fail(activation.reason, at: range) }
                if case .bool(let truth) = activation.values[id] { return Truth(truth) }
                return activation.fail(.notACondition(activation.values[id]), at: range)
            }
        }
        return plan
    }

    // MARK: Fields and elements

    private mutating func select(_ node: Node, _ operand: Node, _ field: String, _ optional: Bool) -> Plan {
        if !optional, readsPaths, let (variable, path) = variablePath(node) { return slot(variable, path, node) }
        let base = plan(operand)
        let range = node.point
        if optional {
            return Plan { activation throws(EvaluationError) in
                let value = try base.evaluate(activation)
                do throws(EvaluationError) { return try Fields.optionalSelect(field, of: value) } catch { throw error.at(range) }
            }
        }
        return Plan { activation throws(EvaluationError) in
            let value = try base.evaluate(activation)
            do throws(EvaluationError) { return try Fields.select(field, of: value) } catch { throw error.at(range) }
        }
    }

    /// The variable and the fields of a chain of plain selections.
    private func variablePath(_ node: Node) -> (Environment.Variable, [String])? {
        if case .variable(let variable)? = checked.references[node.id] { return (variable, []) }
        guard case .select(let operand, let field, optional: false) = node.kind, let (variable, path) = variablePath(operand),
            checked.types[operand.id].map({ !$0.isOptional }) ?? false
        else { return nil }
        return (variable, path + [field])
    }

    private mutating func has(_ node: Node, _ operand: Node, _ field: String) -> Plan {
        let base = plan(operand)
        let range = node.point
        return Plan(test: { activation in
            do throws(EvaluationError) {
                let value = try base.evaluate(activation)
                return Truth(try Fields.has(field, in: value))
            } catch {
                return activation.fail(error, at: range)
            }
        })
    }

    /// The cost of finding a key in a large map: about 700 nanoseconds.
    private static let lookupWork = 12

    private mutating func index(_ node: Node, _ operand: Node, _ key: Node, _ optional: Bool) -> Plan {
        let (base, wanted) = (plan(operand), plan(key))
        let range = node.point
        return Plan { activation throws(EvaluationError) in
            let (value, key) = (try base.evaluate(activation), try wanted.evaluate(activation))
            do throws(EvaluationError) {
                if case .map(let map) = value, map.isIndexed { try activation.spend(Self.lookupWork + key.weight) }
                return try optional ? Fields.optionalIndex(value, key) : Fields.index(value, key)
            } catch {
                throw error.at(range)
            }
        }.folded(base.constant != nil && wanted.constant != nil && !isObserving)
    }

    // MARK: Logic

    private mutating func logical(_ node: Node, isOr: Bool) -> Plan {
        // A chain is one closure over its terms, unless each step is observed.
        let terms = isObserving ? node.kind.children : Self.terms(node, isOr: isOr)
        let plans = terms.map { ($0.range, plan($0)) }
        let deciding: Truth = isOr ? .yes : .no
        var tests: [Plan.Test] = []
        for (range, plan) in plans {
            if case .bool(let value)? = plan.constant, !isObserving {
                if Truth(value) == deciding { return Plan(constant: .bool(value)) }
                continue
            }
            tests.append(plan.asTest(at: range))
        }
        if tests.isEmpty { return Plan(constant: .bool(!isOr)) }
        return Plan(test: Logic.chain(tests, deciding: deciding))
    }

    static func terms(_ node: Node, isOr: Bool) -> [Node] {
        switch (node.kind, isOr) {
        case (.and(let left, let right), false), (.or(let left, let right), true):
            terms(left, isOr: isOr) + terms(right, isOr: isOr)
        default: [node]
        }
    }

    private mutating func conditional(_ condition: Node, _ yes: Node, _ no: Node) -> Plan {
        let test = test(condition)
        let (first, second) = (plan(yes), plan(no))
        if case .bool(let value)? = constants[condition.id] { return value ? first : second }
        var plan = Plan { activation throws(EvaluationError) in
            switch test(activation) {
            case .yes: return try first.evaluate(activation)
            case .no: return try second.evaluate(activation)
            case .failed: throw activation.reason
            }
        }
        if let yesTest = first.test, let noTest = second.test {
            plan.test = Plan.Test { activation in
                switch test(activation) {
                case .yes: return yesTest(activation)
                case .no: return noTest(activation)
                case .failed: return .failed
                }
            }
        }
        return plan
    }
}

extension Plan {
    /// The same plan with its value computed now, if wanted and possible.
    func folded(_ wanted: Bool) -> Plan {
        guard wanted, let value = Self.constantValue(of: evaluate) else { return self }
        return Plan(constant: value)
    }

    /// The value of a part that reads no variables, if it needs little work and memory; nil if evaluation fails: then the run reports the error.
    private static func constantValue(of evaluate: @escaping Evaluate) -> Value? {
        var limits = Limits()
        limits.cost = 10_000
        limits.memory = 64 << 10
        let program = Program(plan: Plan(evaluate), range: 0..<0, slotCount: 0, localCount: 0, limits: limits)
        do throws(EvaluationError) { return try program.evaluate(Activation(SlotTable())) } catch { return nil }
    }
}

extension Planner {
    mutating func comprehension(_ node: Node, _ macro: Node.Comprehension) -> Plan {
        guard case .local(let place)? = checked.references[node.id] else {
            return Plan(failure: EvaluationError.unknownName(macro.kind.rawValue).at(node.range))
        }
        let range = plan(macro.range).evaluate
        let loop = Loop(
            range: range, place: place, hasTwoVariables: macro.variables.count == 2, source: macro.range.range,
            name: macro.kind.rawValue)
        let filter = macro.filter.map { self.test($0) }
        let body = plan(macro.body)
        let test = body.asTest(at: macro.body.range)
        switch macro.kind {
        case .all: return Plan(test: loop.any(test, deciding: .no))
        case .exists: return Plan(test: loop.any(test, deciding: .yes))
        case .existsOne: return Plan(test: loop.one(test))
        case .filter: return Plan(loop.filter(test))
        case .map, .transformList: return Plan(loop.map(body.evaluate, where: filter))
        case .transformMap: return Plan(loop.transform(body.evaluate, where: filter))
        case .transformMapEntry: return Plan(loop.entries(body.evaluate, where: filter, at: macro.body.range))
        case .sortBy: return Plan(loop.sort(by: body.evaluate, at: macro.body.range))
        case .optMap: return Plan(loop.optional(body.evaluate, isFlat: false))
        case .optFlatMap: return Plan(loop.optional(body.evaluate, isFlat: true))
        }
    }
}
