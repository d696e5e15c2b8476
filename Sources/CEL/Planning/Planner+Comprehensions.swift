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
