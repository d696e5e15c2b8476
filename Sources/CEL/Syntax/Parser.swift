/// Turns the text of an expression into a tree, macros expanded, by the grammar of the language's specification.
struct Parser {
    private var lexer: Lexer
    private var token: Token
    private var ended = 0
    private var depth = 0
    private var nodes = 0
    let macros: Set<Library>
    let limits: Limits

    /// Parses the whole text.
    static func parse(_ text: String, macros: Set<Library>, limits: Limits) throws(Issue) -> Node {
        let bytes = Array(text.utf8)
        guard bytes.count <= limits.expressionBytes else {
            throw .expressionTooLong(limit: limits.expressionBytes, at: 0..<bytes.count)
        }
        var parser = try Parser(bytes, macros: macros, limits: limits)
        if parser.token.kind == .end { throw .emptyExpression(at: 0..<bytes.count) }
        let node = try parser.expression()
        guard parser.token.kind == .end else { throw .unexpected(parser.token, expected: nil) }
        return node
    }

    private init(_ bytes: [UInt8], macros: Set<Library>, limits: Limits) throws(Issue) {
        lexer = Lexer(bytes)
        token = try lexer.next()
        self.macros = macros
        self.limits = limits
    }

    mutating func make(_ range: Range<Int>, point: Range<Int>? = nil, _ kind: Node.Kind) throws(Issue) -> Node {
        let node = Node(id: nodes, range: range, point: point, kind: kind)
        nodes += 1
        guard node.height <= limits.depth else { throw .expressionTooDeep(limit: limits.depth, at: range) }
        return node
    }

    // MARK: Operators

    private mutating func expression() throws(Issue) -> Node {
        depth += 1
        defer { depth -= 1 }
        guard depth <= limits.depth else { throw .expressionTooDeep(limit: limits.depth, at: token.range) }
        let start = token.range.lowerBound
        let condition = try logical(.or)
        let point = token.range
        guard try take(.question) else { return condition }
        let yes = try logical(.or)
        try need(.colon)
        let no = try expression()
        return try make(start..<ended, point: point, .conditional(condition, yes, no))
    }

    /// A side of `&&` or `||`, with its parentheses, and the place behind it: that of the next operator.
    private struct Term {
        let node: Node
        let range: Range<Int>
        let next: Range<Int>
    }

    /// A chain of `&&` or `||` as a balanced tree, so that a long one is not deep.
    private mutating func logical(_ symbol: Token.Symbol) throws(Issue) -> Node {
        var terms: [Term] = []
        repeat {
            let start = token.range.lowerBound
            let node = try symbol == .or ? logical(.and) : relation()
            terms.append(Term(node: node, range: start..<ended, next: token.range))
        } while try take(symbol)
        return try balance(terms[...], isOr: symbol == .or)
    }

    private mutating func balance(_ terms: ArraySlice<Term>, isOr: Bool) throws(Issue) -> Node {
        guard terms.count > 1, let first = terms.first, let last = terms.last else { return terms[terms.startIndex].node }
        let middle = terms.startIndex + (terms.count + 1) / 2
        let left = try balance(terms[..<middle], isOr: isOr)
        let right = try balance(terms[middle...], isOr: isOr)
        let range = first.range.lowerBound..<last.range.upperBound
        return try make(range, point: terms[middle - 1].next, isOr ? .or(left, right) : .and(left, right))
    }

    private static let relations: [Token.Symbol: String] = [
        .equal: "_==_", .unequal: "_!=_", .less: "_<_", .lessOrEqual: "_<=_", .more: "_>_", .moreOrEqual: "_>=_",
    ]
    private static let sums: [Token.Symbol: String] = [.plus: "_+_", .minus: "_-_"]
    private static let products: [Token.Symbol: String] = [.star: "_*_", .slash: "_/_", .percent: "_%_"]

    private mutating func relation() throws(Issue) -> Node {
        let start = token.range.lowerBound
        var left = try sum()
        while true {
            let point = token.range
            let name: String
            if case .symbol(let symbol) = token.kind, let relation = Self.relations[symbol] {
                name = relation
            } else if token.kind == .identifier("in") {
                name = "@in"
            } else {
                return left
            }
            try advance()
            left = try binary(name, left, try sum(), from: start, point)
        }
    }

    private mutating func sum() throws(Issue) -> Node {
        let start = token.range.lowerBound
        var left = try product()
        while case .symbol(let symbol) = token.kind, let name = Self.sums[symbol] {
            let point = token.range
            try advance()
            left = try binary(name, left, try product(), from: start, point)
        }
        return left
    }

    private mutating func product() throws(Issue) -> Node {
        let start = token.range.lowerBound
        var left = try unary()
        while case .symbol(let symbol) = token.kind, let name = Self.products[symbol] {
            let point = token.range
            try advance()
            left = try binary(name, left, try unary(), from: start, point)
        }
        return left
    }

    private mutating func binary(
        _ name: String, _ left: Node, _ right: Node, from start: Int, _ point: Range<Int>
    ) throws(Issue) -> Node {
        try make(start..<ended, point: point, .call(name, target: nil, arguments: [left, right]))
    }

    private mutating func unary() throws(Issue) -> Node {
        var operators: [Token] = []
        while token.kind == .symbol(.not) || token.kind == .symbol(.minus) {
            if let first = operators.first, first.kind != token.kind { throw .mixedSigns(at: token.range) }
            operators.append(token)
            try advance()
            guard operators.count <= limits.depth else { throw .expressionTooDeep(limit: limits.depth, at: token.range) }
        }
        var operand: Node
        if operators.last?.kind == .symbol(.minus), let sign = operators.last, let literal = try negativeLiteral(after: sign) {
            operators.removeLast()
            operand = try members(of: literal, from: sign.range.lowerBound)
        } else {
            let start = token.range.lowerBound
            operand = try members(of: try primary(), from: start)
        }
        for token in operators.reversed() {
            let name = token.kind == .symbol(.not) ? "!_" : "-_"
            operand = try make(token.range.lowerBound..<ended, point: token.range, .call(name, target: nil, arguments: [operand]))
        }
        return operand
    }

    private mutating func negativeLiteral(after sign: Token) throws(Issue) -> Node? {
        let range = sign.range.lowerBound..<token.range.upperBound
        let value: Value
        switch token.kind {
        case .int(let magnitude):
            guard magnitude <= 1 << 63 else { throw .numberTooLarge(at: range) }
            value = .int(Int64(truncatingIfNeeded: 0 &- magnitude))
        case .double(let magnitude): value = .double(-magnitude)
        default: return nil
        }
        try advance()
        return try make(range, .literal(value))
    }

    // MARK: Members

    private mutating func members(of first: Node, from start: Int) throws(Issue) -> Node {
        var operand = first
        while true {
            if try take(.dot) {
                let optional = try takeOptionalMark()
                let name = token
                let field = try selector()
                if !optional, name.kind == .identifier(field), token.kind == .symbol(.openParenthesis) {
                    operand = try call(field, target: operand, name: name.range, from: start)
                } else {
                    operand = try make(start..<ended, point: name.range, .select(operand, field: field, optional: optional))
                    if token.kind == .symbol(.openBrace), let type = operand.qualifiedName {
                        operand = try structure(type, operand.range)
                    }
                }
            } else if try take(.openBracket) {
                let optional = try takeOptionalMark()
                let key = try expression()
                try need(.closeBracket)
                operand = try make(start..<ended, point: key.range, .index(operand, key, optional: optional))
            } else {
                return operand
            }
        }
    }

    private mutating func takeOptionalMark() throws(Issue) -> Bool {
        let place = token.range
        guard try take(.question) else { return false }
        guard macros.contains(.optionals) else { throw .optionalSyntax(at: place) }
        return true
    }

    private mutating func selector() throws(Issue) -> String {
        switch token.kind {
        case .identifier(let name) where !Self.keywords.contains(name), .quoted(let name):
            try advance()
            return name
        default: throw .unexpected(token, expected: "the name of a field or a function")
        }
    }

    private mutating func primary() throws(Issue) -> Node {
        let start = token
        switch token.kind {
        case .int(let value):
            guard let value = Int64(exactly: value) else { throw .numberTooLarge(at: token.range) }
            return try literal(.int(value))
        case .uint(let value): return try literal(.uint(value))
        case .double(let value): return try literal(.double(value))
        case .string(let value): return try literal(.string(value))
        case .bytes(let value): return try literal(.bytes(value))
        case .identifier("true"): return try literal(.bool(true))
        case .identifier("false"): return try literal(.bool(false))
        case .identifier("null"): return try literal(.null)
        case .identifier, .symbol(.dot): return try name()
        case .symbol(.openParenthesis):
            try advance()
            let inner = try expression()
            try need(.closeParenthesis)
            return inner
        case .symbol(.openBracket): return try list(from: start.range.lowerBound)
        case .symbol(.openBrace): return try map(from: start.range.lowerBound)
        default: throw .unexpected(token, expected: "a value")
        }
    }

    private mutating func literal(_ value: Value) throws(Issue) -> Node {
        let range = token.range
        try advance()
        return try make(range, .literal(value))
    }

    private mutating func name() throws(Issue) -> Node {
        let start = token.range.lowerBound
        let absolute = try take(.dot)
        guard case .identifier(let name) = token.kind else { throw .unexpected(token, expected: "a name") }
        guard !Self.keywords.contains(name), !Self.reserved.contains(name) else { throw .reservedName(name, at: token.range) }
        let place = token.range
        try advance()
        if token.kind == .symbol(.openParenthesis) {
            return try call(absolute ? "." + name : name, target: nil, name: place, from: start)
        }
        let node = try make(start..<ended, .identifier(name, absolute: absolute))
        return token.kind == .symbol(.openBrace) ? try structure(name, node.range) : node
    }

    // MARK: Calls and literals of several parts

    private mutating func call(_ name: String, target: Node?, name place: Range<Int>, from start: Int? = nil) throws(Issue)
        -> Node
    {
        try need(.openParenthesis)
        var arguments: [Node] = []
        if token.kind != .symbol(.closeParenthesis) {
            repeat { arguments.append(try expression()) } while try take(.comma)
        }
        try need(.closeParenthesis)
        let range = (start ?? place.lowerBound)..<ended
        if let macro = try expand(name, target: target, arguments: arguments, range: range, point: place) { return macro }
        return try make(range, point: place, .call(name, target: target, arguments: arguments))
    }

    private mutating func list(from start: Int) throws(Issue) -> Node {
        try need(.openBracket)
        var elements: [Node.Element] = []
        while token.kind != .symbol(.closeBracket) {
            let optional = try takeOptionalMark()
            elements.append(Node.Element(value: try expression(), optional: optional))
            guard try take(.comma) else { break }
        }
        try need(.closeBracket)
        return try make(start..<ended, .list(elements))
    }

    private mutating func map(from start: Int) throws(Issue) -> Node {
        try need(.openBrace)
        var entries: [Node.Entry] = []
        while token.kind != .symbol(.closeBrace) {
            let optional = try takeOptionalMark()
            let key = try expression()
            try need(.colon)
            entries.append(Node.Entry(key: key, value: try expression(), optional: optional))
            guard try take(.comma) else { break }
        }
        try need(.closeBrace)
        return try make(start..<ended, .map(entries))
    }

    private mutating func structure(_ type: String, _ name: Range<Int>) throws(Issue) -> Node {
        try need(.openBrace)
        var fields: [Node] = []
        while token.kind != .symbol(.closeBrace) {
            _ = try takeOptionalMark()
            _ = try selector()
            try need(.colon)
            fields.append(try expression())
            guard try take(.comma) else { break }
        }
        try need(.closeBrace)
        return try make(name.lowerBound..<ended, point: name, .structure(type, fields: fields))
    }

    // MARK: Tokens

    private mutating func advance() throws(Issue) {
        ended = token.range.upperBound
        token = try lexer.next()
    }

    private mutating func take(_ symbol: Token.Symbol) throws(Issue) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func need(_ symbol: Token.Symbol) throws(Issue) {
        guard try take(symbol) else { throw .unexpected(token, expected: "`\(symbol.rawValue)`") }
    }

    static let keywords: Set<String> = ["in", "true", "false", "null"]
    static let reserved: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace",
        "return",
        "var", "void", "while",
    ]
}

extension Node {
    /// `a.b.c` where the node is a chain of plain selections from a name, with the leading dot of an absolute one.
    var qualifiedName: String? {
        switch kind {
        case .identifier(let name, let absolute): absolute ? "." + name : name
        case .select(let operand, let field, optional: false): operand.qualifiedName.map { "\($0).\(field)" }
        default: nil
        }
    }
}
