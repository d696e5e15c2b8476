#if canImport(CEL)
    import CEL
#endif

/// Properties that hold for any text given to the language. The tests check them for the seeds of Tests/Fuzz, and the fuzzing
/// harness for libFuzzer's inputs; the harness is compiled as one module with the language.
enum Trial {
    private static let task = ObjectType(
        "task",
        fields: [
            .init("number", .string), .init("priority", .nullable(.int)), .init("due", .nullable(.timestamp)),
            .init("labels", .map(.string, .string)),
        ])

    private static let environment: Environment = {
        var limits = Limits()
        limits.cost = 100_000
        limits.memory = 4 << 20
        var environment = Environment(limits: limits)
        environment.declare("task", .object(task))
        environment.declare("tasks", .list(.object(task)))
        environment.declare("x", .dyn)
        environment.declare("s", .string)
        environment.declare("n", .int)
        return environment
    }()

    private static let one = Value.map([
        "number": "INC0010021", "priority": 1, "due": .timestamp(Value.Timestamp(seconds: 1_767_603_600)!),
        "labels": .map(["a": "b"]),
    ])

    private static let bindings = Bindings([
        "task": one, "tasks": .list([one, one]), "x": .list([1, "two", .double(3), .null]), "s": "a text with ünïcödé", "n": 42,
    ])

    /// The property that these bytes violate; nil if all hold. A trap or endless work ends the run without a report.
    static func problem(of bytes: [UInt8]) -> String? {
        if let end = ExpressionScanner.end(of: bytes, from: 0), end + 2 > bytes.count { return "the end lies outside the text" }
        let text = String(decoding: bytes, as: UTF8.self)
        for isChecked in [true, false] {
            do throws(Issues) {
                let expression = try isChecked ? environment.compile(text) : environment.compileUnchecked(text)
                if let problem = problem(of: expression, text) { return problem }
            } catch {
                if error.all.isEmpty { return "refused without a problem" }
                for issue in error.all where issue.range.lowerBound < 0 || issue.range.upperBound > text.utf8.count {
                    return "\(issue.code) lies outside the text"
                }
            }
        }
        return nil
    }

    /// Planned and observed evaluation must have equal results.
    private static func problem(of expression: Expression, _ text: String) -> String? {
        let activation = Activation(environment, resolver: bindings)
        var planned: Value?
        do throws(EvaluationError) {
            let value = try expression.program.evaluate(activation)
            _ = value.json
            _ = value.description
            planned = value
        } catch {
            if let range = error.range, range.upperBound > text.utf8.count { return "\(error.code) lies outside the text" }
        }
        let (result, _) = expression.explain(activation)
        _ = expression.program.verdict(activation)
        switch (planned, result) {
        case (let value?, .value(let seen)):
            return value.description == seen.description ? nil : "planned \(value), observed \(seen)"
        case (nil, .failure), (nil, .value): return nil
        // Observing costs more.
        case (_, .failure(let error)) where error.code == .costLimit || error.code == .memoryLimit: return nil
        case (let value?, .failure(let error)): return "planned \(value), observed \(error)"
        case (_, .notEvaluated): return "not evaluated"
        }
    }
}
