/// The result of a condition.
enum Truth: Sendable {
    case no, yes
    /// The reason is in the activation's `failure`.
    case failed

    @inline(__always)
    init(_ value: Bool) { self = value ? .yes : .no }

    @inline(__always)
    var negated: Truth {
        switch self {
        case .no: .yes
        case .yes: .no
        case .failed: .failed
        }
    }
}

/// A planned expression: closures over the slots of an ``Activation``.
public struct Program: Sendable {
    let plan: Plan
    let test: Plan.Test
    let slotCount: Int
    let localCount: Int
    let limits: Limits

    init(plan: Plan, range: Range<Int>, slotCount: Int, localCount: Int, limits: Limits) {
        self.plan = plan
        test = plan.asTest(at: range)
        (self.slotCount, self.localCount, self.limits) = (slotCount, localCount, limits)
    }

    /// The result of a condition: yes, no, or the reason why it has none.
    public enum Verdict: Sendable {
        case yes, no
        /// An operand was null: the condition is neither true nor false.
        case unknown(EvaluationError)
        case failed(EvaluationError)
    }

    /// The expression's value.
    public func evaluate(_ activation: Activation) throws(EvaluationError) -> Value {
        let before = activation.enter(self)
        defer { activation.leave(before) }
        return try plan.evaluate(activation)
    }

    /// The value with variables given by name, for occasional evaluations.
    public func evaluate(_ variables: [String: Value] = [:], in environment: Environment) throws(EvaluationError) -> Value {
        try evaluate(Activation(environment, resolver: Bindings(variables)))
    }

    /// The expression as a condition; does not allocate if the answer is yes or no.
    public func verdict(_ activation: Activation) -> Verdict {
        let before = activation.enter(self)
        defer { activation.leave(before) }
        switch test(activation) {
        case .yes: return .yes
        case .no: return .no
        case .failed:
            let error = activation.reason
            return error.code == .nullOperand ? .unknown(error) : .failed(error)
        }
    }

    /// Whether the condition is true; false if it is unknown or fails. The fastest way.
    public func holds(_ activation: Activation) -> Bool {
        let before = activation.enter(self)
        defer { activation.leave(before) }
        return test(activation) == .yes
    }
}

/// Variables by name.
public final class Bindings: Resolver, Sendable {
    private let values: [String: Value]

    public init(_ values: [String: Value]) { self.values = values }

    public func value(of slot: Slot) -> Value? { slot.path.isEmpty ? values[slot.variable] : nil }
}
