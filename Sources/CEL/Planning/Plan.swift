/// How one part of an expression is evaluated.
struct Plan: Sendable {
    typealias Evaluate = @Sendable (Activation) throws(EvaluationError) -> Value

    /// A part as a condition. A struct, because Swift wraps a bare closure in a second closure to store it in an optional or an array.
    struct Test: Sendable {
        private let body: @Sendable (Activation) -> Truth

        init(_ body: @escaping @Sendable (Activation) -> Truth) { self.body = body }

        @inline(__always)
        func callAsFunction(_ activation: Activation) -> Truth { body(activation) }
    }

    let evaluate: Evaluate
    /// The part as a condition, if it can be decided without making a value.
    var test: Test?
    /// The value, if known in advance.
    var constant: Value?
    /// The slot, if the part is just a slot.
    var slot: Int?

    init(_ evaluate: @escaping Evaluate) { self.evaluate = evaluate }

    init(constant value: Value) {
        evaluate = { _ throws(EvaluationError) in value }
        constant = value
        if case .bool(let truth) = value {
            let truth = Truth(truth)
            test = Test { _ in truth }
        }
    }

    init(test: Test) {
        self.test = test
        evaluate = { activation throws(EvaluationError) in
            switch test(activation) {
            case .yes: return .bool(true)
            case .no: return .bool(false)
            case .failed: throw activation.reason
            }
        }
    }

    init(test body: @escaping @Sendable (Activation) -> Truth) { self.init(test: Test(body)) }

    init(failure: EvaluationError) { evaluate = { _ throws(EvaluationError) in throw failure } }

    /// The part as a condition; a value that is not a bool is an error at this range.
    func asTest(at range: Range<Int>) -> Test {
        if let test { return test }
        let evaluate = evaluate
        return Test { activation in
            do throws(EvaluationError) {
                let value = try evaluate(activation)
                if case .bool(let truth) = value { return Truth(truth) }
                return activation.fail(.notACondition(value), at: range)
            } catch {
                activation.failure = error
                return .failed
            }
        }
    }
}
