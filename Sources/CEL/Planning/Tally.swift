import Synchronization

/// Counts the results of each part of an expression over many evaluations.
///
/// A class with a mutex, because programs share it and may run on several threads.
public final class Tally: Sendable {
    /// How often a part was true, how often it was false, and how often it was evaluated.
    public struct Count: Sendable, Hashable {
        public internal(set) var yes = 0
        public internal(set) var no = 0
        public internal(set) var all = 0
    }

    private let counts = Mutex<[Int: Count]>([:])

    public init() {}

    public func count(of node: Node) -> Count { counts.withLock { $0[node.id] ?? Count() } }

    func note(_ id: Int, _ outcome: Observation.Outcome) {
        counts.withLock { counts in
            counts[id, default: Count()].all += 1
            guard case .value(.bool(let value)) = outcome else { return }
            if value { counts[id]?.yes += 1 } else { counts[id]?.no += 1 }
        }
    }
}

extension Expression {
    /// A copy of the expression that counts the results of its parts and is always evaluated, never replaced by an index. It is slower:
    /// use it for the coverage of tests, not for routing.
    public func counted(by tally: Tally) -> Expression {
        var planner = Planner(checked, in: environment, isObserving: true, tally: tally)
        var expression = self
        expression.program = planner.program()
        expression.equalities = []
        return expression
    }

    /// The conditions that decide the result of the expression: the operands of `&&`, `||` and `!`, and the condition before `?`, down
    /// to parts that contain no such operator. Macros such as `exists` are one part, and literals decide nothing.
    public var decisions: [Node] {
        var found: [Node] = []
        func visit(_ node: Node, decides: Bool) {
            switch node.kind {
            case .and(let left, let right), .or(let left, let right):
                visit(left, decides: true)
                visit(right, decides: true)
            case .call("!_", target: nil, let operands): for operand in operands { visit(operand, decides: true) }
            case .conditional(let condition, let yes, let no):
                visit(condition, decides: true)
                visit(yes, decides: decides)
                visit(no, decides: decides)
            case .literal: break
            case .comprehension: if decides { found.append(node) }
            default:
                if decides { return found.append(node) }
                for child in node.kind.children { visit(child, decides: false) }
            }
        }
        visit(checked.root, decides: type == .bool)
        return found
    }
}
