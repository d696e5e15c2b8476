extension Strings {
    static let splitting: [Function] = [
        Function("split", split(limited: false), split(limited: true)),
        Function("join", join(separated: false), join(separated: true)),
        Function("replace", replace(limited: false), replace(limited: true)),
    ]

    private static func split(limited: Bool) -> Overload {
        Overload(
            member: true, limited ? [.string, .string, .int] : [.string, .string], .list(.string), pure: true,
            .any { activation, values throws(EvaluationError) in
                guard case .string(let text) = values[0], case .string(let separator) = values[1] else { return .list([]) }
                var limit = Int64.max
                if limited, case .int(let most) = values[2], most >= 0 { limit = most }
                guard limit > 0 else { return .list([]) }
                try activation.spend(bytes: text.utf8.count)
                var parts: [Value] = []
                var start = 0
                while Int64(parts.count) < limit - 1, start < text.utf8.count || !separator.isEmpty {
                    let end =
                        separator.isEmpty ? text.nextCodePoint(after: start) : text.firstByteOffset(of: separator, from: start)
                    guard let end, !separator.isEmpty || end < text.utf8.count else { break }
                    try activation.spend(elements: 1)
                    parts.append(.string(text.slice(start..<end)))
                    start = end + separator.utf8.count
                }
                if !separator.isEmpty || start < text.utf8.count { parts.append(.string(text.slice(start..<text.utf8.count))) }
                return .list(parts)
            })
    }

    private static func join(separated: Bool) -> Overload {
        Overload(
            member: true, separated ? [.list(.string), .string] : [.list(.string)], .string, pure: true,
            .any { activation, values throws(EvaluationError) in
                guard case .list(let list) = values[0] else { return "" }
                var separator = ""
                if separated, case .string(let text) = values[1] { separator = text }
                var result = ""
                for index in 0..<list.count {
                    guard case .string(let part) = list[index] else {
                        throw Operators.mismatch(call: "join", [list[index]])
                    }
                    try activation.spend(bytes: part.utf8.count + separator.utf8.count)
                    if index > 0 { result += separator }
                    result += part
                }
                return .string(result)
            })
    }

    private static func replace(limited: Bool) -> Overload {
        Overload(
            member: true, limited ? [.string, .string, .string, .int] : [.string, .string, .string], .string, pure: true,
            .any { activation, values throws(EvaluationError) in
                guard case .string(let text) = values[0], case .string(let old) = values[1], case .string(let new) = values[2]
                else {
                    return ""
                }
                var left = Int64.max
                if limited, case .int(let most) = values[3], most >= 0 { left = most }
                try activation.spend(bytes: text.utf8.count)
                var result = ""
                var start = 0
                var isFirst = true
                while left > 0, let found = next(old, in: text, from: start, isFirst: isFirst) {
                    try activation.spend(bytes: new.utf8.count)
                    result += text.slice(start..<found) + new
                    start = found + old.utf8.count
                    left -= 1
                    isFirst = false
                }
                return .string(result + text.slice(start..<text.utf8.count))
            })
    }

    /// The next occurrence to replace; the empty text occurs before each code point and at the end.
    private static func next(_ old: String, in text: String, from start: Int, isFirst: Bool) -> Int? {
        guard old.isEmpty else { return text.firstByteOffset(of: old, from: start) }
        if isFirst { return start }
        return start < text.utf8.count ? text.nextCodePoint(after: start) : nil
    }
}
