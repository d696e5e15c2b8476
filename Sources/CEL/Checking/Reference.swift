/// What a name in an expression stands for, found by the checker.
enum Reference: Sendable {
    /// A variable of the environment; the node may be a whole chain such as `a.b.c`.
    case variable(Environment.Variable)
    /// The place of a macro's variable among those of an evaluation; of a macro itself, the first of its places.
    case local(Int)
    case constant(Value)
    /// A function and the overloads that the argument types leave; a namespaced one has no target to evaluate.
    case function(name: String, overloads: [Overload], isNamespaced: Bool)
    /// What an unchecked expression fails with, once it gets there.
    case failure(EvaluationError)
}

/// A tree with the types of its nodes and the meaning of its names, by the nodes' ids.
struct Checked: Sendable {
    let root: Node
    var types: [Int: CELType]
    var references: [Int: Reference]
    /// The most macro variables that are alive at once.
    var locals: Int

    /// The parts of a node that have values of their own: not the names before the dot of `math.round`.
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
