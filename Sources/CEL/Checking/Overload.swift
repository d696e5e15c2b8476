/// A function that expressions may call: a name and the types it takes.
public struct Function: Sendable {
    /// With its namespace, as in `math.round`.
    public let name: String
    public var overloads: [Overload]

    public init(_ name: String, overloads: [Overload]) { (self.name, self.overloads) = (name, overloads) }

    public init(_ name: String, _ overloads: Overload...) { self.init(name, overloads: overloads) }
}

/// One signature of a ``Function``, and its implementation.
public struct Overload: Sendable {
    /// The implementation of a call. It gets the activation for the run's state (its resolver, its cost); an error without a
    /// place gets the place of the call.
    public enum Implementation: Sendable {
        case nullary(@Sendable (Activation) throws(EvaluationError) -> Value)
        case unary(@Sendable (Activation, Value) throws(EvaluationError) -> Value)
        case binary(@Sendable (Activation, Value, Value) throws(EvaluationError) -> Value)
        case any(@Sendable (Activation, [Value]) throws(EvaluationError) -> Value)
    }

    /// Checks arguments before anything runs: gets the value of each constant argument, nil for others, and returns the problem,
    /// if there is one.
    public typealias ArgumentCheck = @Sendable ([Value?]) -> ArgumentProblem?

    /// A problem of a constant argument.
    public struct ArgumentProblem: Error, Sendable {
        public let message: String
        public let help: String?
        /// The index of the argument, counting the target of a member function.
        public let argument: Int

        public init(_ message: String, help: String? = nil, argument: Int = 0) {
            (self.message, self.help, self.argument) = (message, help, argument)
        }
    }

    /// Called as `target.name(…)`; the target is the first parameter.
    public let isMember: Bool
    public let parameters: [CELType]
    public let result: CELType
    /// Whether the last parameter may be repeated; it is given at least once.
    public let isVariadic: Bool
    /// Whether equal arguments always give an equal result, so that a call with constants may be computed once, in advance.
    public let isPure: Bool
    public let check: ArgumentCheck?
    public let implementation: Implementation

    public init(
        member isMember: Bool = false, _ parameters: [CELType], _ result: CELType, variadic isVariadic: Bool = false,
        pure isPure: Bool = false, check: ArgumentCheck? = nil, _ implementation: Implementation
    ) {
        self.isMember = isMember
        self.parameters = parameters
        self.result = result
        self.isVariadic = isVariadic
        self.isPure = isPure
        self.check = check
        self.implementation = implementation
        masks = parameters.map(KindSet.init(of:))
    }

    /// The kinds that each parameter accepts at run time.
    let masks: [KindSet]
}

extension Overload {
    func takes(count: Int) -> Bool { isVariadic ? count >= parameters.count : count == parameters.count }

    func parameter(_ index: Int) -> CELType { parameters[min(index, parameters.count - 1)] }
    func mask(_ index: Int) -> KindSet { masks[min(index, masks.count - 1)] }

    /// The overload as shown in a message, such as `string.contains(string)`.
    func signature(of name: String) -> String {
        let names = parameters.map(\.description)
        let rest = isVariadic ? ", …" : ""
        if isMember { return "\(names[0]).\(name)(\(names.dropFirst().joined(separator: ", "))\(rest))" }
        return "\(name)(\(names.joined(separator: ", "))\(rest))"
    }
}

/// Kinds of values, one bit each, to select overloads at run time.
struct KindSet: OptionSet, Sendable {
    let rawValue: UInt16

    static let null = KindSet(rawValue: 1)
    static let bool = KindSet(rawValue: 1 << 1)
    static let int = KindSet(rawValue: 1 << 2)
    static let uint = KindSet(rawValue: 1 << 3)
    static let double = KindSet(rawValue: 1 << 4)
    static let string = KindSet(rawValue: 1 << 5)
    static let bytes = KindSet(rawValue: 1 << 6)
    static let list = KindSet(rawValue: 1 << 7)
    static let map = KindSet(rawValue: 1 << 8)
    static let timestamp = KindSet(rawValue: 1 << 9)
    static let duration = KindSet(rawValue: 1 << 10)
    static let type = KindSet(rawValue: 1 << 11)
    static let optional = KindSet(rawValue: 1 << 12)
    static let object = KindSet(rawValue: 1 << 13)
    static let any = KindSet(rawValue: UInt16.max)

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The kinds that a parameter of that type accepts.
    init(of type: CELType) {
        switch type {
        case .null: self = .null
        case .bool: self = .bool
        case .int: self = .int
        case .uint: self = .uint
        case .double: self = .double
        case .string: self = .string
        case .bytes: self = .bytes
        case .timestamp: self = .timestamp
        case .duration: self = .duration
        case .dyn, .parameter: self = .any
        case .list: self = .list
        case .map: self = .map
        case .optional: self = .optional
        case .type: self = .type
        case .object, .opaque: self = .object
        case .nullable(let inner): self = KindSet(of: inner).union(.null)
        }
    }
}

extension Value {
    var kind: KindSet {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .list: .list
        case .map: .map
        case .timestamp: .timestamp
        case .duration: .duration
        case .type: .type
        case .optional: .optional
        case .object: .object
        }
    }

    /// Whether an overload's parameter accepts the value; objects are matched by the name of their type.
    func fits(_ mask: KindSet, _ type: CELType) -> Bool {
        guard mask.contains(kind) else { return false }
        guard case .object(let object) = self, mask != .any else { return true }
        switch type.unwrapped {
        case .object(let wanted): return object.celType.name == wanted.name
        case .opaque(let name, _): return object.celType.name == name
        default: return true
        }
    }
}
