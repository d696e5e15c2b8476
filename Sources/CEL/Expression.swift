/// A parsed, checked and planned expression: its type, the names it uses, and its ``program``.
public struct Expression: Sendable {
    public let text: String
    public let type: CELType
    public internal(set) var program: Program
    /// The variables, paths and functions it uses.
    public let references: References
    /// Paths that must have one of a few values for the expression to be true.
    public internal(set) var equalities: [Equality]
    let checked: Checked
    let environment: Environment

    /// The names used by an expression, without repetitions, in text order.
    public struct References: Sendable {
        public var variables: [String] = []
        /// The slots it reads: the longest paths, such as `task.priority`.
        public var slots: [Slot] = []
        public var functions: [String] = []
    }

    /// The expression can only be true if the slot's value is one of these.
    public struct Equality: Sendable {
        public let slot: Slot
        public let values: [Value]
    }

    public var root: Node { checked.root }

    public func type(of node: Node) -> CELType { checked.types[node.id] ?? .dyn }

    /// A part's own text.
    public func text(of node: Node) -> String { text.slice(node.range) }

    init(_ text: String, in environment: Environment, expecting expected: CELType?, checked isStrict: Bool) throws(Issues) {
        let root = try environment.parse(text)
        let checked = try Checker.check(root, of: text, in: environment, expecting: expected, isStrict: isStrict)
        var planner = Planner(checked, in: environment)
        program = planner.program()
        (self.text, self.checked, self.environment) = (text, checked, environment)
        type = checked.type
        let table = environment.slots.all
        references = References(of: checked, slots: planner.slots, table)
        equalities = Expression.equalities(in: root, planner, table)
    }
}

extension Expression.References {
    init(of checked: Checked, slots numbers: [Int: Int], _ table: [Slot]) {
        func add(_ name: String, to names: inout [String]) { if !names.contains(name) { names.append(name) } }
        func visit(_ node: Node, _ references: inout Self) {
            if let number = numbers[node.id] {
                if !references.slots.contains(where: { $0.id == number }) { references.slots.append(table[number]) }
                return add(table[number].variable, to: &references.variables)
            }
            if case .function(let name, _, _)? = checked.references[node.id] { add(name, to: &references.functions) }
            for child in node.kind.children { visit(child, &references) }
        }
        visit(checked.root, &self)
    }
}

extension Expression {
    private static func equalities(in root: Node, _ planner: Planner, _ table: [Slot]) -> [Equality] {
        var found: [Equality] = []
        for term in Planner.terms(root, isOr: false) {
            guard let (slot, values) = choices(term, planner) else { continue }
            found.append(Equality(slot: table[slot], values: values))
        }
        return found
    }

    /// The slot that must have one of the values for the term to be true: `path == constant`, `path in [constants]`, or several
    /// of these on one path joined by `||`.
    private static func choices(_ term: Node, _ planner: Planner) -> (Int, [Value])? {
        switch term.kind {
        case .call("_==_", target: nil, let sides) where sides.count == 2:
            for (path, constant) in [(sides[0], sides[1]), (sides[1], sides[0])] {
                if let slot = planner.slots[path.id], let value = planner.constants[constant.id] { return (slot, [value]) }
            }
            return nil
        case .call("@in", target: nil, let sides) where sides.count == 2:
            guard let slot = planner.slots[sides[0].id], case .list(let list)? = planner.constants[sides[1].id] else {
                return nil
            }
            return (slot, list.elements)
        case .or:
            var slot: Int?
            var values: [Value] = []
            for choice in Planner.terms(term, isOr: true) {
                guard let (place, more) = choices(choice, planner), slot == nil || slot == place else { return nil }
                slot = place
                values += more
            }
            return slot.map { ($0, values) }
        default: return nil
        }
    }
}
