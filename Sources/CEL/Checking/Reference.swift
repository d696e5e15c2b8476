/// The declaration that a name in an expression refers to, found by the checker.
enum Reference: Sendable {
    /// A variable of the environment; the node may be a whole chain such as `a.b.c`.
    case variable(Environment.Variable)
    /// The place of a macro's variable among those of an evaluation; for a macro itself, its first place.
    case local(Int)
    case constant(Value)
    /// A function and the overloads that match the argument types; a namespaced one has no target to evaluate.
    case function(name: String, overloads: [Overload], isNamespaced: Bool)
    /// The error of an unchecked expression when this part is evaluated.
    case failure(EvaluationError)
}

/// A tree with the types and references of its nodes, by node id.
struct Checked: Sendable {
    let root: Node
    var types: [Int: CELType]
    var references: [Int: Reference]
    /// The most macro variables in use at once.
    var locals: Int

    /// The parts of a node that have values: not the names before the dot of `math.round`.
    func evaluatedChildren(of node: Node) -> [Node] {
        switch references[node.id] {
        case .constant?, .variable?: []
        case .function(_, _, isNamespaced: true)?:
            if case .call(_, target: _, let arguments) = node.kind { arguments } else { node.kind.children }
        case .function?, .local?, .failure?, nil: node.kind.children
        }
    }

    /// The type of the whole.
    var type: CELType { types[root.id] ?? .dyn }
}
