// Throws texts at the lexer, the parser, the checker and the evaluator: whatever comes, nothing may trap and every run must end.
//
// Built by hand, not by the package (see the Makefile's comments on fuzzing):
//   swift build -c release --product CEL
//   swiftc -O -sanitize=fuzzer,address -parse-as-library -module-name Fuzz Sources/CEL/**/*.swift Tests/Fuzz/CEL.swift …

/// The variables that fuzzed expressions find.
private enum Stage {
    static let task = ObjectType(
        "task", fields: [.init("number", .string), .init("priority", .nullable(.int)), .init("due", .nullable(.timestamp)), .init("labels", .map(.string, .string))])

    static let environment: Environment = {
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

    static let one = Value.map([
        "number": "INC0010021", "priority": 1, "due": .timestamp(Value.Timestamp(seconds: 1_767_603_600)!), "labels": .map(["a": "b"]),
    ])

    static let bindings = Bindings([
        "task": one, "tasks": .list([one, one]), "x": .list([1, "two", .double(3), .null]), "s": "a text with ünïcödé", "n": 42,
    ])
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    _ = ExpressionScanner.end(of: bytes, from: 0)
    let text = String(decoding: bytes, as: UTF8.self)
    for isChecked in [true, false] {
        do throws(Issues) {
            let expression = try isChecked ? Stage.environment.compile(text) : Stage.environment.compileUnchecked(text)
            run(expression)
        } catch {
            // Each problem lies within the text.
            for issue in error.all { precondition(issue.range.lowerBound >= 0 && issue.range.upperBound <= text.utf8.count) }
        }
    }
    return 0
}

/// Planned and observed evaluation must agree.
private func run(_ expression: Expression) {
    let activation = Activation(Stage.environment, resolver: Stage.bindings)
    var planned: Value?
    do throws(EvaluationError) {
        let value = try expression.program.evaluate(activation)
        _ = value.json
        _ = value.description
        planned = value
    } catch {
        precondition(error.range.map { $0.upperBound <= expression.text.utf8.count } ?? true)
    }
    let (result, _) = expression.explain(activation)
    switch (planned, result) {
    case (let value?, .value(let seen)): precondition(value.description == seen.description)
    case (nil, .failure): break
    case (_, .failure(let error)) where error.code == .costLimit || error.code == .memoryLimit: break
    case (nil, .value): break
    default: preconditionFailure("planned and observed evaluation differ")
    }
    _ = expression.program.verdict(activation)
}
