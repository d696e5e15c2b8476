// The messages of errors at run time.
extension EvaluationError {
    static func nullOperand(_ what: String) -> EvaluationError { EvaluationError(.nullOperand, "\(what) of null") }

    /// The error of a condition whose value is not a bool.
    static func notACondition(_ value: Value) -> EvaluationError {
        value.isNull ? .nullOperand(Operand.condition) : .noOverload(Operand.condition, [value])
    }

    static func selectFromNull(_ field: String) -> EvaluationError { EvaluationError(.nullOperand, "field `\(field)` of null") }

    static func noOverload(_ name: String, _ operands: [Value]) -> EvaluationError {
        let types = operands.map { $0.celType.description }.joined(separator: ", ")
        return EvaluationError(.noSuchOverload, "no such overload: \(name) on (\(types))")
    }

    static func unknownName(_ name: String) -> EvaluationError { EvaluationError(.unknownName, "`\(name)` has no value here") }
    static func noSuchField(_ name: String) -> EvaluationError { EvaluationError(.noSuchField, "no such field: `\(name)`") }
    static func noFields(_ value: Value, _ field: String) -> EvaluationError {
        EvaluationError(.noSuchOverload, "no such overload: field `\(field)` of \(value.celType)")
    }
    static func noSuchKey(_ key: Value) -> EvaluationError { EvaluationError(.noSuchKey, "no such key: \(key)") }
    static func badKey(_ key: Value) -> EvaluationError { EvaluationError(.badKey, "\(key.celType) cannot be the key of a map") }
    static func duplicateKey(_ key: Value) -> EvaluationError { EvaluationError(.duplicateKey, "the key \(key) occurs twice") }
    static func indexOutOfRange(_ index: Value) -> EvaluationError {
        EvaluationError(.indexOutOfRange, "index out of range: \(index)")
    }
    static func badIndex(_ index: Value) -> EvaluationError {
        EvaluationError(.invalidArgument, "invalid argument: \(index) is not an index of a list")
    }
    static func badRange(_ start: Int64, _ end: Int64) -> EvaluationError {
        EvaluationError(.invalidArgument, "invalid range: start \(start), end \(end)")
    }

    static let divisionByZero = EvaluationError(.divisionByZero, "division by zero")
    static let modulusByZero = EvaluationError(.divisionByZero, "modulus by zero")
    static let overflow = EvaluationError(.overflow, "overflow: the result does not fit its type")
    static let timeOutOfRange = EvaluationError(.overflow, "range error: the time is outside the years 1 to 9999")
    static let durationOutOfRange = EvaluationError(.overflow, "range error: the duration is longer than 292 years")
    static let emptyOptional = EvaluationError(.emptyOptional, "optional.none() has no value")
    static let costLimit = EvaluationError(.costLimit, "the evaluation was stopped: it costs more than its limit")
    static let memoryLimit = EvaluationError(.memoryLimit, "the evaluation was stopped: it needs more memory than its limit")

    static let tooNested = EvaluationError(.memoryLimit, "the evaluation was stopped: it makes a value nested more than 100 deep")

    static func conversion(_ value: Value, to type: CELType) -> EvaluationError {
        EvaluationError(.invalidArgument, "\(value) cannot be converted to \(type)")
    }
    static func rangeError(_ value: Value, to type: CELType) -> EvaluationError {
        EvaluationError(.overflow, "range error: \(value) does not fit \(type)")
    }
    static let invalidUTF8 = EvaluationError(.invalidArgument, "invalid UTF-8 in bytes, which cannot become a string")
    static func unknownZone(_ name: String) -> EvaluationError {
        EvaluationError(.invalidArgument, "unknown time zone \(Value.quoted(name))")
    }
    static func badPattern(_ reason: String) -> EvaluationError {
        EvaluationError(.invalidPattern, "invalid regular expression: \(reason)")
    }
    static func invalid(_ message: String) -> EvaluationError { EvaluationError(.invalidArgument, message) }
}
