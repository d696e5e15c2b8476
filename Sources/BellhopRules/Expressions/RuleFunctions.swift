import BellhopCore
import CEL

/// The functions of rules in addition to the language's.
enum RuleFunctions {
    static let ofEvents: Set<String> = ["changed", "label"]

    /// `age(time)`, `changed(field)`, `changed(field, from, to)` and `label(field)`.
    static func all(_ types: TaskTypes) -> [Function] {
        let known = FieldCheck(types: types)
        return [
            Function("age", Overload([.timestamp], .duration, .unary(age))),
            Function(
                "changed", Overload([.string], .bool, check: known.changeable, .unary(changed)),
                Overload([.string, .dyn, .dyn], .bool, check: known.changeable, .any(changedFromTo))),
            Function("label", Overload([.string], .string, check: known.declared, .unary(label))),
        ]
    }

    @Sendable private static func age(_ run: Activation, _ time: Value) throws(EvaluationError) -> Value {
        guard case .timestamp(let moment) = time else {
            throw EvaluationError(.nullOperand, "age() needs a time, not null")
        }
        guard let now = try frame(run).now else { throw EvaluationError(.host, "age() is not known yet") }
        return .duration(now - Timestamp(moment))
    }

    @Sendable private static func changed(_ run: Activation, _ field: Value) throws(EvaluationError) -> Value {
        .bool(try change(run, field) != nil)
    }

    @Sendable private static func changedFromTo(_ run: Activation, _ arguments: [Value]) throws(EvaluationError) -> Value {
        guard let (change, frame, name) = try change(run, arguments[0]) else { return .bool(false) }
        func holds(_ wanted: Value, _ end: EventKey, labels: EventKey) -> Bool {
            if frame.typed(change[end], field: name) == wanted { return true }
            guard case .string(let text) = wanted else { return false }
            return frame.data(labels)?.at("labels", name) == .string(text)
        }
        return .bool(holds(arguments[1], .from, labels: .before) && holds(arguments[2], .to, labels: .task))
    }

    @Sendable private static func label(_ run: Activation, _ field: Value) throws(EvaluationError) -> Value {
        guard case .string(let name) = field else { throw EvaluationError(.nullOperand, "label() needs a field's name") }
        let frame = try frame(run)
        if case .string(let label)? = frame.read(.label(name)) { return .string(label) }
        let raw = frame.read(Snapshot.ownNames.contains(name) ? .own(name) : .field(name, nil)) ?? .null
        return .string(raw.text ?? "")
    }

    private static func change(
        _ run: Activation, _ field: Value
    ) throws(EvaluationError) -> (change: JSON.Object, frame: RunFrame, field: String)? {
        guard case .string(let name) = field else { throw EvaluationError(.nullOperand, "changed() needs a field's name") }
        let frame = try frame(run)
        guard case .object(let change)? = frame.data(.changes)?[name] else { return nil }
        return (change, frame, name)
    }

    private static func frame(_ run: Activation) throws(EvaluationError) -> RunFrame {
        guard let frame = run.resolver as? RunFrame else { throw EvaluationError(.host, "this function needs an event") }
        return frame
    }
}

/// Checks literal field names in calls.
private struct FieldCheck: Sendable {
    let types: TaskTypes

    var changeable: Overload.ArgumentCheck { check(names: types.changeable) }
    var declared: Overload.ArgumentCheck { check(names: types.task.fields.map(\.name)) }

    private func check(names: [String]) -> Overload.ArgumentCheck {
        let task = types.task.name
        let isOpen = types.isOpen
        return { arguments in
            guard case .string(let name)?? = arguments.first, !isOpen, !names.contains(name) else { return nil }
            return Overload.ArgumentProblem("no field `\(name)` on \(task)", help: Suggestion.didYouMean(name, among: names))
        }
    }
}
