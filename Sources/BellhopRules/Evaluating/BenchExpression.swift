public import BellhopCore
import CEL
import YAML

/// A checked expression with its subject; can be evaluated repeatedly.
public struct BenchExpression: Sendable {
    let expression: Expression
    let needs: RuleExpression.Needs
    let source: SourceText
    let event: Event
    let facts: RunFacts
    let slots: SlotTable
    let zone: TimeZoneTable

    /// Whether it reads `tasks` or a snapshot.
    public var needsTasks: Bool { needs.contains(.tasks) || needs.contains(.snapshots) }

    /// - Parameters:
    ///   - now: the time that `now` and `age()` use.
    ///   - tasks: the tasks of the sources, by scope.
    public func evaluate(at now: Timestamp, tasks: [Scope.ID: [Snapshot]] = [:]) -> Evaluation {
        let frame = RunFrame(facts, events: [StoredEvent(sequence: 0, event: event)], now: now, snapshots: tasks)
        let activation = Activation(slots)
        activation.begin(frame)
        let (result, observations) = expression.explain(activation, wholePaths: true)
        let outcome: Evaluation.Outcome
        switch result {
        case .value(let value): outcome = .value(Evaluation.Result(value: value, type: type(of: value), zone: zone))
        case .failure(let error): outcome = .failure(diagnostic(error))
        case .notEvaluated: preconditionFailure("explain() evaluates the whole expression")
        }
        return Evaluation(outcome: outcome, parts: Evaluation.parts(of: observations, in: source, zone: zone))
    }

    /// The declared type, if known before the expression runs; else the value's.
    private func type(of value: CEL.Value) -> String {
        if case .null = value { return "null" }
        return (expression.type.isDynamic ? value.celType : expression.type).description
    }

    private func diagnostic(_ error: EvaluationError) -> Diagnostic {
        let place = error.range.map { Diagnostic.Place(source.range($0), in: source, file: ExpressionBench.file) }
        let help = error.code == .nullOperand ? "in a `when` this is unknown, and the rule does not run" : nil
        return Diagnostic(code: error.code.rawValue, error.message, at: place, help: help)
    }
}

extension Evaluation {
    /// The results of an expression's parts, without the parts of one that was not evaluated itself.
    static func parts(of observations: [Observation], in source: SourceText, zone: TimeZoneTable) -> [Part] {
        var skipped = Int.max
        let shown = observations.filter { observation in
            if case .notEvaluated = observation.outcome {
                if observation.depth > skipped { return false }
                skipped = observation.depth
            } else if observation.depth <= skipped {
                skipped = .max
            }
            return isInformative(observation)
        }
        return shown.map { observation in
            let position = source.range(observation.node.range).start
            let outcome: Part.Outcome =
                switch observation.outcome {
                case .value(let value): .value(Result(value: value, type: observation.type.description, zone: zone))
                case .failure(let error): .failure(code: error.code.rawValue, message: error.message)
                case .notEvaluated: .notEvaluated
                }
            return Part(
                text: observation.text, line: position.line, column: position.column, depth: observation.depth - 1,
                outcome: outcome, times: observation.times)
        }
    }

    /// Whether a part adds information. The whole expression does not, because it is the result, nor does a constant.
    private static func isInformative(_ part: Observation) -> Bool {
        guard part.depth > 0 else { return false }
        if case .value(let value) = part.outcome, case .object = value, case .identifier = part.node.kind { return false }
        return !part.node.isConstant
    }
}

extension CELType {
    /// Whether only the value shows the type.
    fileprivate var isDynamic: Bool {
        switch self {
        case .dyn, .parameter: true
        case .nullable(let inner): inner.isDynamic
        default: false
        }
    }
}

extension CEL.Node {
    /// Whether the part is a literal, or a list or map of literals.
    fileprivate var isConstant: Bool {
        switch kind {
        case .literal: true
        case .list, .map: kind.children.allSatisfy(\.isConstant)
        default: false
        }
    }
}
