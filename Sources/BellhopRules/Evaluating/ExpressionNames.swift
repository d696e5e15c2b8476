import BellhopCore
import CEL

/// Finds the names that may follow in an expression being typed: fields, functions, macros, variables.
struct ExpressionNames {
    let names: RuleNames
    /// The event's data, whose members are names after `event.data.`.
    let data: JSON.Object

    func completion(before text: String) -> ExpressionCompletion {
        if let (quote, start) = Self.openQuote(in: text) {
            let call = text[..<start].filter { $0 != " " }
            let fields =
                call.hasSuffix("changed(")
                ? names.types.changeable
                : call.hasSuffix("label(")
                    ? names.types.task.fields.map(\.name) : call.hasSuffix("snapshot(") ? names.snapshots.sources : []
            return completion(String(text[text.index(after: start)...]), among: fields.map { $0 + String(quote) })
        }
        let (rest, stem) = Self.split(text[...])
        guard var chain = Self.withoutDot(rest) else { return completion(stem, among: topLevel) }
        var path: [String] = []
        while true {
            let (before, name) = Self.split(chain)
            guard !name.isEmpty else { return completion(stem, among: members(of: .dyn)) }
            path.insert(name, at: 0)
            guard let next = Self.withoutDot(before) else { return completion(stem, among: members(at: path, before)) }
            chain = next
        }
    }

    private func completion(_ stem: String, among names: [String]) -> ExpressionCompletion {
        ExpressionCompletion(stem: stem, names: Set(names.filter { $0.hasPrefix(stem) && $0 != stem }).sorted())
    }

    // MARK: Names without a dot

    private var topLevel: [String] {
        var result = ["has(", "true", "false", "null"] + names.environment.variables.keys
        for function in names.environment.functions.values where function.overloads.contains(where: { !$0.isMember }) {
            if let dot = function.name.firstIndex(of: ".") {
                result.append(String(function.name[...dot]))
            } else if FieldName.isValid(function.name) {
                result.append(function.name + "(")
            }
        }
        return result + names.environment.selectors.keys.map { $0 + "(" } + ["cel."]
    }

    // MARK: Names after a dot

    private func members(at path: [String], _ before: Substring) -> [String] {
        if path == ["changes"], names.environment.variables["changes"] != nil { return names.types.changeable }
        if path.starts(with: ["event", "data"]), let json = path.dropFirst(2).reduce(JSON.object(data) as JSON?, { $0?[$1] }) {
            return json.asObject?.keys.filter(FieldName.isValid) ?? members(of: json.celType)
        }
        let namespace = path.joined(separator: ".") + "."
        let inside = names.environment.functions.keys.filter { $0.hasPrefix(namespace) }.map {
            $0.dropFirst(namespace.count) + "("
        }
        if !inside.isEmpty { return inside.map { String($0) } }
        if path == ["cel"] { return ["bind(", "block("] }
        guard var type = type(of: path[0], before) else { return members(of: .dyn) }
        for name in path.dropFirst() {
            switch type.inner {
            case .object(let object): type = object.type(of: name) ?? .dyn
            case .map(_, let value): type = value
            default: type = .dyn
            }
        }
        return members(of: type)
    }

    /// The type of a variable, or of a macro's element.
    private func type(of name: String, _ before: Substring) -> CELType? {
        if let variable = names.environment.variables[name] { return variable.type }
        for (path, macro) in Self.macros(binding: name, in: before) where Self.macroNames.contains(macro) {
            guard case .list(let element)? = list(beginning: path) else { continue }
            return element
        }
        return nil
    }

    /// The type of the list of tasks that a chain begins with: `tasks`, or `snapshot("changes").filter(…)`.
    private func list(beginning path: String) -> CELType? {
        if path == "tasks" || path.hasPrefix("tasks.") { return names.environment.variables["tasks"]?.type }
        guard path.hasPrefix("snapshot("), let end = path.firstIndex(of: ")") else { return nil }
        return try? names.environment.check(String(path[...end]))
    }

    /// The fields of a type, its functions and its macros.
    private func members(of type: CELType) -> [String] {
        let type = type.inner
        if case .object(let object) = type { return object.fields.map(\.name) }
        var result: [String] = []
        for function in names.environment.functions.values where FieldName.isValid(function.name) {
            let fits = function.overloads.contains { overload in
                overload.isMember && (type == .dyn || overload.parameters.first?.name == type.name)
            }
            if fits { result.append(function.name + "(") }
        }
        switch type {
        case .list: result += Self.listMacros + ["sortBy("]
        case .map: result += Self.listMacros
        case .optional: result += Self.optionalMacros
        case .dyn: result += Self.listMacros + ["sortBy("] + Self.optionalMacros
        default: break
        }
        return result
    }

    private static let listMacros = [
        "all(", "exists(", "exists_one(", "filter(", "map(", "transformList(", "transformMap(", "transformMapEntry(",
    ]
    private static let optionalMacros = ["optMap(", "optFlatMap("]
    private static let macroNames: Set<String> = ["all", "exists", "exists_one", "existsOne", "filter", "map", "sortBy"]
}

extension ExpressionNames {
    // MARK: The text

    private static func split(_ text: Substring) -> (Substring, String) {
        var end = text.endIndex
        while end > text.startIndex, FieldName.isAllowed(text.utf8[text.utf8.index(before: end)]) {
            end = text.utf8.index(before: end)
        }
        return (text[..<end], String(text[end...]))
    }

    /// The text without the dot (or `.?`) at its end; nil if there is none.
    private static func withoutDot(_ text: Substring) -> Substring? {
        text.hasSuffix(".?") ? text.dropLast(2) : text.hasSuffix(".") ? text.dropLast() : nil
    }

    /// The unclosed quote at the end of a text.
    private static func openQuote(in text: String) -> (Character, String.Index)? {
        var open: (Character, String.Index)?
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if let quote = open {
                if isEscaped {
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else if character == quote.0 {
                    open = nil
                }
            } else if character == "\"" || character == "'" {
                open = (character, index)
            }
        }
        return open
    }

    /// The macros before the cursor that bind this name, the nearest first: the list that each iterates over, and its name.
    private static func macros(binding name: String, in text: Substring) -> [(path: String, macro: String)] {
        var found: [(String, String)] = []
        for index in text.indices where text[index] == "(" {
            let argument = text[text.index(after: index)...].prefix { $0 != "," }.filter { $0 != " " }
            guard argument == name else { continue }
            let (before, macro) = split(text[..<index])
            guard let target = withoutDot(before) else { continue }
            found.insert((tail(of: target), macro), at: 0)
        }
        return found
    }

    /// The chain of names and calls at the end of a text: `tasks.filter(t, t.active)` of `size(tasks.filter(t, t.active)`.
    private static func tail(of text: Substring) -> String {
        var start = text.endIndex
        var depth = 0
        while start > text.startIndex {
            let previous = text.index(before: start)
            let character = text[previous]
            if character == ")" || character == "]" {
                depth += 1
            } else if character == "(" || character == "[" {
                if depth == 0 { break }
                depth -= 1
            } else if depth == 0, character != ".", !character.utf8.allSatisfy(FieldName.isAllowed) {
                break
            }
            start = previous
        }
        return String(text[start...])
    }
}

extension CELType {
    /// The wrapped type of a nullable type; other types unchanged.
    fileprivate var inner: CELType {
        if case .nullable(let inner) = self { return inner }
        return self
    }
}

extension JSON {
    fileprivate var celType: CELType {
        switch self {
        case .null: .dyn
        case .bool: .bool
        case .int: .int
        case .double: .double
        case .string: .string
        case .array: .list(.dyn)
        case .object: .map(.string, .dyn)
        }
    }
}
