/// The `strings` library: texts by their code points.
enum Strings {
    static let functions: [Function] = searching + changing + splitting + formatting

    // MARK: Positions

    private static let searching: [Function] = [
        .pure("charAt", member: true, .string, .int, .string) { activation, text, index throws(EvaluationError) in
            guard case .string(let text) = text, case .int(let index) = index else { return "" }
            try activation.spend(1 + text.utf8.count >> 6)
            let start = try offset(of: index, in: text)
            return .string(text.slice(start..<text.nextCodePoint(after: start)))
        },
        Function("indexOf", find(isLast: false, withStart: false), find(isLast: false, withStart: true)),
        Function("lastIndexOf", find(isLast: true, withStart: false), find(isLast: true, withStart: true)),
        Function(
            "substring",
            .pure(member: true, .string, .int, .string) { activation, text, start throws(EvaluationError) in
                guard case .string(let text) = text, case .int(let start) = start else { return "" }
                try activation.spend(bytes: text.utf8.count)
                return .string(text.slice(try offset(of: start, in: text)..<text.utf8.count))
            },
            Overload(
                member: true, [.string, .int, .int], .string, pure: true,
                .any { activation, values throws(EvaluationError) in
                    guard case .string(let text) = values[0], case .int(let start) = values[1], case .int(let end) = values[2]
                    else {
                        return ""
                    }
                    try activation.spend(bytes: text.utf8.count)
                    guard start <= end else { throw .badRange(start, end) }
                    return .string(text.slice(try offset(of: start, in: text)..<(try offset(of: end, in: text))))
                })),
    ]

    private static func find(isLast: Bool, withStart: Bool) -> Overload {
        Overload(
            member: true, withStart ? [.string, .string, .int] : [.string, .string], .int, pure: true,
            .any { activation, values throws(EvaluationError) in
                guard case .string(let text) = values[0], case .string(let part) = values[1] else { return -1 }
                try activation.spend(1 + text.utf8.count >> 4)
                var start: Int?
                if withStart, case .int(let index) = values[2] { start = try offset(of: index, in: text) }
                let found =
                    isLast
                    ? text.lastByteOffset(of: part, atMost: start ?? text.utf8.count)
                    : text.firstByteOffset(of: part, from: start ?? 0)
                return .int(found.map { Int64(text.slice(0..<$0).codePoints) } ?? -1)
            })
    }

    /// The byte offset of a code point by its index; the index after the last gives the end of the text.
    static func offset(of index: Int64, in text: String) throws(EvaluationError) -> Int {
        guard index >= 0, let found = text.byteOffset(ofCodePoint: index) else { throw .indexOutOfRange(.int(index)) }
        return found
    }

    // MARK: Changes

    private static let changing: [Function] = [
        change("lowerAscii") { $0.mappingBytes { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } },
        change("upperAscii") { $0.mappingBytes { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 } },
        change("trim") { text in
            let scalars = text.unicodeScalars
            guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
                let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
            else { return "" }
            return String(scalars[first...last])
        },
        change("reverse") { text in
            var scalars = String.UnicodeScalarView()
            scalars.append(contentsOf: text.unicodeScalars.reversed())
            return String(scalars)
        },
        .pure("strings.quote", .string, .string) { activation, value throws(EvaluationError) in
            guard case .string(let text) = value else { return value }
            try activation.spend(bytes: text.utf8.count)
            return .string(quote(text))
        },
    ]

    private static func change(_ name: String, _ body: @escaping @Sendable (String) -> String) -> Function {
        .pure(name, member: true, .string, .string) { activation, value throws(EvaluationError) in
            guard case .string(let text) = value else { return value }
            try activation.spend(bytes: text.utf8.count)
            return .string(body(text))
        }
    }

    private static func quote(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x07: result += "\\a"
            case 0x08: result += "\\b"
            case 0x0C: result += "\\f"
            case 0x0A: result += "\\n"
            case 0x0D: result += "\\r"
            case 0x09: result += "\\t"
            case 0x0B: result += "\\v"
            case 0x5C: result += "\\\\"
            case 0x22: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
