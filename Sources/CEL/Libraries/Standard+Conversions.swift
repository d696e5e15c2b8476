extension Standard {
    static let conversions: [Function] = [
        conversion("int", to: .int, from: [.int, .uint, .double, .string, .timestamp, .duration]),
        conversion("uint", to: .uint, from: [.uint, .int, .double, .string]),
        conversion("double", to: .double, from: [.double, .int, .uint, .string]),
        Function(
            "string",
            overloads: [CELType.string, .int, .uint, .double, .bool, .bytes, .timestamp, .duration].map { type in
                .pure(type, .string) { activation, value throws(EvaluationError) in
                    // Finding the shortest text of a double takes a microsecond.
                    if case .double = value { try activation.spend(24) }
                    guard let text = value.text else { throw .invalidUTF8 }
                    try activation.spend(bytes: text.utf8.count)
                    return .string(text)
                }
            }),
        Function(
            "bool",
            .pure(.bool, .bool) { $1 },
            .pure(.string, .bool) { _, value throws(EvaluationError) in
                guard case .string(let text) = value else { return value }
                if ["1", "t", "true", "TRUE", "True"].contains(text) { return true }
                if ["0", "f", "false", "FALSE", "False"].contains(text) { return false }
                throw .conversion(value, to: .bool)
            }),
        Function(
            "bytes",
            .pure(.bytes, .bytes) { $1 },
            .pure(.string, .bytes) { activation, value throws(EvaluationError) in
                guard case .string(let text) = value else { return value }
                try activation.spend(bytes: text.utf8.count)
                return .bytes(Array(text.utf8))
            }),
        Function(
            "timestamp",
            .pure(.timestamp, .timestamp) { $1 },
            .pure(.int, .timestamp) { _, value throws(EvaluationError) in
                guard case .int(let seconds) = value, let time = Value.Timestamp(seconds: seconds) else {
                    throw .timeOutOfRange
                }
                return .timestamp(time)
            },
            .pure(.string, .timestamp, check: readable("such as \"2026-01-05T09:00:00Z\"") { Value.Timestamp($0) != nil }) {
                _, value throws(EvaluationError) in
                guard case .string(let text) = value, let time = Value.Timestamp(text) else {
                    throw .conversion(value, to: .timestamp)
                }
                return .timestamp(time)
            }),
        Function(
            "duration",
            .pure(.duration, .duration) { $1 },
            .pure(.int, .duration) { _, value throws(EvaluationError) in
                guard case .int(let nanoseconds) = value else { return value }
                return .duration(.nanoseconds(nanoseconds))
            },
            .pure(.string, .duration, check: readable("such as \"90s\", \"15m\" or \"1h30m\"") { Duration(cel: $0) != nil }) {
                _, value throws(EvaluationError) in
                guard case .string(let text) = value, let span = Duration(cel: text) else {
                    throw .conversion(value, to: .duration)
                }
                return .duration(span)
            }),
        .pure("dyn", .parameter("A"), .dyn) { $1 },
        .pure("type", .parameter("A"), .type(.parameter("A"))) { .type($1.celType) },
    ]

    /// Rejects an unreadable constant text before anything runs.
    private static func readable(_ help: String, _ isReadable: @escaping @Sendable (String) -> Bool) -> Overload.ArgumentCheck {
        { constants in
            guard case .string(let text)?? = constants.first, !isReadable(text) else { return nil }
            return Overload.ArgumentProblem("\(Value.quoted(text)) is not in a valid format", help: help)
        }
    }

    private static func conversion(_ name: String, to type: CELType, from sources: [CELType]) -> Function {
        Function(
            name,
            overloads: sources.map { source in
                .pure(source, type) { _, value throws(EvaluationError) in try convert(value, to: type) }
            })
    }

    private static func convert(_ value: Value, to type: CELType) throws(EvaluationError) -> Value {
        switch (type, value) {
        case (.int, .int), (.uint, .uint), (.double, .double): return value
        case (.int, .uint(let number)):
            guard let result = Int64(exactly: number) else { throw .rangeError(value, to: type) }
            return .int(result)
        case (.int, .double(let number)):
            // The least int is excluded, as every double near it represents several ints.
            guard number > -0x1p63, number < 0x1p63 else { throw .rangeError(value, to: type) }
            return .int(Int64(number))
        case (.int, .string(let text)):
            guard let result = Int64(text) else { throw .conversion(value, to: type) }
            return .int(result)
        case (.int, .timestamp(let time)): return .int(time.seconds)
        case (.int, .duration(let span)):
            guard let nanoseconds = span.nanosecondsExactly else { throw .durationOutOfRange }
            return .int(nanoseconds)
        case (.uint, .int(let number)):
            guard let result = UInt64(exactly: number) else { throw .rangeError(value, to: type) }
            return .uint(result)
        case (.uint, .double(let number)):
            guard number >= 0, number < 0x1p64 else { throw .rangeError(value, to: type) }
            return .uint(UInt64(number))
        case (.uint, .string(let text)):
            guard let result = UInt64(text) else { throw .conversion(value, to: type) }
            return .uint(result)
        case (.double, .int(let number)): return .double(Double(number))
        case (.double, .uint(let number)): return .double(Double(number))
        case (.double, .string(let text)): return .double(try double(text))
        default: throw .conversion(value, to: type)
        }
    }

    private static func double(_ text: String) throws(EvaluationError) -> Double {
        switch text.lowercased() {
        case "nan": return .nan
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default:
            guard let number = Double(text), number.isFinite else { throw .conversion(.string(text), to: .double) }
            return number
        }
    }
}
