/// Operators on values whose types are known only at run time.
enum Operators {
    static func add(_ activation: Activation, _ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let a), .int(let b)): return try whole(a.addingReportingOverflow(b))
        case (.uint(let a), .uint(let b)): return try whole(a.addingReportingOverflow(b))
        case (.double(let a), .double(let b)): return .double(a + b)
        case (.string(let a), .string(let b)):
            try activation.spend(bytes: a.utf8.count + b.utf8.count)
            return .string(a + b)
        case (.bytes(let a), .bytes(let b)):
            try activation.spend(bytes: a.count + b.count)
            return .bytes(a + b)
        case (.list(let a), .list(let b)):
            try activation.spend(elements: a.count + b.count)
            return .list(a.elements + b.elements)
        case (.timestamp(let a), .duration(let b)), (.duration(let b), .timestamp(let a)):
            guard let sum = a.advanced(by: b) else { throw .timeOutOfRange }
            return .timestamp(sum)
        case (.duration(let a), .duration(let b)): return try duration(a + b)
        default: throw mismatch("+", left, right)
        }
    }

    static func subtract(_ activation: Activation, _ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let a), .int(let b)): return try whole(a.subtractingReportingOverflow(b))
        case (.uint(let a), .uint(let b)): return try whole(a.subtractingReportingOverflow(b))
        case (.double(let a), .double(let b)): return .double(a - b)
        case (.timestamp(let a), .timestamp(let b)):
            guard let span = a.since(b) else { throw .durationOutOfRange }
            return .duration(span)
        case (.timestamp(let a), .duration(let b)):
            guard let difference = a.advanced(by: .zero - b) else { throw .timeOutOfRange }
            return .timestamp(difference)
        case (.duration(let a), .duration(let b)): return try duration(a - b)
        default: throw mismatch("-", left, right)
        }
    }

    static func multiply(_ activation: Activation, _ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let a), .int(let b)): return try whole(a.multipliedReportingOverflow(by: b))
        case (.uint(let a), .uint(let b)): return try whole(a.multipliedReportingOverflow(by: b))
        case (.double(let a), .double(let b)): return .double(a * b)
        default: throw mismatch("*", left, right)
        }
    }

    static func divide(_ activation: Activation, _ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(_), .int(0)), (.uint(_), .uint(0)): throw .divisionByZero
        case (.int(let a), .int(let b)): return try whole(a.dividedReportingOverflow(by: b))
        case (.uint(let a), .uint(let b)): return .uint(a / b)
        case (.double(let a), .double(let b)): return .double(a / b)
        default: throw mismatch("/", left, right)
        }
    }

    static func remainder(_ activation: Activation, _ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(_), .int(0)), (.uint(_), .uint(0)): throw .modulusByZero
        case (.int(let a), .int(let b)): return .int(b == -1 ? 0 : a % b)
        case (.uint(let a), .uint(let b)): return .uint(a % b)
        default: throw mismatch("%", left, right)
        }
    }

    static func negate(_ value: Value) throws(EvaluationError) -> Value {
        switch value {
        case .int(let number): return try whole(Int64(0).subtractingReportingOverflow(number))
        case .double(let number): return .double(-number)
        case .null: throw .nullOperand("`-`")
        default: throw .noOverload("-", [value])
        }
    }

    /// Whether a value is an element of a list, or a key of a map.
    static func isIn(_ activation: Activation, _ value: Value, _ range: Value) throws(EvaluationError) -> Bool {
        switch range {
        case .list(let list):
            let count = list.count
            try activation.spend(value.weight > 1 ? Int(list.shape.weight) : count)
            for index in 0..<count where list[index] == value { return true }
            return false
        case .map(let map):
            try activation.spend(value.weight)
            return map[value] != nil
        case .null: throw .nullOperand("`in`")
        default: throw .noOverload("in", [value, range])
        }
    }

    static func mismatch(_ symbol: String, _ left: Value, _ right: Value) -> EvaluationError {
        left.isNull || right.isNull ? .nullOperand("`\(symbol)`") : .noOverload(symbol, [left, right])
    }

    /// The error of a call with values that no overload of the function accepts.
    static func mismatch(call name: String, _ values: [Value]) -> EvaluationError {
        values.contains(where: \.isNull) ? .nullOperand("\(name)()") : .noOverload(name, values)
    }

    private static func whole(_ result: (partialValue: Int64, overflow: Bool)) throws(EvaluationError) -> Value {
        if result.overflow { throw .overflow }
        return .int(result.partialValue)
    }

    private static func whole(_ result: (partialValue: UInt64, overflow: Bool)) throws(EvaluationError) -> Value {
        if result.overflow { throw .overflow }
        return .uint(result.partialValue)
    }

    private static func duration(_ value: Duration) throws(EvaluationError) -> Value {
        guard value.nanosecondsExactly != nil else { throw .durationOutOfRange }
        return .duration(value)
    }
}

enum Relation: String, Sendable {
    case less = "<", lessOrEqual = "<=", more = ">", moreOrEqual = ">="

    @inline(__always)
    func holds(_ order: Order) -> Bool {
        switch self {
        case .less: order == .less
        case .lessOrEqual: order == .less || order == .same
        case .more: order == .more
        case .moreOrEqual: order == .more || order == .same
        }
    }

    var reversed: Relation {
        switch self {
        case .less: .more
        case .lessOrEqual: .moreOrEqual
        case .more: .less
        case .moreOrEqual: .lessOrEqual
        }
    }
}
