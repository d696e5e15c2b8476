/// Resolves names, finds the type of each part, and collects all errors.
struct Checker {
    let environment: Environment
    let text: String
    /// False leaves type checks to run time and reports only errors that are certain.
    let isStrict: Bool
    var inference = Inference()
    var types: [Int: CELType] = [:]
    var references: [Int: Reference] = [:]
    var issues: [Issue] = []
    var scopes: [(name: String, type: CELType)] = []
    private var deepest = 0

    static func check(
        _ root: Node, of text: String, in environment: Environment, expecting expected: CELType?, isStrict: Bool
    ) throws(Issues) -> Checked {
        var checker = Checker(environment: environment, text: text, isStrict: isStrict)
        let type = checker.visit(root)
        if let expected, checker.issues.isEmpty { _ = checker.fits(root, type, expected, "the expression's type here") }
        guard checker.issues.isEmpty else {
            throw Issues(checker.issues.sorted { $0.range.lowerBound < $1.range.lowerBound })
        }
        let inference = checker.inference
        return Checked(
            root: root, types: checker.types.mapValues { inference.resolve($0, unknownAsDyn: true) },
            references: checker.references, locals: checker.deepest)
    }

    /// The node's type, as far as known.
    mutating func visit(_ node: Node) -> CELType {
        var type = isStrict ? inference.resolve(type(of: node)) : dynamic(node)
        if type.isDeeper(than: Self.deepestType) {
            type = report(Issue("expression-too-deep", "the value here is nested more than 100 deep", at: node.range))
        }
        types[node.id] = type
        return type
    }

    private static let deepestType = 100

    func resolved(_ type: CELType) -> CELType { inference.resolve(type, unknownAsDyn: true) }

    func source(_ node: Node) -> String { text.slice(node.range) }

    mutating func report(_ issue: Issue) -> CELType {
        issues.append(issue)
        return .dyn
    }

    /// In an unchecked expression every type is dynamic; names are still resolved.
    private mutating func dynamic(_ node: Node) -> CELType {
        _ = type(of: node)
        return .dyn
    }

    private mutating func type(of node: Node) -> CELType {
        switch node.kind {
        case .literal(let value): return value.celType
        case .identifier, .select: return name(node) ?? unresolved(node)
        case .has(let operand, let field, _):
            let type = visit(operand)
            _ = fieldType(field, of: type, at: node.point)
            return .bool
        case .index(let operand, let key, let optional):
            let arguments = [visit(operand), visit(key)]
            return overload(optional ? "_[?_]" : "_[_]", node, isMember: false, nodes: [operand, key], types: arguments)
        case .call(let function, let target, let arguments): return call(node, function, target, arguments)
        case .and(let left, let right), .or(let left, let right):
            for side in [left, right] { needBool(side, "each side of `\(node.kind.logicalSymbol)`") }
            return .bool
        case .conditional(let condition, let yes, let no):
            needBool(condition, "the condition before `?`")
            let (first, second) = (visit(yes), visit(no))
            return join(first, second)
                ?? report(
                    .incomparable(
                        "?:", resolved(first), resolved(second), fix: conversion(no, from: second, to: first), at: node.range))
        case .list(let elements): return .list(elementType(elements.map { ($0.value, $0.optional) }))
        case .map(let entries):
            let key = keyType(entries)
            return .map(key, elementType(entries.map { ($0.value, $0.optional) }))
        case .structure(let name, let fields):
            for field in fields { _ = visit(field) }
            guard isStrict else { return fail(node, .unknownName(name)) }
            return report(.noSuchType(name, at: node.point))
        case .comprehension(let comprehension): return self.comprehension(comprehension, node)
        case .bind(let name, let value, let body):
            let type = visit(value)
            return scoped([(name, type)], of: node) { checker in checker.visit(body) }
        case .block(let values, let body): return block(values, body, node)
        }
    }

    // MARK: Names

    /// The type of a name or of the longest declared chain of names; nil for neither.
    private mutating func name(_ node: Node) -> CELType? {
        guard let name = node.qualifiedName else { return nil }
        if !name.hasPrefix(".") {
            if case .identifier(let plain, _) = node.kind, let place = scopes.lastIndex(where: { $0.name == plain }) {
                references[node.id] = .local(place)
                return scopes[place].type
            }
            let first = name.prefix { $0 != "." }
            if scopes.contains(where: { $0.name == first }) { return nil }
        }
        for candidate in environment.candidates(for: name) {
            if let variable = environment.variables[candidate] {
                references[node.id] = .variable(variable)
                return variable.type
            }
            if let type = environment.types[candidate] {
                references[node.id] = .constant(.type(type))
                return .type(type)
            }
        }
        return nil
    }

    /// Whether a name stands for a variable or a type.
    func isDeclared(_ name: String) -> Bool {
        scopes.contains { $0.name == name }
            || environment.candidates(for: name).contains { environment.variables[$0] != nil || environment.types[$0] != nil }
    }

    private mutating func unresolved(_ node: Node) -> CELType {
        if case .select(let operand, let field, let optional) = node.kind {
            let type = visit(operand)
            let found = fieldType(field, of: type, at: node.point)
            return optional && !type.isOptional ? .optional(found) : found
        }
        let name = node.qualifiedName ?? ""
        guard isStrict else { return fail(node, .unknownName(name)) }
        return report(.unknownName(name, suggestion: suggestion(for: name), at: node.range))
    }

    /// Marks a part of an unchecked expression that fails whenever it is evaluated.
    mutating func fail(_ node: Node, _ error: EvaluationError) -> CELType {
        references[node.id] = .failure(error.at(node.range))
        return .dyn
    }

    private func suggestion(for name: String) -> String? {
        let names = Array(environment.variables.keys) + scopes.map(\.name)
        // A variable that is always present is preferred to one that may be null.
        let owners = environment.variables.values.filter { variable in
            guard case .object(let type) = variable.type.unwrapped else { return false }
            return type.index(of: name) != nil
        }
        if let owner = owners.min(by: { ($0.type.isNullable ? 1 : 0, $0.name) < ($1.type.isNullable ? 1 : 0, $1.name) }) {
            return "\(owner.name).\(name)"
        }
        return environment.suggestion(for: name, among: names)
    }

    mutating func fieldType(_ field: String, of type: CELType, at place: Range<Int>) -> CELType {
        guard isStrict else { return .dyn }
        switch inference.resolve(type) {
        case .dyn: return .dyn
        case .parameter:
            _ = inference.accepts(.dyn, as: type)
            return .dyn
        case .nullable(let inner): return fieldType(field, of: inner, at: place)
        case .map(let key, let value):
            guard inference.accepts(.string, as: key) else { return report(.noFields(of: resolved(type), at: place)) }
            return value
        case .optional(let inner): return .optional(fieldType(field, of: inner, at: place).optionalPayload)
        case .object(let object):
            if let type = object.type(of: field) { return type }
            let suggestion = environment.suggestion(for: field, among: object.fields.lazy.map(\.name))
            return report(.unknownField(field, of: .object(object), suggestion: suggestion, at: place))
        default: return report(.noFields(of: resolved(type), at: place))
        }
    }

    // MARK: Scopes

    /// Runs `body` with variables declared, which get the next places among the macro variables.
    mutating func scoped<Result>(_ variables: [(String, CELType)], of node: Node, _ body: (inout Checker) -> Result) -> Result {
        references[node.id] = .local(scopes.count)
        scopes += variables.map { (name: $0.0, type: $0.1) }
        deepest = max(deepest, scopes.count)
        defer { scopes.removeLast(variables.count) }
        return body(&self)
    }

    private mutating func block(_ values: [Node], _ body: Node, _ node: Node) -> CELType {
        // Each value sees the ones before it. All places are reserved first: a value is computed on first use, so the variables
        // of macros inside it must not overlap another value's place.
        let first = scopes.count
        references[node.id] = .local(first)
        for _ in values { scopes.append((name: "", type: .dyn)) }
        deepest = max(deepest, scopes.count)
        for (index, value) in values.enumerated() {
            let type = visit(value)
            scopes[first + index] = (name: "@index\(index)", type: type)
        }
        defer { scopes.removeLast(values.count) }
        return visit(body)
    }

    // MARK: Agreement

    mutating func needBool(_ node: Node, _ what: String) {
        let type = visit(node)
        _ = fits(node, type, .bool, what)
    }

    /// Whether a part has the wanted type; if not, that is reported. In an unchecked expression every type is `dyn`, which fits.
    mutating func fits(_ node: Node, _ type: CELType, _ wanted: CELType, _ what: String) -> Bool {
        if inference.accepts(type, as: wanted) { return true }
        issues.append(.wrongType(what, needs: resolved(wanted), got: resolved(type), at: node.range))
        return false
    }

    /// The common type of two, or nil if there is none.
    mutating func join(_ first: CELType, _ second: CELType) -> CELType? {
        let shared = inference.fresh()
        return inference.accepts([first, second], as: [shared, shared]) ? inference.resolve(shared) : nil
    }

    /// The type of a map literal's keys. Types that cannot be keys of a map are discarded, because they may be large.
    private mutating func keyType(_ entries: [Node.Entry]) -> CELType {
        let type = inference.resolve(elementType(entries.map { ($0.key, false) }))
        return type.parts.isEmpty ? type : .dyn
    }

    /// The common type of a literal's elements, else `dyn`.
    private mutating func elementType(_ elements: [(Node, Bool)]) -> CELType {
        var joined: CELType?
        for (node, optional) in elements {
            var type = visit(node)
            if optional {
                guard fits(node, type, .optional(inference.fresh()), "the value after `?`") else { return .dyn }
                type = inference.resolve(type).optionalPayload
            }
            guard let previous = joined else {
                joined = type
                continue
            }
            joined = inference.accepts(previous, as: type) ? inference.resolve(inference.general(previous, type)) : .dyn
        }
        return joined ?? inference.fresh()
    }
}

extension CELType {
    var isOptional: Bool {
        if case .optional = self { return true }
        return false
    }

    var isNullable: Bool {
        if case .nullable = self { return true }
        return false
    }

    /// The inner type of an optional; any other type itself.
    var optionalPayload: CELType {
        if case .optional(let inner) = self { return inner }
        return self
    }
}

extension Node.Kind {
    fileprivate var logicalSymbol: String {
        if case .or = self { return "||" }
        return "&&"
    }
}
