/// Receives the events of a walk through JSON, in text order.
protocol JSONVisitor {
    /// A string, a number or a literal; the `range` of a string excludes its quotes.
    mutating func scalar(_ kind: JSONTape.Kind, _ range: Range<Int>, flag: Bool) throws(JSONError)
    /// A member's name: a range of the bytes, without its quotes.
    mutating func key(_ range: Range<Int>, hasEscapes: Bool, in bytes: Span<UInt8>) throws(JSONError)
    /// An array or an object begins at `start`.
    mutating func open(_ kind: JSONTape.Kind, at start: Int) throws(JSONError)
    /// The innermost array or object ends before `end`.
    mutating func close(at end: Int) throws(JSONError)
}

/// Skips a value to find its end.
struct JSONSkipper: JSONVisitor {
    mutating func scalar(_ kind: JSONTape.Kind, _ range: Range<Int>, flag: Bool) {}
    mutating func key(_ range: Range<Int>, hasEscapes: Bool, in bytes: Span<UInt8>) {}
    mutating func open(_ kind: JSONTape.Kind, at start: Int) {}
    mutating func close(at end: Int) {}
}

/// The JSON parser (RFC 8259), as a loop: nesting does not use the stack.
struct JSONWalker {
    /// How deep arrays and objects may be nested.
    let depthLimit: Int
    /// For each open container, whether it is an object; empty between two walks.
    private var isObject: [Bool] = []

    init(depthLimit: Int) {
        self.depthLimit = depthLimit
        isObject.reserveCapacity(16)
    }

    /// Walks over the value at `start`, which may be preceded by whitespace; returns the position after it.
    @inline(__always)
    mutating func walk<Visitor: JSONVisitor>(
        _ bytes: Span<UInt8>, from start: Int, _ visitor: inout Visitor
    ) throws(JSONError) -> Int {
        isObject.removeAll(keepingCapacity: true)
        var inObject = false
        var at = start
        nextValue: while true {
            at = JSONLexer.skipBlanks(bytes, from: at)
            guard at < bytes.count else { throw JSONError(.ended, at: bytes.count) }
            let first = bytes[at]
            if first == UInt8(ascii: "\"") {
                let word = try JSONLexer.string(bytes, from: at &+ 1)
                try visitor.scalar(.string, at &+ 1..<word.end, flag: word.flag)
                at = word.end &+ 1
            } else if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                guard isObject.count < depthLimit else { throw JSONError(.tooDeep(depthLimit), at: at) }
                inObject = first == UInt8(ascii: "{")
                isObject.append(inObject)
                try visitor.open(inObject ? .object : .array, at: at)
                at = JSONLexer.skipBlanks(bytes, from: at &+ 1)
                guard at < bytes.count else { throw JSONError(.ended, at: bytes.count) }
                if bytes[at] != (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if inObject { at = try key(bytes, at, &visitor) }
                    continue nextValue
                }
            } else {
                at = try other(bytes, at, first, &visitor)
            }
            // After a value: a comma and the next one, or the ends of the open containers.
            while true {
                if isObject.isEmpty { return at }
                at = JSONLexer.skipBlanks(bytes, from: at)
                guard at < bytes.count else { throw JSONError(.ended, at: bytes.count) }
                let byte = bytes[at]
                if byte == UInt8(ascii: ",") {
                    at &+= 1
                    if inObject { at = try key(bytes, JSONLexer.skipBlanks(bytes, from: at), &visitor) }
                    continue nextValue
                }
                guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONError(.unexpected(byte), at: at)
                }
                at &+= 1
                try visitor.close(at: at)
                isObject.removeLast()
                inObject = isObject.last ?? false
            }
        }
    }

    /// Reads a member's name and its colon; returns the position after them.
    @inline(__always)
    private func key<Visitor: JSONVisitor>(
        _ bytes: Span<UInt8>, _ start: Int, _ visitor: inout Visitor
    ) throws(JSONError) -> Int {
        guard start < bytes.count else { throw JSONError(.ended, at: bytes.count) }
        guard bytes[start] == UInt8(ascii: "\"") else { throw JSONError(.unexpected(bytes[start]), at: start) }
        let word = try JSONLexer.string(bytes, from: start &+ 1)
        try visitor.key(start &+ 1..<word.end, hasEscapes: word.flag, in: bytes)
        let at = JSONLexer.skipBlanks(bytes, from: word.end &+ 1)
        guard at < bytes.count else { throw JSONError(.ended, at: bytes.count) }
        guard bytes[at] == UInt8(ascii: ":") else { throw JSONError(.unexpected(bytes[at]), at: at) }
        return at &+ 1
    }

    /// Reads a number or a literal; returns the position after it.
    @inline(__always)
    private func other<Visitor: JSONVisitor>(
        _ bytes: Span<UInt8>, _ start: Int, _ first: UInt8, _ visitor: inout Visitor
    ) throws(JSONError) -> Int {
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let word = try JSONLexer.number(bytes, from: start)
            try visitor.scalar(.number, start..<word.end, flag: word.flag)
            return word.end
        case UInt8(ascii: "t"): return try literal(bytes, start, "true", .true, &visitor)
        case UInt8(ascii: "f"): return try literal(bytes, start, "false", .false, &visitor)
        case UInt8(ascii: "n"): return try literal(bytes, start, "null", .null, &visitor)
        default: throw JSONError(.unexpected(first), at: start)
        }
    }

    private func literal<Visitor: JSONVisitor>(
        _ bytes: Span<UInt8>, _ start: Int, _ word: StaticString, _ kind: JSONTape.Kind, _ visitor: inout Visitor
    ) throws(JSONError) -> Int {
        let end = try JSONLexer.literal(bytes, from: start, word)
        try visitor.scalar(kind, start..<end, flag: false)
        return end
    }
}
