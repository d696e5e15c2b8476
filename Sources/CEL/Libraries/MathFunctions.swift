import Glibc

/// The `math` library.
enum MathFunctions {
    static let functions: [Function] = extremes + rounding + signs + bits

    private static let numbers: [CELType] = [.int, .uint, .double]

    // MARK: The greatest and the least

    private static let extremes: [Function] = [extreme("math.greatest", .more), extreme("math.least", .less)]

    /// Of several numbers or a list of them; the first of equal ones.
    private static func extreme(_ name: String, _ wanted: Order) -> Function {
        let pick: @Sendable ([Value]) throws(EvaluationError) -> Value = { values throws(EvaluationError) in
            guard var best = values.first else { throw .invalid("\(name)() of an empty list") }
            for value in values {
                guard isNumber(value), isNumber(best) else { throw Operators.mismatch(call: name, values) }
                if Value.order(value, best) == wanted { best = value }
            }
            return best
        }
        let ofList: Overload.Implementation = .unary { activation, value throws(EvaluationError) in
            guard case .list(let list) = value else { return try pick([value]) }
            try activation.spend(list.count)
            return try pick(list.elements)
        }
        let several: Overload.Implementation = .any { _, values throws(EvaluationError) in try pick(values) }
        return Function(
            name,
            overloads: numbers.map { Overload([$0], $0, variadic: true, pure: true, several) }
                + numbers.map { Overload([.list($0)], $0, pure: true, ofList) } + [
                    Overload([.list(.dyn)], .dyn, pure: true, ofList),
                    Overload([.dyn, .dyn], .dyn, variadic: true, pure: true, check: numbersOnly(name), several),
                ])
    }

    private static func numbersOnly(_ name: String) -> Overload.ArgumentCheck {
        { constants in
            guard let wrong = constants.firstIndex(where: { $0.map { !isNumber($0) } ?? false }) else { return nil }
            return Overload.ArgumentProblem("\(name)() compares numbers", argument: wrong)
        }
    }

    private static func isNumber(_ value: Value) -> Bool { !value.kind.intersection([.int, .uint, .double]).isEmpty }

    // MARK: Doubles

    private static let rounding: [Function] = [
        double("math.ceil") { .double($0.rounded(.up)) },
        double("math.floor") { .double($0.rounded(.down)) },
        double("math.round") { .double($0.rounded(.toNearestOrAwayFromZero)) },
        double("math.trunc") { .double($0.rounded(.towardZero)) },
        double("math.isNaN", .bool) { .bool($0.isNaN) },
        double("math.isInf", .bool) { .bool($0.isInfinite) },
        double("math.isFinite", .bool) { .bool($0.isFinite) },
        number("math.sqrt", .double) { value throws(EvaluationError) in
            switch value {
            case .int(let number): return .double(Double(number).squareRoot())
            case .uint(let number): return .double(Double(number).squareRoot())
            case .double(let number): return .double(number.squareRoot())
            default: throw .noOverload("math.sqrt", [value])
            }
        },
    ]

    private static func double(_ name: String, _ result: CELType = .double, _ body: @escaping @Sendable (Double) -> Value)
        -> Function
    {
        .pure(name, .double, result) { _, value throws(EvaluationError) in
            guard case .double(let number) = value else { throw .noOverload(name, [value]) }
            return body(number)
        }
    }

    /// A function of a number of any type. Its result has the number's type unless another is given.
    private static func number(
        _ name: String, _ result: CELType? = nil, _ body: @escaping @Sendable (Value) throws(EvaluationError) -> Value
    ) -> Function {
        Function(
            name,
            overloads: numbers.map { type in
                .pure(type, result ?? type) { _, value throws(EvaluationError) in try body(value) }
            })
    }

    // MARK: Signs

    private static let signs: [Function] = [
        number("math.abs") { value throws(EvaluationError) in
            switch value {
            case .int(let number):
                guard let result = Int64(exactly: number.magnitude) else { throw .overflow }
                return .int(result)
            case .double(let number): return .double(number.magnitude)
            default: return value
            }
        },
        number("math.sign") { value throws(EvaluationError) in
            switch value {
            case .int(let number): return .int(number.signum())
            case .uint(let number): return .uint(number == 0 ? 0 : 1)
            case .double(let number): return .double(number > 0 ? 1 : number < 0 ? -1 : number)
            default: throw .noOverload("math.sign", [value])
            }
        },
    ]

    // MARK: Bits

    private static let bits: [Function] = [
        bitwise("math.bitAnd", &) { $0 & $1 },
        bitwise("math.bitOr", |) { $0 | $1 },
        bitwise("math.bitXor", ^) { $0 ^ $1 },
        Function(
            "math.bitNot",
            .pure(.int, .int) { _, value throws(EvaluationError) in
                guard case .int(let number) = value else { return value }
                return .int(~number)
            },
            .pure(.uint, .uint) { _, value throws(EvaluationError) in
                guard case .uint(let number) = value else { return value }
                return .uint(~number)
            }),
        shift("math.bitShiftLeft", isLeft: true), shift("math.bitShiftRight", isLeft: false),
    ]

    private static func bitwise(
        _ name: String, _ ints: @escaping @Sendable (Int64, Int64) -> Int64,
        _ uints: @escaping @Sendable (UInt64, UInt64) -> UInt64
    ) -> Function {
        let body: @Sendable (Activation, Value, Value) throws(EvaluationError) -> Value = {
            _, left, right throws(EvaluationError) in
            switch (left, right) {
            case (.int(let a), .int(let b)): return .int(ints(a, b))
            case (.uint(let a), .uint(let b)): return .uint(uints(a, b))
            default: throw .noOverload(name, [left, right])
            }
        }
        return Function(name, .pure(.int, .int, .int, body), .pure(.uint, .uint, .uint, body))
    }

    /// A right shift fills with zeros, for negative ints too.
    private static func shift(_ name: String, isLeft: Bool) -> Function {
        let body: @Sendable (Activation, Value, Value) throws(EvaluationError) -> Value = {
            _, value, distance throws(EvaluationError) in
            guard case .int(let distance) = distance else { throw .noOverload(name, [value, distance]) }
            guard distance >= 0 else { throw .invalid("\(name)(): negative offset") }
            switch value {
            case .int(let number):
                let bits = UInt64(bitPattern: number)
                return .int(Int64(bitPattern: isLeft ? bits << UInt64(distance) : bits >> UInt64(distance)))
            case .uint(let number): return .uint(isLeft ? number << UInt64(distance) : number >> UInt64(distance))
            default: throw .noOverload(name, [value])
            }
        }
        return Function(name, .pure(.int, .int, .int, body), .pure(.uint, .int, .uint, body))
    }
}
