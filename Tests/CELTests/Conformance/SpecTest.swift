import CEL

/// One test of the conformance suite, as in its file.
struct SpecTest {
    /// `file/section/test`
    let name: String
    let message: TextMessage

    /// True if the test uses a message, enum, wrapper, extension or Any of protocol buffers, which this library does not have.
    var needsProtobuf: Bool {
        let expression = message.string("expr") ?? ""
        let words = [
            "TestAllTypes", "GlobalEnum", "NestedEnum", "NullValue", "google.protobuf.Any", "proto.getExt", "proto.hasExt",
        ]
        if words.contains(where: { expression.contains($0) }) || Self.makesMessage(expression) { return true }
        return Self.holdsMessage(message)
    }

    /// True if a capitalized name stands before an opening brace, as in `google.protobuf.Int32Value{value: 1}`.
    private static func makesMessage(_ expression: String) -> Bool {
        let parts = expression.split(separator: "{", omittingEmptySubsequences: false).dropLast()
        return parts.contains { part in
            let word = part.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            return word.last?.isUppercase ?? false
        }
    }

    /// True if a type or a value in the test's description is a message other than a timestamp or a duration.
    private static func holdsMessage(_ message: TextMessage) -> Bool {
        message.fields.contains { name, value in
            if name == "message_type" || name == "enum_value" { return true }
            if name == "object_value", let type = value.message?.fields.first?.name {
                return !type.hasSuffix(".Timestamp]") && !type.hasSuffix(".Duration]")
            }
            return value.message.map(holdsMessage) ?? false
        }
    }

    // MARK: Running

    enum Outcome { case passed, failed(String) }

    func run() throws -> Outcome {
        var environment = Environment(container: message.string("container") ?? "", host: host)
        var names: Set<String> = []
        for declaration in message.messages("type_env") {
            let name = declaration.string("name") ?? ""
            if let ident = declaration.message("ident") {
                environment.declare(name, SpecTypes.type(ident.message("type") ?? TextMessage()))
                names.insert(name)
            } else if let function = declaration.message("function") {
                environment.declare(Function(name, overloads: function.messages("overloads").map(SpecTypes.overload)))
            }
        }
        var bindings: [String: Value] = [:]
        for binding in message.messages("bindings") {
            let name = binding.string("key") ?? ""
            bindings[name] = try SpecValues.value(binding.message("value")?.message("value") ?? TextMessage())
            if !names.contains(name) { environment.declare(name, .dyn) }
        }
        return try evaluate(in: environment, bindings)
    }

    private func evaluate(in environment: Environment, _ bindings: [String: Value]) throws -> Outcome {
        let text = message.string("expr") ?? ""
        let expression: Expression
        do throws(Issues) {
            expression = message.bool("disable_check") ? try environment.compileUnchecked(text) : try environment.compile(text)
        } catch { return expectsError ? .passed : .failed("does not compile: \(error)") }
        let typed = message.message("typed_result")
        if let type = typed?.message("deduced_type"), SpecTypes.type(type) != expression.type {
            return .failed("deduced \(expression.type), not \(SpecTypes.type(type))")
        }
        if message.bool("check_only") { return .passed }
        do throws(EvaluationError) {
            let value = try expression.program.evaluate(bindings, in: environment)
            let explained = expression.explain(Activation(environment, resolver: Bindings(bindings))).result
            if expectsError { return .failed("gave \(value) instead of an error") }
            let wanted = try expectedValue(typed)
            guard SpecValues.same(value, wanted) else { return .failed("gave \(value), not \(wanted)") }
            guard case .value(let seen) = explained, SpecValues.same(seen, wanted) else {
                return .failed("explained as \(explained)")
            }
            return .passed
        } catch { return expectsError ? .passed : .failed("\(error)") }
    }

    private var expectsError: Bool { message["eval_error"] != nil || message["any_eval_errors"] != nil }

    private func expectedValue(_ typed: TextMessage?) throws(EvaluationError) -> Value {
        guard let wanted = message.message("value") ?? typed?.message("result") else { return true }
        do { return try SpecValues.value(wanted) } catch { throw EvaluationError(.host, "the suite's own value: \(error)") }
    }
}
