extension Parser {
    mutating func members(of first: Node, from start: Int) throws(Issue) -> Node {
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
        guard macros.contains(.optionals) else {
            throw Issue("optional-syntax", "optional values are not enabled here", at: place)
        }
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

    mutating func primary() throws(Issue) -> Node {
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
        guard !Self.keywords.contains(name), !Self.reserved.contains(name) else {
            throw Issue("reserved-name", "`\(name)` is a reserved word of the language", at: token.range)
        }
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
}

extension Node {
    /// `a.b.c` if the node is a chain of plain selections from a name, with the leading dot of an absolute name.
    var qualifiedName: String? {
        switch kind {
        case .identifier(let name, let absolute): absolute ? "." + name : name
        case .select(let operand, let field, optional: false): operand.qualifiedName.map { "\($0).\(field)" }
        default: nil
        }
    }
}
