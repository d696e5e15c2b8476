/// The standard language: its operators, functions and type names.
enum Standard {
    static let types: [CELType] = [
        .null, .bool, .int, .uint, .double, .string, .bytes, .list(.dyn), .map(.dyn, .dyn), .timestamp, .duration, .type(.dyn),
    ]

    static let functions: [Function] = operators + conversions + texts
}

extension Function {
    static func pure(
        _ name: String, member: Bool = false, _ parameter: CELType, _ result: CELType, check: Overload.ArgumentCheck? = nil,
        _ body: @escaping @Sendable (Activation, Value) throws(EvaluationError) -> Value
    ) -> Function {
        Function(name, .pure(member: member, parameter, result, check: check, body))
    }

    static func pure(
        _ name: String, member: Bool = false, _ first: CELType, _ second: CELType, _ result: CELType,
        check: Overload.ArgumentCheck? = nil,
        _ body: @escaping @Sendable (Activation, Value, Value) throws(EvaluationError) -> Value
    ) -> Function {
        Function(name, .pure(member: member, first, second, result, check: check, body))
    }
}

extension Overload {
    /// A pure function of one argument.
    static func pure(
        member: Bool = false, _ parameter: CELType, _ result: CELType, check: ArgumentCheck? = nil,
        _ body: @escaping @Sendable (Activation, Value) throws(EvaluationError) -> Value
    ) -> Overload {
        Overload(member: member, [parameter], result, pure: true, check: check, .unary(body))
    }

    /// A pure function of two arguments.
    static func pure(
        member: Bool = false, _ first: CELType, _ second: CELType, _ result: CELType, check: ArgumentCheck? = nil,
        _ body: @escaping @Sendable (Activation, Value, Value) throws(EvaluationError) -> Value
    ) -> Overload {
        Overload(member: member, [first, second], result, pure: true, check: check, .binary(body))
    }

    /// Refuses a call in which this argument, by default the second, is a constant text for which the body throws.
    static func text(
        _ argument: Int = 1, help: String? = nil, _ check: @escaping @Sendable (String) throws(EvaluationError) -> Void
    ) -> ArgumentCheck {
        { constants in
            guard constants.indices.contains(argument), case .string(let text)? = constants[argument] else { return nil }
            do throws(EvaluationError) {
                try check(text)
                return nil
            } catch {
                return ArgumentProblem(error.message, help: help, argument: argument)
            }
        }
    }

    /// An operator, which the planner evaluates.
    fileprivate static func operation(_ parameters: [CELType], _ result: CELType) -> Overload {
        Overload(
            parameters, result, pure: true, .any { _, values throws(EvaluationError) in throw .noOverload("operator", values) })
    }
}

extension Standard {
    private static let a = CELType.parameter("A")
    private static let b = CELType.parameter("B")
    private static let numbers: [CELType] = [.int, .uint, .double]

    private static let operators: [Function] =
        [
            Function(
                "_+_",
                overloads: (numbers + [.string, .bytes, .list(a), .duration]).map { .operation([$0, $0], $0) } + [
                    .operation([.timestamp, .duration], .timestamp), .operation([.duration, .timestamp], .timestamp),
                ]),
            Function(
                "_-_",
                overloads: (numbers + [.duration]).map { .operation([$0, $0], $0) } + [
                    .operation([.timestamp, .timestamp], .duration), .operation([.timestamp, .duration], .timestamp),
                ]),
            Function("_*_", overloads: numbers.map { .operation([$0, $0], $0) }),
            Function("_/_", overloads: numbers.map { .operation([$0, $0], $0) }),
            Function("_%_", .operation([.int, .int], .int), .operation([.uint, .uint], .uint)),
            Function("-_", .operation([.int], .int), .operation([.double], .double)),
            Function("!_", .operation([.bool], .bool)),
            Function("_==_", .operation([a, a], .bool)),
            Function("_!=_", .operation([a, a], .bool)),
            Function("@in", .operation([a, .list(a)], .bool), .operation([a, .map(a, b)], .bool)),
            Function(
                "_[_]", .operation([.list(a), .int], a), .operation([.map(a, b), a], b),
                .operation([.optional(.list(a)), .int], .optional(a)), .operation([.optional(.map(a, b)), a], .optional(b))),
            Function(
                "_[?_]", .operation([.list(a), .int], .optional(a)), .operation([.map(a, b), a], .optional(b)),
                .operation([.optional(.list(a)), .int], .optional(a)), .operation([.optional(.map(a, b)), a], .optional(b))),
        ] + ["_<_", "_<=_", "_>_", "_>=_"].map { Function($0, overloads: orderings) }

    /// Numbers are ordered across types; all else only within its own.
    private static let orderings: [Overload] =
        [.bool, .string, .bytes, .timestamp, .duration].map { .operation([$0, $0], .bool) }
        + numbers.flatMap { left in numbers.map { right in .operation([left, right], .bool) } }
}
