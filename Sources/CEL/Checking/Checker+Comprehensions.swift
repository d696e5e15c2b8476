extension Checker {
    mutating func comprehension(_ macro: Node.Comprehension, _ node: Node) -> CELType {
        let range = visit(macro.range)
        if macro.kind == .optMap || macro.kind == .optFlatMap { return optional(macro, over: range, node) }
        let variables = zip(macro.variables, variableTypes(of: macro, over: range)).map { ($0, $1) }
        return scoped(variables, of: node) { checker in checker.result(of: macro, over: range) }
    }

    /// The types of a macro's variables: over a list the element, or its index and the element; over a map the key, or the key
    /// and the value.
    private mutating func variableTypes(of macro: Node.Comprehension, over range: CELType) -> [CELType] {
        guard isStrict else { return [.dyn, .dyn] }
        let both = macro.variables.count == 2
        switch inference.resolve(range).unwrapped {
        case .list(let element): return both ? [.int, element] : [element]
        case .map(let key, let value):
            if macro.kind == .sortBy { break }
            return both ? [key, value] : [key]
        case .dyn: return [.dyn, .dyn]
        case .parameter:
            _ = inference.accepts(.dyn, as: range)
            return [.dyn, .dyn]
        default: break
        }
        issues.append(.notIterable(macro.kind.rawValue, resolved(range), at: macro.range.range))
        return [.dyn, .dyn]
    }

    private mutating func result(of macro: Node.Comprehension, over range: CELType) -> CELType {
        if let filter = macro.filter { needBool(filter, "the condition of \(macro.kind.rawValue)()") }
        switch macro.kind {
        case .all, .exists, .existsOne:
            needBool(macro.body, "the condition of \(macro.kind.rawValue)()")
            return .bool
        case .filter:
            needBool(macro.body, "the condition of \(macro.kind.rawValue)()")
            if case .list(let element) = inference.resolve(range).unwrapped { return .list(element) }
            return .list(scopes[scopes.count - 1].type)
        case .map, .transformList: return .list(visit(macro.body))
        case .transformMap: return .map(scopes[scopes.count - 2].type, visit(macro.body))
        case .transformMapEntry:
            let type = visit(macro.body)
            let map = CELType.map(inference.fresh(), inference.fresh())
            return fits(macro.body, type, map, "the result of \(macro.kind.rawValue)()") ? type : .dyn
        case .sortBy:
            let key = visit(macro.body)
            if isStrict, !Self.isSortable(inference.resolve(key).unwrapped) {
                issues.append(
                    .wrongType("the key of \(macro.kind.rawValue)()", needs: .string, got: resolved(key), at: macro.body.range))
            }
            if case .list(let element) = inference.resolve(range).unwrapped { return .list(element) }
            return .list(.dyn)
        case .optMap, .optFlatMap: return .dyn
        }
    }

    private static func isSortable(_ type: CELType) -> Bool {
        switch type {
        case .int, .uint, .double, .bool, .string, .bytes, .timestamp, .duration, .dyn, .parameter: true
        default: false
        }
    }

    private mutating func optional(_ macro: Node.Comprehension, over range: CELType, _ node: Node) -> CELType {
        let inner = inference.fresh()
        _ = fits(macro.range, range, .optional(inner), "the target of \(macro.kind.rawValue)()")
        let value = isStrict ? inference.resolve(inner) : .dyn
        let type = scoped([(macro.variables[0], value)], of: node) { checker in checker.visit(macro.body) }
        guard macro.kind == .optFlatMap else { return .optional(type) }
        let flat = CELType.optional(inference.fresh())
        return fits(macro.body, type, flat, "the result of \(macro.kind.rawValue)()") ? inference.resolve(flat) : .dyn
    }
}
