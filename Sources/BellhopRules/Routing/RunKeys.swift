import BellhopCore
import CEL

/// The values of `once` and of `throttle`'s `by` for a run.
struct RunKeys: Sendable {
    var once: String?
    var throttle: String?
    /// Whether the run only records its deliveries.
    var isShadow = false
    /// The error, if one of them has no value or failed.
    var stop: Stop?

    init() {}

    init(_ rule: Rule, _ frame: RunFrame, _ activation: Activation) {
        isShadow = rule.isShadow(for: frame)
        if let expression = rule.once { once = Self.key(expression, "`once`", activation, &stop) }
        if let limit = rule.throttle {
            throttle = limit.by.map { Self.key($0, "`by`", activation, &stop) } ?? ""
        }
    }

    /// The keys of the rule's state that they name.
    func stateKeys(of rule: Rule) -> [StateKey] {
        [
            once.map { rule.stateKey(.once, $0, isShadow: isShadow) },
            throttle.map { rule.stateKey(.throttle, $0, isShadow: isShadow) },
        ].compactMap { $0 }
    }

    /// The text of a key; nil, with the reason, if it is null or fails.
    static func key(_ expression: RuleExpression, _ what: String, _ activation: Activation, _ stop: inout Stop?) -> String? {
        do throws(EvaluationError) {
            if let text = try expression.program.evaluate(activation).keyText { return text }
            stop = .failed(.keyFailed, "\(what) has no value")
        } catch {
            stop = .failed(.keyFailed, "\(what) failed: \(error.message)")
        }
        return nil
    }
}
