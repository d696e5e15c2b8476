/// The result of a part of an expression, for explaining an answer.
public struct Observation: Sendable {
    public enum Outcome: Sendable {
        case value(Value)
        case failure(EvaluationError)
        /// The part was not evaluated, like the right side of a decided `&&`.
        case notEvaluated
    }

    public let node: Node
    /// The part's own text.
    public let text: String
    public let type: CELType
    /// The part's depth; the whole expression is at 0.
    public let depth: Int
    /// The part's result; inside a macro, that for the last element.
    public let outcome: Outcome
    /// How often the part was evaluated: more than once inside a macro.
    public let times: Int
}

/// Records the result of each part, by node id.
///
/// A class, used by one thread, because closures of all parts write to it while they run.
final class Recorder {
    var outcomes: [Int: (outcome: Observation.Outcome, times: Int)] = [:]

    func record(_ id: Int, _ outcome: Observation.Outcome) { outcomes[id] = (outcome, (outcomes[id]?.times ?? 0) + 1) }
}

extension Planner {
    /// A plan that records the part's result.
    func observed(_ plan: Plan, _ node: Node) -> Plan {
        let (id, tally) = (node.id, tally)
        return Plan { activation throws(EvaluationError) in
            do throws(EvaluationError) {
                let value = try plan.evaluate(activation)
                activation.recorder?.record(id, .value(value))
                tally?.note(id, .value(value))
                return value
            } catch {
                activation.recorder?.record(id, .failure(error))
                tally?.note(id, .failure(error))
                throw error
            }
        }
    }
}

extension Expression {
    /// Evaluates the expression and returns the result of each part, in text order. Slow: for explaining, not for routing.
    ///
    /// - Parameter wholePaths: reports a path such as `task.priority` as one part, read as the ``program`` reads it: in one step,
    ///   if the host has a faster way. Otherwise each field is followed from the one before.
    public func explain(
        _ activation: Activation, wholePaths: Bool = false
    ) -> (result: Observation.Outcome, parts: [Observation]) {
        var planner = Planner(checked, in: environment, isObserving: true, readsPaths: wholePaths)
        let program = planner.program()
        let recorder = Recorder()
        activation.recorder = recorder
        defer { activation.recorder = nil }
        let result: Observation.Outcome
        do throws(EvaluationError) { result = .value(try program.evaluate(activation)) } catch { result = .failure(error) }
        var observed: [Observation] = []
        func visit(_ node: Node, _ depth: Int) {
            let seen = recorder.outcomes[node.id]
            observed.append(
                Observation(
                    node: node, text: self.text(of: node), type: self.type(of: node), depth: depth,
                    outcome: seen?.outcome ?? .notEvaluated, times: seen?.times ?? 0))
            if planner.slots[node.id] != nil { return }
            for child in checked.evaluatedChildren(of: node) { visit(child, depth + 1) }
        }
        visit(checked.root, 0)
        return (result, observed)
    }
}
