// The messages of errors at run time.
extension EvaluationError {
    static func nullOperand(_ what: String) -> Self { Self(.nullOperand, "\(what) of null") }

    static func notACondition(_ value: Value) -> Self {
        value.isNull ? .nullOperand("a condition") : .noOverload("a condition", [value])
    }

    static func selectFromNull(_ field: String) -> Self { Self(.nullOperand, "field `\(field)` of null") }

    static func noOverload(_ name: String, _ operands: [Value]) -> Self {
        let types = operands.map { $0.celType.description }.joined(separator: ", ")
        return Self(.noSuchOverload, "no such overload: \(name) on (\(types))")
    }

    static func unknownName(_ name: String) -> Self { Self(.unknownName, "`\(name)` has no value here") }
    static func noSuchField(_ name: String) -> Self { Self(.noSuchField, "no such field: `\(name)`") }
    static func noFields(_ value: Value, _ field: String) -> Self {
        Self(.noSuchOverload, "no such overload: field `\(field)` of \(value.celType)")
    }
    static func noSuchKey(_ key: Value) -> Self { Self(.noSuchKey, "no such key: \(key)") }
    static func badKey(_ key: Value) -> Self { Self(.badKey, "\(key.celType) cannot be the key of a map") }
    static func duplicateKey(_ key: Value) -> Self { Self(.duplicateKey, "the key \(key) occurs twice") }
    static func indexOutOfRange(_ index: Value) -> Self { Self(.indexOutOfRange, "index out of range: \(index)") }
    static func badIndex(_ index: Value) -> Self {
        Self(.invalidArgument, "invalid argument: \(index) is not an index of a list")
    }
    static func badRange(_ start: Int64, _ end: Int64) -> Self {
        Self(.invalidArgument, "invalid range: start \(start), end \(end)")
    }

    static let divisionByZero = Self(.divisionByZero, "division by zero")
    static let modulusByZero = Self(.divisionByZero, "modulus by zero")
    static let overflow = Self(.overflow, "overflow: the result does not fit its type")
    static let timeOutOfRange = Self(.overflow, "range error: the time is outside the years 1 to 9999")
    static let durationOutOfRange = Self(.overflow, "range error: the duration is longer than 292 years")
    static let emptyOptional = Self(.emptyOptional, "optional.none() has no value")
    static let costLimit = Self(.costLimit, "the evaluation was stopped: it costs more than its limit")
    static let memoryLimit = Self(.memoryLimit, "the evaluation was stopped: it needs more memory than its limit")

    static let tooNested = Self(.memoryLimit, "the evaluation was stopped: it makes a value nested more than 100 deep")

    static func conversion(_ value: Value, to type: CELType) -> Self {
        Self(.invalidArgument, "\(value) cannot be converted to \(type)")
    }
    static func rangeError(_ value: Value, to type: CELType) -> Self {
        Self(.overflow, "range error: \(value) does not fit \(type)")
    }
    static let invalidUTF8 = Self(.invalidArgument, "invalid UTF-8 in bytes, which cannot become a string")
    static func unknownZone(_ name: String) -> Self { Self(.invalidArgument, "unknown time zone \(Value.quoted(name))") }
    static func badPattern(_ reason: String) -> Self { Self(.invalidPattern, "invalid regular expression: \(reason)") }
    static func invalid(_ message: String) -> Self { Self(.invalidArgument, message) }
}
