/// The names and limits for expressions: variables, functions, extension libraries, limits.
///
/// A value: copy it and declare more for a narrower scope. Copies share ``slots``, so one ``Activation`` serves all programs.
public struct Environment: Sendable {
    public let libraries: Set<Library>
    /// The namespace searched first for names, such as `google.type`; empty for none.
    public var container: String
    public var limits: Limits
    let host: Host
    /// The numbered paths that programs of this environment read.
    public let slots: SlotTable
    public private(set) var variables: [String: Variable] = [:]
    public private(set) var functions: [String: Function] = [:]
    public private(set) var types: [String: CELType] = [:]
    public private(set) var selectors: [String: VariableSelector] = [:]

    public init(
        libraries: Set<Library> = Set(Library.allCases), container: String = "", slots: SlotTable = SlotTable(),
        limits: Limits = Limits(), host: Host = Host()
    ) {
        self.libraries = libraries
        self.container = container
        self.slots = slots
        self.limits = limits
        self.host = host
        for function in Standard.functions + Standard.times(host.zones) { declare(function) }
        for library in libraries {
            for function in library.functions(host) { declare(function) }
            for type in library.types { declare(type) }
        }
        for type in Standard.types { declare(type) }
    }

    /// A name that gets its value from the host when an expression runs.
    public struct Variable: Sendable {
        public let name: String
        public let type: CELType
        /// Distinguishes variables of one name with different values, such as each rule's own; part of the slot.
        public let scope: String
        /// The expression that computes the variable, if the host does not give it.
        let definition: Program?

        public init(_ name: String, _ type: CELType, scope: String = "") {
            (self.name, self.type, self.scope) = (name, type, scope)
            definition = nil
        }

        /// A variable computed by an expression: on first use, once per event.
        public init(_ name: String, _ definition: Expression, scope: String) {
            self.name = name
            type = definition.type
            self.scope = scope
            self.definition = definition.program
        }
    }

    /// A function that takes one literal text and selects a variable by it, so that each text has its own type: `snapshot("changes")`.
    public struct VariableSelector: Sendable {
        public let name: String
        /// Selects the variable. Its parameter is the literal text, or nil if the argument is not a literal text.
        let variable: @Sendable (String?) -> Result<Variable, Overload.ArgumentProblem>

        public init(
            _ name: String, variable: @escaping @Sendable (String?) -> Result<Variable, Overload.ArgumentProblem>
        ) {
            (self.name, self.variable) = (name, variable)
        }
    }

    public mutating func declare(_ variable: Variable) { variables[variable.name] = variable }

    public mutating func declare(_ name: String, _ type: CELType) { declare(Variable(name, type)) }

    /// Adds a function, or further overloads of an existing one.
    public mutating func declare(_ function: Function) {
        functions[function.name, default: Function(function.name)].overloads += function.overloads
    }

    public mutating func declare(_ selector: VariableSelector) { selectors[selector.name] = selector }

    /// Makes the name of a type usable as a value, as in `type(x) == Task`.
    public mutating func declare(_ type: CELType) { types[type.name] = type }
}

extension Environment {
    /// The name that was probably meant; nil if none is close.
    func suggestion(for name: String, among choices: some Sequence<String>) -> String? {
        host.closest(name, choices.filter { $0 != name }.sorted())
    }

    /// Parses a text by its grammar alone, without checking names and types.
    public func parse(_ text: String) throws(Issues) -> Node {
        do throws(Issue) {
            return try Parser.parse(text, macros: libraries, limits: limits)
        } catch {
            throw Issues([error])
        }
    }

    /// Parses and checks an expression without planning it.
    ///
    /// - Returns: the type of its value.
    public func check(_ text: String, expecting expected: CELType? = nil) throws(Issues) -> CELType {
        let root = try parse(text)
        return try Checker.check(root, of: text, in: self, expecting: expected, isStrict: true).type
    }

    /// Parses, checks and plans an expression.
    ///
    /// - Parameter expected: the type that the expression must have, such as `.bool` for a condition.
    /// - Throws: all problems of the text.
    public func compile(_ text: String, expecting expected: CELType? = nil) throws(Issues) -> Expression {
        try Expression(text, in: self, expecting: expected, checked: true)
    }

    /// Parses an expression and leaves all type checks to run time.
    public func compileUnchecked(_ text: String) throws(Issues) -> Expression {
        try Expression(text, in: self, expecting: nil, checked: false)
    }

    /// The names under which a name may be declared, most specific first.
    func candidates(for name: String) -> [String] {
        if name.hasPrefix(".") { return [String(name.dropFirst())] }
        guard !container.isEmpty else { return [name] }
        var scopes = container.split(separator: ".")
        var result: [String] = []
        while !scopes.isEmpty {
            result.append(scopes.joined(separator: ".") + "." + name)
            scopes.removeLast()
        }
        return result + [name]
    }
}
