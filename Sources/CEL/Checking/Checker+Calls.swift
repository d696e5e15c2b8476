extension Checker {
    mutating func call(_ node: Node, _ name: String, _ target: Node?, _ arguments: [Node]) -> CELType {
        if let target, let function = namespaced(target, name) {
            let types = arguments.map { visit($0) }
            return overload(function, node, isMember: false, nodes: arguments, types: types, isNamespaced: true)
        }
        if target == nil, let selector = environment.selectors[name] { return selected(by: selector, node, arguments) }
        let function = target == nil ? environment.candidates(for: name).first { environment.functions[$0] != nil } ?? name : name
        if isStrict, environment.functions[function] == nil, namesVariable(arguments.first) {
            if let target { _ = visit(target) }
            return overload(function, node, isMember: target != nil, nodes: [], types: [])
        }
        let nodes = (target.map { [$0] } ?? []) + arguments
        let types = nodes.map { visit($0) }
        return overload(function, node, isMember: target != nil, nodes: nodes, types: types)
    }

    /// Whether the first argument of an unknown function is an unknown name, as in a macro of another language: `tasks.any(t, …)`. Then only
    /// the function is reported.
    private func namesVariable(_ argument: Node?) -> Bool {
        guard case .identifier(let name, _)? = argument?.kind else { return false }
        return !isDeclared(name)
    }

    /// The variable that the argument names.
    private mutating func selected(
        by selector: Environment.VariableSelector, _ node: Node, _ arguments: [Node]
    ) -> CELType {
        var name: String?
        if arguments.count == 1, case .literal(.string(let text)) = arguments[0].kind { name = text }
        switch selector.variable(name) {
        case .success(let variable):
            references[node.id] = .variable(variable)
            return variable.type
        case .failure(let problem):
            let type = fail(node, EvaluationError(.host, problem.message))
            let place = arguments.count == 1 ? arguments[0].range : node.range
            return isStrict ? report(.badArgument(problem.message, help: problem.help, at: place)) : type
        }
    }

    /// The function that `target.name` names as a whole, such as `math.round`.
    private func namespaced(_ target: Node, _ name: String) -> String? {
        guard let qualified = target.qualifiedName else { return nil }
        let first = qualified.prefix { $0 != "." }
        guard !scopes.contains(where: { $0.name == first }) else { return nil }
        return environment.candidates(for: "\(qualified).\(name)").first { environment.functions[$0] != nil }
    }

    /// Finds the overloads that accept the arguments, and returns their common result type.
    mutating func overload(
        _ name: String, _ node: Node, isMember: Bool, nodes: [Node], types: [CELType], isNamespaced: Bool = false
    ) -> CELType {
        let all = environment.functions[name]?.overloads ?? []
        let shaped = all.filter { $0.isMember == isMember && $0.takes(count: types.count) }
        guard isStrict else {
            references[node.id] = .function(name: name, overloads: shaped, isNamespaced: isNamespaced)
            return .dyn
        }
        guard !all.isEmpty else {
            // A receiver of unknown type must not hide that the function is unknown.
            let known = Array(environment.functions.keys) + environment.selectors.keys
            return report(.unknownFunction(name, suggestion: environment.suggestion(for: name, among: known), at: node.point))
        }
        var fitting: [Overload] = []
        var result: CELType?
        for overload in shaped {
            let signature = inference.instantiate([overload.result] + types.indices.map(overload.parameter))
            guard inference.accepts(types, as: Array(signature.dropFirst())) else { continue }
            fitting.append(overload)
            let type = inference.resolve(signature[0])
            if let earlier = result {
                if earlier != .dyn, earlier != type { result = .dyn }
            } else {
                result = type
            }
            // If all types are known, the first fitting overload is the only one. Otherwise the values choose one at run time.
            if !types.contains(where: \.isOpen) { break }
        }
        guard let result else {
            return report(mismatch(name, node, isMember: isMember, nodes: nodes, types: types.map(resolved), all: all))
        }
        references[node.id] = .function(name: name, overloads: fitting, isNamespaced: isNamespaced)
        check(nodes, fitting, node)
        return result
    }

    /// Lets a function check its constant arguments.
    private mutating func check(_ nodes: [Node], _ overloads: [Overload], _ node: Node) {
        guard overloads.count == 1, let check = overloads[0].check else { return }
        let constants = nodes.map { node -> Value? in
            if case .literal(let value) = node.kind { return value }
            return nil
        }
        guard let problem = check(constants) else { return }
        let place = nodes.indices.contains(problem.argument) ? nodes[problem.argument].range : node.range
        issues.append(.badArgument(problem.message, help: problem.help, at: place))
    }

    private func mismatch(
        _ name: String, _ node: Node, isMember: Bool, nodes: [Node], types: [CELType], all: [Overload]
    ) -> Issue {
        guard let symbol = Self.symbols[name] else {
            let arguments = isMember ? Array(types.dropFirst()) : types
            return .noOverload(
                name, target: isMember ? types.first : nil, arguments: arguments,
                choices: Array(all.prefix(4).map { $0.signature(of: name) }), at: node.point)
        }
        guard nodes.count == 2 else { return .noOperator(symbol, types, fix: nil, at: node.range) }
        let fix = corrected(nodes[0], types[0], symbol, nodes[1], types[1])
        return Self.comparisons.contains(symbol)
            ? .incomparable(symbol, types[0], types[1], fix: fix, at: node.range)
            : .noOperator(symbol, types, fix: fix, at: node.range)
    }

    private static let comparisons: Set<String> = ["==", "!=", "<", "<=", ">", ">=", "in"]

    static let symbols = [
        "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in", "_+_": "+", "_-_": "-",
        "_*_": "*",
        "_/_": "/", "_%_": "%", "-_": "-", "!_": "!", "_[_]": "[]", "_[?_]": "[?]",
    ]

    // MARK: Suggested fixes

    /// The operation with one side converted so that it works, if there is such a conversion.
    private func corrected(_ left: Node, _ leftType: CELType, _ symbol: String, _ right: Node, _ rightType: CELType) -> String? {
        if symbol == "in" {
            guard case .list(let element) = rightType.unwrapped else { return nil }
            return conversion(left, from: leftType, to: element).map { "`\($0) in \(source(right))`" }
        }
        guard symbol != "[]", symbol != "[?]" else { return nil }
        // A text literal is converted to the other side's type. If that fails, nothing is suggested: the other side's text would
        // never equal it.
        for (node, type) in [(left, rightType), (right, leftType)] where Self.comparisons.contains(symbol) {
            if case .literal(.string) = node.kind, Self.plain.contains(type.unwrapped) {
                return conversion(node, from: .string, to: type).map { corrected in
                    node.id == left.id ? "`\(corrected) \(symbol) \(source(right))`" : "`\(source(left)) \(symbol) \(corrected)`"
                }
            }
        }
        let takesText = symbol == "+" || Self.comparisons.contains(symbol)
        func converted(_ node: Node, from actual: CELType, to wanted: CELType) -> String? {
            if wanted.unwrapped == .string && !takesText { return nil }
            if wanted.unwrapped == .duration && !takesText && symbol != "-" { return nil }
            return conversion(node, from: actual, to: wanted)
        }
        // Converting a constant is preferred to converting a field.
        let newRight = { converted(right, from: rightType, to: leftType).map { "`\(source(left)) \(symbol) \($0)`" } }
        let newLeft = { converted(left, from: leftType, to: rightType).map { "`\($0) \(symbol) \(source(right))`" } }
        if case .literal = left.kind { return newLeft() ?? newRight() }
        if case .literal = right.kind { return newRight() ?? newLeft() }
        return leftType.unwrapped == .double ? newRight() : newLeft() ?? newRight()
    }

    /// Types that a text can be parsed as.
    private static let plain: [CELType] = [.int, .uint, .double, .bool, .timestamp, .duration]

    /// A time as `timestamp()` reads it: a date alone is midnight UTC, and a blank may replace the `T`.
    private static func moment(_ text: String) -> String? {
        [text, text + "T00:00:00Z", text + "Z", text.replacing(" ", with: "T") + "Z"].first { Value.Timestamp($0) != nil }
    }

    /// A part's source text, converted to another type.
    func conversion(_ node: Node, from actual: CELType, to wanted: CELType) -> String? {
        let text = source(node)
        switch (node.kind, wanted.unwrapped) {
        case (.literal(.string(let value)), .int): return Int64(value).map(String.init)
        case (.literal(.string(let value)), .double): return Double(value).map { Numbers.text($0) }
        case (.literal(.string(let value)), .bool): return ["true", "false"].contains(value) ? value : nil
        case (.literal(.string(let value)), .timestamp):
            return Self.moment(value).map { $0 == value ? "timestamp(\(text))" : "timestamp(\"\($0)\")" }
        case (.literal(.string(let value)), .duration): return Duration(cel: value) == nil ? nil : "duration(\(text))"
        case (.literal(.int(let value)), .string): return "\"\(value)\""
        case (.literal(.int(let value)), .double): return "\(value).0"
        case (.literal(.int(let value)), .duration): return "duration(\"\(value)s\")"
        case (.literal(.int(let value)), .uint): return value >= 0 ? "\(value)u" : nil
        case (.literal(.double(let value)), .int): return Int64(exactly: value).map(String.init)
        case (.literal(.uint(let value)), .int): return String(value)
        default: break
        }
        switch (actual.unwrapped, wanted.unwrapped) {
        case (.int, .double), (.uint, .double): return "double(\(text))"
        case (.uint, .int): return "int(\(text))"
        case (.int, .string), (.uint, .string), (.double, .string), (.bool, .string): return "string(\(text))"
        default: return nil
        }
    }
}
