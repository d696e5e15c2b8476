// A libFuzzer harness for the whole of the language: lexer, parser, checker, planned and observed evaluation. It is not part of the package:
//
//     c++ -O1 -c Sources/CRE2/CRE2.cc -o cre2.o
//     printf 'module CRE2 { header "%s/Sources/CRE2/include/CRE2.h" export * }' "$PWD" > module.modulemap
//     swiftc -O -swift-version 6 -sanitize=fuzzer,address -parse-as-library -wmo -module-name Fuzz -I . \
//         $(find Sources/CEL/ -name '*.swift') Tests/Fuzz/CEL.swift cre2.o -lre2 -lstdc++ -o cel-fuzz
//     mkdir corpus && (cd corpus && split -l 1 -a 4 ../Tests/Fuzz/CEL.seeds)
//     ./cel-fuzz corpus -detect_leaks=0 -dict=Tests/Fuzz/CEL.dict -max_len=2048 -timeout=10 -max_total_time=600
//
// The seeds are lines that reached something new in earlier runs (two million so far, none of which trapped).
// It stops where anything traps or does not end, where a problem lies outside the text, and where an evaluation whose parts are observed
// gives another answer than the planned one.

/// The variables that fuzzed expressions find.
private enum Stage {
    static let task = ObjectType(
        "task",
        fields: [
            .init("number", .string), .init("priority", .nullable(.int)), .init("due", .nullable(.timestamp)),
            .init("labels", .map(.string, .string)),
        ])

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
        "number": "INC0010021", "priority": 1, "due": .timestamp(Value.Timestamp(seconds: 1_767_603_600)!),
        "labels": .map(["a": "b"]),
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
