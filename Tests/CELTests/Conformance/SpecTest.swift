import CEL

/// One test of the conformance suite, as its file has it.
struct SpecTest {
    /// `file/section/test`
    let name: String
    let message: TextMessage

    /// What the test asks for that only protocol buffers have; nil where there is no such thing.
    var needsProtobuf: String? {
        let expression = message.string("expr") ?? ""
        let container = message.string("container") ?? ""
        for (word, reason) in Self.protobufWords where expression.contains(word) { return reason }
        for word in Self.protobufTypes where mentions(word, in: message) { return "a protocol buffer message" }
        if container.hasPrefix("cel.expr.conformance"), !expression.contains("'"), expression.contains("{") { return "a protocol buffer message" }
        return nil
    }

    private static let protobufWords = [
        ("TestAllTypes", "a protocol buffer message"), ("GlobalEnum", "a protocol buffer enum"), ("NestedEnum", "a protocol buffer enum"),
        ("NestedTestAllTypes", "a protocol buffer message"), ("Value{", "a wrapper message"), ("google.protobuf.Any", "Any"),
        ("google.protobuf.Struct", "a protocol buffer message"), ("google.protobuf.Value", "a protocol buffer message"),
        ("google.protobuf.ListValue", "a protocol buffer message"), ("google.protobuf.Timestamp{", "a protocol buffer message"),
        ("google.protobuf.Duration{", "a protocol buffer message"), ("google.protobuf.NullValue", "a protocol buffer enum"),
        ("proto.getExt", "protocol buffer extensions"), ("proto.hasExt", "protocol buffer extensions"),
    ]
    private static let protobufTypes = ["TestAllTypes", "conformance.proto", "enum_value", "wrapper", "google.protobuf.Any"]

    private func mentions(_ word: String, in message: TextMessage) -> Bool {
        message.fields.contains { field in
            guard field.name != "expr", field.name != "description", field.name != "name" || true else { return false }
            if field.name.contains(word) { return true }
            switch field.value {
            case .word(let text): return text.contains(word)
            case .text: return field.name == "message_type" && (field.value.string ?? "").contains(word)
            case .message(let inner): return mentions(word, in: inner)
            }
        }
    }

    // MARK: Running

    enum Outcome { case passed, failed(String) }

    func run() throws -> Outcome {
        var environment = Environment(container: message.string("container") ?? "")
        var names: Set<String> = []
        for declaration in message.messages("type_env") {
            let name = declaration.string("name") ?? ""
            if let ident = declaration.message("ident") {
                environment.declare(name, SpecTypes.type(ident.message("type") ?? TextMessage()))
                names.insert(name)
            } else if let function = declaration.message("function") {
                environment.declare(Function(name, function.messages("overloads").map(SpecTypes.overload)))
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
        } catch {
            return expectsError ? .passed : .failed("does not compile: \(error)")
        }
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
            guard case .value(let seen) = explained, SpecValues.same(seen, wanted) else { return .failed("explained as \(explained)") }
            return .passed
        } catch {
            return expectsError ? .passed : .failed("\(error)")
        }
    }

    private var expectsError: Bool { message["eval_error"] != nil || message["any_eval_errors"] != nil }

    private func expectedValue(_ typed: TextMessage?) throws(EvaluationError) -> Value {
        guard let wanted = message.message("value") ?? typed?.message("result") else { return true }
        do { return try SpecValues.value(wanted) } catch { throw EvaluationError(.host, "the suite's own value: \(error)") }
    }
}
