import CEL

/// Values as written in the suite (cel.expr.Value).
enum SpecValues {
    struct Unreadable: Error { let what: String }

    static func value(_ message: TextMessage) throws -> Value {
        guard let (name, field) = message.fields.first else { return .null }
        let word = field.string ?? ""
        switch name {
        case "null_value": return .null
        case "bool_value": return .bool(word == "true")
        case "int64_value": return .int(try number(word))
        case "uint64_value": return .uint(try number(word))
        case "double_value": return .double(try double(word))
        case "string_value": return .string(word)
        case "bytes_value":
            guard case .text(let bytes) = field else { throw Unreadable(what: name) }
            return .bytes(bytes)
        case "type_value": return .type(.opaque(word))
        case "list_value": return .list(try (field.message ?? TextMessage()).messages("values").map(value))
        case "map_value":
            let entries = try (field.message ?? TextMessage()).messages("entries").map { entry in
                (try value(entry.message("key") ?? TextMessage()), try value(entry.message("value") ?? TextMessage()))
            }
            return .map(Value.Map(entries))
        case "object_value": return try object(field.message ?? TextMessage())
        default: throw Unreadable(what: name)
        }
    }

    private static func object(_ message: TextMessage) throws -> Value {
        guard let (type, field) = message.fields.first, let inner = field.message else { throw Unreadable(what: "object_value") }
        let seconds = try inner.string("seconds").map { try number($0) as Int64 } ?? 0
        let nanoseconds = try inner.string("nanos").map { try number($0) as Int64 } ?? 0
        if type.hasSuffix("google.protobuf.Timestamp]"), let time = Value.Timestamp(seconds: seconds, nanoseconds: nanoseconds) {
            return .timestamp(time)
        }
        if type.hasSuffix("google.protobuf.Duration]") { return .duration(.seconds(seconds) + .nanoseconds(nanoseconds)) }
        throw Unreadable(what: type)
    }

    private static func number<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        if text.hasPrefix("0x"), let number = Number(text.dropFirst(2), radix: 16) { return number }
        guard let number = Number(text) else { throw Unreadable(what: text) }
        return number
    }

    private static func double(_ text: String) throws -> Double {
        switch text.lowercased() {
        case "inf", "infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default:
            guard let number = Double(text) else { throw Unreadable(what: text) }
            return number
        }
    }

    /// Equal values of the same type, NaN equal to itself.
    static func same(_ a: Value, _ b: Value) -> Bool {
        switch (a, b) {
        case (.double(let x), .double(let y)): return x == y || (x.isNaN && y.isNaN)
        case (.list(let x), .list(let y)): return x.count == y.count && zip(x.elements, y.elements).allSatisfy(same)
        case (.map(let x), .map(let y)):
            return x.count == y.count && x.entries.allSatisfy { key, value in y[key].map { same(value, $0) } ?? false }
        case (.int, .uint), (.int, .double), (.uint, .int), (.uint, .double), (.double, .int), (.double, .uint): return false
        default: return a == b
        }
    }
}

/// Types as written in the suite (cel.expr.Type).
enum SpecTypes {
    static func type(_ message: TextMessage) -> CELType {
        guard let (name, field) = message.fields.first else { return .dyn }
        let inner = field.message ?? TextMessage()
        switch name {
        case "primitive": return primitive(field.string ?? "")
        case "wrapper": return .nullable(primitive(field.string ?? ""))
        case "well_known": return field.string == "TIMESTAMP" ? .timestamp : field.string == "DURATION" ? .duration : .dyn
        case "null": return .null
        case "list_type": return .list(inner.message("elem_type").map(type) ?? .dyn)
        case "map_type": return .map(inner.message("key_type").map(type) ?? .dyn, inner.message("value_type").map(type) ?? .dyn)
        case "type_param": return .parameter(field.string ?? "")
        case "type": return .type(type(inner))
        case "abstract_type":
            let parameters = inner.messages("parameter_types").map(type)
            let name = inner.string("name") ?? ""
            return name == "optional_type" ? .optional(parameters.first ?? .dyn) : .opaque(name, parameters)
        default: return .dyn
        }
    }

    private static func primitive(_ word: String) -> CELType {
        switch word {
        case "BOOL": .bool
        case "INT64": .int
        case "UINT64": .uint
        case "DOUBLE": .double
        case "STRING": .string
        case "BYTES": .bytes
        default: .dyn
        }
    }

    static func overload(_ message: TextMessage) -> Overload {
        Overload(
            member: message.bool("is_instance_function"), message.messages("params").map(type),
            message.message("result_type").map(type) ?? .dyn,
            .any { _, _ throws(EvaluationError) in throw EvaluationError(.host, "declared for checking only") })
    }
}
