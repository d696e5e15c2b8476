/// Parses an expression into a tree by the grammar of the language's specification, expanding macros.
struct Parser {
    private var lexer: Lexer
    private(set) var token: Token
    /// The end of the last token.
    private(set) var ended = 0
    private var depth = 0
    private var nodes = 0
    let macros: Set<Library>
    let limits: Limits

    static func parse(_ text: String, macros: Set<Library>, limits: Limits) throws(Issue) -> Node {
        let bytes = Array(text.utf8)
        guard bytes.count <= limits.expressionBytes else {
            let message = "the expression is longer than \(limits.expressionBytes) bytes"
            throw Issue("expression-too-long", message, at: 0..<bytes.count)
        }
        var parser = try Parser(bytes, macros: macros, limits: limits)
        if parser.token.kind == .end { throw Issue("empty-expression", "the expression is empty", at: 0..<bytes.count) }
        let node = try parser.expression()
        guard parser.token.kind == .end else { throw .unexpected(parser.token, expected: nil) }
        return node
    }

    private init(_ bytes: [UInt8], macros: Set<Library>, limits: Limits) throws(Issue) {
        lexer = Lexer(bytes)
        token = try lexer.next()
        (self.macros, self.limits) = (macros, limits)
    }

    mutating func make(_ range: Range<Int>, point: Range<Int>? = nil, _ kind: Node.Kind) throws(Issue) -> Node {
        let node = Node(id: nodes, range: range, point: point, kind: kind)
        nodes += 1
        guard node.height <= limits.depth else { throw .expressionTooDeep(limit: limits.depth, at: range) }
        return node
    }

    // MARK: Operators

    mutating func expression() throws(Issue) -> Node {
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

    /// An operand of `&&` or `||` with its parentheses, and the place of the operator after it.
    private struct Term {
        let node: Node
        let range: Range<Int>
        let next: Range<Int>
    }

    /// A chain of `&&` or `||` as a balanced tree, so that a long chain is not deep.
    private mutating func logical(_ symbol: Token.Symbol) throws(Issue) -> Node {
        var terms: [Term] = []
        repeat {
            let start = token.range.lowerBound
            let node = try symbol == .or ? logical(.and) : operation()
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

    /// The operators of two operands by their precedence, the weakest first.
    private static let operators: [[Token.Kind: String]] = [
        [
            .symbol(.equal): "_==_", .symbol(.unequal): "_!=_", .symbol(.less): "_<_", .symbol(.lessOrEqual): "_<=_",
            .symbol(.more): "_>_", .symbol(.moreOrEqual): "_>=_", .identifier("in"): "@in",
        ],
        [.symbol(.plus): "_+_", .symbol(.minus): "_-_"],
        [.symbol(.star): "_*_", .symbol(.slash): "_/_", .symbol(.percent): "_%_"],
    ]

    private mutating func operation(_ precedence: Int = 0) throws(Issue) -> Node {
        guard precedence < Self.operators.count else { return try unary() }
        let start = token.range.lowerBound
        var left = try operation(precedence + 1)
        while let name = Self.operators[precedence][token.kind] {
            let point = token.range
            try advance()
            let right = try operation(precedence + 1)
            left = try make(start..<ended, point: point, .call(name, target: nil, arguments: [left, right]))
        }
        return left
    }

    private mutating func unary() throws(Issue) -> Node {
        var operators: [Token] = []
        while token.kind == .symbol(.not) || token.kind == .symbol(.minus) {
            if let first = operators.first, first.kind != token.kind {
                throw Issue(
                    "syntax", "`!` and `-` cannot follow each other", at: token.range, help: "put the inner part in parentheses")
            }
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

    // MARK: Tokens

    mutating func advance() throws(Issue) {
        ended = token.range.upperBound
        token = try lexer.next()
    }

    mutating func take(_ symbol: Token.Symbol) throws(Issue) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    mutating func need(_ symbol: Token.Symbol) throws(Issue) {
        guard try take(symbol) else { throw .unexpected(token, expected: "`\(symbol.rawValue)`") }
    }

    static let keywords: Set<String> = ["in", "true", "false", "null"]
    static let reserved: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace",
        "return",
        "var", "void", "while",
    ]
}
