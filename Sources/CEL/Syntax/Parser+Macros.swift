extension Parser {
    /// The node for a macro call, or nil if the call is not a macro.
    mutating func expand(_ name: String, target: Node?, arguments: [Node], range: Range<Int>, point: Range<Int>) throws(Issue)
        -> Node?
    {
        guard let target else { return name == "has" && arguments.count == 1 ? try has(arguments[0], range, point) : nil }
        if case .identifier("cel", absolute: false) = target.kind { return try celMacro(name, arguments, range, point) }
        guard let shape = shape(of: name, count: arguments.count) else { return nil }
        var variables: [String] = []
        for argument in arguments.prefix(shape.variables) {
            guard let variable = argument.variableName else { throw .notAVariable(macro: name, at: argument.range) }
            guard !variables.contains(variable) else {
                throw Issue("same-variable-twice", "`\(variable)` is the name of both variables", at: argument.range)
            }
            variables.append(variable)
        }
        let rest = arguments.dropFirst(shape.variables)
        let comprehension = Node.Comprehension(
            kind: shape.kind, range: target, variables: variables, filter: rest.count == 2 ? rest.first : nil,
            body: arguments[arguments.count - 1])
        return try make(range, point: point, .comprehension(comprehension))
    }

    /// The kind of the macro with that name and argument count, if its library is enabled.
    private func shape(of name: String, count: Int) -> (kind: Node.Comprehension.Kind, variables: Int)? {
        let two = macros.contains(.twoVariableComprehensions)
        switch (name, count) {
        case ("all", 2): return (.all, 1)
        case ("exists", 2): return (.exists, 1)
        case ("exists_one", 2), ("existsOne", 2): return (.existsOne, 1)
        case ("map", 2), ("map", 3): return (.map, 1)
        case ("filter", 2): return (.filter, 1)
        case ("all", 3) where two: return (.all, 2)
        case ("exists", 3) where two: return (.exists, 2)
        case ("exists_one", 3) where two, ("existsOne", 3) where two: return (.existsOne, 2)
        case ("transformList", 3) where two, ("transformList", 4) where two: return (.transformList, 2)
        case ("transformMap", 3) where two, ("transformMap", 4) where two: return (.transformMap, 2)
        case ("transformMapEntry", 3) where two, ("transformMapEntry", 4) where two: return (.transformMapEntry, 2)
        case ("sortBy", 2) where macros.contains(.lists): return (.sortBy, 1)
        case ("optMap", 2) where macros.contains(.optionals): return (.optMap, 1)
        case ("optFlatMap", 2) where macros.contains(.optionals): return (.optFlatMap, 1)
        default: return nil
        }
    }

    private mutating func has(_ argument: Node, _ range: Range<Int>, _ point: Range<Int>) throws(Issue) -> Node {
        guard case .select(let operand, let field, let optional) = argument.kind else {
            throw Issue("has-needs-field", "has() needs a field", at: argument.range, help: "write it as has(task.title)")
        }
        return try make(range, point: argument.point, .has(operand, field: field, optional: optional))
    }

    private mutating func celMacro(_ name: String, _ arguments: [Node], _ range: Range<Int>, _ point: Range<Int>) throws(Issue)
        -> Node?
    {
        switch (name, arguments.count) {
        case ("bind", 3) where macros.contains(.bindings):
            guard let variable = arguments[0].variableName else { throw .notAVariable(macro: "cel.bind", at: arguments[0].range) }
            return try make(range, point: point, .bind(variable, arguments[1], arguments[2]))
        case ("block", 2) where macros.contains(.block):
            guard case .list(let elements) = arguments[0].kind, !elements.contains(where: \.optional) else {
                let message = "cel.block() needs a list of values as its first argument"
                throw Issue("block-needs-list", message, at: arguments[0].range)
            }
            return try make(range, point: point, .block(elements.map(\.value), arguments[1]))
        case ("index", 1) where macros.contains(.block):
            return try make(range, .identifier("@index\(try smallNumber(arguments[0]))", absolute: false))
        case ("iterVar", 2) where macros.contains(.block):
            let (depth, unique) = (try smallNumber(arguments[0]), try smallNumber(arguments[1]))
            return try make(range, .identifier("@it:\(depth):\(unique)", absolute: false))
        case ("accuVar", 2) where macros.contains(.block):
            let (depth, unique) = (try smallNumber(arguments[0]), try smallNumber(arguments[1]))
            return try make(range, .identifier("@ac:\(depth):\(unique)", absolute: false))
        default: return nil
        }
    }

    private func smallNumber(_ node: Node) throws(Issue) -> Int64 {
        guard case .literal(.int(let number)) = node.kind, number >= 0 else {
            throw Issue("block-needs-number", "a number such as 0 belongs here", at: node.range)
        }
        return number
    }
}

extension Node {
    /// The name that the node declares as the variable of a macro.
    fileprivate var variableName: String? {
        if case .identifier(let name, absolute: false) = kind { return name }
        return nil
    }
}
