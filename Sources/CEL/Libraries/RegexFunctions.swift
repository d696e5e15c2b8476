/// The `regex` library, on RE2.
enum RegexFunctions {
    static let functions: [Function] = [
        Function("regex.replace", replace(counted: false), replace(counted: true)),
        .pure("regex.extract", .string, .string, .optional(.string), check: oneGroup) {
            activation, text, pattern throws(EvaluationError) in
            guard case .string(let text) = text, case .string(let source) = pattern else { return .optional(nil) }
            try activation.spend(bytes: text.utf8.count)
            let pattern = try patternWithOneGroup(source, activation)
            guard let match = pattern.match(in: text, from: 0) else { return .optional(nil) }
            return .optional(match[match.count - 1].map { .string(text.slice($0)) })
        },
        .pure("regex.extractAll", .string, .string, .list(.string), check: oneGroup) {
            activation, text, pattern throws(EvaluationError) in
            guard case .string(let text) = text, case .string(let source) = pattern else { return .list([]) }
            try activation.spend(bytes: text.utf8.count)
            let pattern = try patternWithOneGroup(source, activation)
            var made: [Value] = []
            var matches = Matches(pattern: pattern, text: text)
            while let match = try matches.next(activation) {
                try activation.spend(elements: 1)
                if let range = match[match.count - 1] { made.append(.string(text.slice(range))) }
            }
            return .list(made)
        },
    ]

    private static func replace(counted: Bool) -> Overload {
        Overload(
            counted ? [.string, .string, .string, .int] : [.string, .string, .string], .string, pure: true,
            check: Standard.patternCheck,
            .any { activation, values throws(EvaluationError) in
                guard case .string(let text) = values[0], case .string(let source) = values[1], case .string(let new) = values[2]
                else {
                    throw .noOverload("regex.replace", values)
                }
                var left = Int64.max
                if counted, case .int(let most) = values[3], most >= 0 { left = most }
                try activation.spend(bytes: text.utf8.count)
                let pattern = try activation.pattern(source)
                let parts = try template(new, groups: pattern.groups)
                var result = ""
                var at = 0
                var matches = Matches(pattern: pattern, text: text)
                while left > 0, let match = try matches.next(activation), let whole = match[0] {
                    result += text.slice(at..<whole.lowerBound)
                    for part in parts {
                        let added: String
                        switch part {
                        case .text(let plain): added = plain
                        case .group(let group): added = match[group].map { text.slice($0) } ?? ""
                        }
                        try activation.spend(bytes: added.utf8.count)
                        result += added
                    }
                    at = whole.upperBound
                    left -= 1
                }
                return .string(result + text.slice(at..<text.utf8.count))
            })
    }

    private enum Part {
        case text(String)
        case group(Int)
    }

    /// A replacement: `\1` is a group, `\0` the whole match, `\\` a backslash.
    private static func template(_ text: String, groups: Int) throws(EvaluationError) -> [Part] {
        var parts: [Part] = []
        var plain = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let next = rest.popFirst() {
            guard next == "\\" else {
                plain.append(next)
                continue
            }
            guard let escaped = rest.popFirst() else { throw .invalid(Messages.badReplacement(text)) }
            if escaped == "\\" {
                plain.append("\\")
            } else {
                guard let digit = Int(String(escaped)), digit <= groups else { throw .invalid(Messages.badReplacement(text)) }
                parts += [.text(String(plain)), .group(digit)]
                plain = .init()
            }
        }
        return parts + [.text(String(plain))]
    }

    private static func patternWithOneGroup(_ source: String, _ activation: Activation) throws(EvaluationError) -> Pattern {
        let pattern = try activation.pattern(source)
        guard pattern.groups <= 1 else { throw .invalid(Messages.severalGroups) }
        return pattern
    }

    private static let oneGroup: Overload.ArgumentCheck = { constants in
        Standard.patternCheck(constants) ?? groupCheck(constants)
    }

    private static let groupCheck = Overload.text { source throws(EvaluationError) in
        guard try Pattern(source).groups <= 1 else { throw .invalid(Messages.severalGroups) }
    }

    /// The non-overlapping matches of a pattern, from the left; after an empty match the search continues one code point further. As in
    /// RE2 and Go, an empty match right behind another match does not count.
    ///
    /// One search takes time linear in the text. All searches together may take longer: each search for `a+b|a` reads to the end of
    /// the text. RE2 does not report how far it reads, so the time of searches is counted as work.
    private struct Matches {
        let pattern: Pattern
        let text: String
        var at: Int? = 0
        /// The end of the match before.
        var ended: Int?
        var searches = 0

        mutating func next(_ activation: Activation) throws(EvaluationError) -> [Range<Int>?]? {
            while let start = at {
                // Reading the clock takes longer than a short search. So every long search is measured, but only every sixteenth
                // short one, whose time counts sixteen times.
                searches += 1
                let weight = text.utf8.count - start > Self.long ? 1 : searches % 16 == 0 ? 16 : 0
                let meter = weight > 0 ? WorkMeter() : nil
                guard let match = pattern.match(in: text, from: start), let whole = match[0] else { return nil }
                if let meter { try activation.spend(meter.work * weight) }
                at = whole.upperBound
                if whole.isEmpty {
                    at = whole.upperBound < text.utf8.count ? text.nextCodePoint(after: whole.upperBound) : nil
                    if whole.lowerBound == ended { continue }
                }
                ended = whole.upperBound
                return match
            }
            return nil
        }

        private static let long = 1 << 16
    }
}
