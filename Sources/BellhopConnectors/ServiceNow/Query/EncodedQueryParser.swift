import BellhopCore

extension EncodedQuery {
    /// Parses an encoded query written by a person, already percent-decoded.
    ///
    /// Rejects an empty query or group, and a condition without field, operator or value, because the server would drop it or return
    /// every row. An order may stand among the conditions; ``text`` puts it last.
    init(parsing text: String) throws(EncodedQueryError) {
        var parser = EncodedQueryParser(text)
        self = try parser.query()
    }
}

private struct EncodedQueryParser {
    private let bytes: [UInt8]
    /// The ranges of the texts between single `^`.
    private var parts: [Range<Int>] = []
    private var next = 0
    private var groups: [EncodedQuery.Group] = []
    private var terms: [EncodedQuery.Term] = []
    private var groupStart = 0
    private var order: [EncodedQuery.Order] = []
    private var isClosed = false
    private var followsOrder = false

    init(_ text: String) {
        bytes = Array(text.utf8)
        var start = 0
        var index = 0
        while index < bytes.count {
            if bytes[index] != caret {
                index += 1
            } else if index + 1 < bytes.count, bytes[index + 1] == caret {
                index += 2
            } else {
                parts.append(start..<index)
                index += 1
                start = index
            }
        }
        parts.append(start..<bytes.count)
    }

    mutating func query() throws(EncodedQueryError) -> EncodedQuery {
        if bytes.allSatisfy({ $0 <= 0x20 }) {
            throw EncodedQueryError("an empty query would match every row", at: 0..<bytes.count)
        }
        while next < parts.count {
            let part = parts[next]
            next += 1
            try read(part)
        }
        if groups.isEmpty, terms.isEmpty {
            throw EncodedQueryError("a query without a condition would match every row", at: 0..<bytes.count)
        }
        try closeGroup(at: bytes.count)
        return EncodedQuery(groups: groups, order: order, isClosed: isClosed)
    }

    private mutating func read(_ part: Range<Int>) throws(EncodedQueryError) {
        let followsOrder = self.followsOrder
        self.followsOrder = starts(part, with: "ORDERBY")
        if part.isEmpty {
            let caretBefore = part.lowerBound > 0
            throw EncodedQueryError(
                caretBefore ? "nothing follows this `^`" : "nothing precedes this `^`",
                at: caretBefore ? part.lowerBound - 1..<part.lowerBound : 0..<1,
                help: "a `^` of a value is written `^^`")
        }
        if let name = rest(of: part, after: "ORDERBYDESC") {
            order.append(EncodedQuery.Order(field: try field(name, before: part), descending: true))
        } else if let name = rest(of: part, after: "ORDERBY") {
            order.append(EncodedQuery.Order(field: try field(name, before: part)))
        } else if rest(of: part, after: "GROUPBY") != nil {
            throw EncodedQueryError("GROUPBY is for lists on the screen", at: part, help: "leave it out")
        } else if rest(of: part, after: "EQ")?.isEmpty == true {
            if terms.isEmpty { throw EncodedQueryError("no condition precedes this EQ", at: part) }
            isClosed = true
        } else if isClosed {
            throw EncodedQueryError("a condition after EQ is ignored", at: part, help: "put it before `^EQ`")
        } else if let rest = rest(of: part, after: "NQ") {
            try closeGroup(at: part.lowerBound)
            groupStart = part.lowerBound
            if rest.isEmpty { throw EncodedQueryError("no condition follows this NQ", at: part) }
            try readTerm(rest)
        } else if let rest = rest(of: part, after: "OR") {
            if followsOrder {
                throw EncodedQueryError("this OR follows an order, not a condition", at: part, help: "put `^ORDERBY…` at the end")
            }
            try readAlternative(rest, at: part)
        } else {
            try readTerm(part)
        }
    }

    private mutating func closeGroup(at place: Int) throws(EncodedQueryError) {
        let written = groupStart..<max(groupStart, place)
        if terms.isEmpty { throw EncodedQueryError("a group without a condition would match every row", at: written) }
        if terms.allSatisfy(\.holdsAlways) {
            throw EncodedQueryError("these conditions hold for every row", at: written, help: "ANYTHING has no effect")
        }
        groups.append(EncodedQuery.Group(terms: terms))
        terms = []
    }

    private mutating func readTerm(_ part: Range<Int>) throws(EncodedQueryError) {
        if rest(of: part, after: "RLQUERY") != nil {
            terms.append(EncodedQuery.Term(alternatives: [.verbatim(try relatedList(from: part))]))
        } else if rest(of: part, after: "JOIN") != nil {
            terms.append(EncodedQuery.Term(alternatives: [.verbatim(string(part))]))
        } else {
            terms.append(EncodedQuery.Term(alternatives: [try alternative(part)]))
        }
    }

    private mutating func readAlternative(_ rest: Range<Int>, at part: Range<Int>) throws(EncodedQueryError) {
        if rest.isEmpty { throw EncodedQueryError("no condition follows this OR", at: part) }
        guard let last = terms.indices.last, !terms[last].isVerbatim else {
            throw EncodedQueryError("this OR has no condition before it", at: part)
        }
        terms[last].alternatives.append(try alternative(rest))
    }

    /// A related list's query, up to ENDRLQUERY.
    private mutating func relatedList(from part: Range<Int>) throws(EncodedQueryError) -> String {
        while next < parts.count {
            let end = parts[next]
            next += 1
            if rest(of: end, after: "ENDRLQUERY")?.isEmpty == true { return string(part.lowerBound..<end.upperBound) }
        }
        throw EncodedQueryError("this RLQUERY has no end", at: part, help: "close it with `^ENDRLQUERY`")
    }

    private func alternative(_ part: Range<Int>) throws(EncodedQueryError) -> EncodedQuery.Alternative {
        if let words = rest(of: part, after: EncodedQuery.keywordsMark) {
            if words.isEmpty { throw EncodedQueryError("this search has no words", at: part) }
            return .keywords(value(words))
        }
        let end = part.first { bytes[$0] != UInt8(ascii: ".") && !EncodedQuery.isNameByte(bytes[$0]) } ?? part.upperBound
        let name = part.lowerBound..<end
        if name.isEmpty { throw EncodedQueryError("a condition begins with the name of a field, in lowercase", at: part) }
        guard let how = EncodedQuery.Operator.byLength.first(where: { starts(end..<part.upperBound, with: $0.rawValue) }) else {
            throw unreadable(part, name)
        }
        let field = try field(name, before: part)
        let given = end + how.rawValue.utf8.count..<part.upperBound
        if how.takesValue, given.isEmpty {
            let help =
                switch how {
                case .equal: "for an empty field write `\(field)ISEMPTY`"
                case .notEqual: "for a field that is not empty write `\(field)ISNOTEMPTY`"
                default: "write a value for `\(field)` after `\(how.rawValue)`"
                }
            throw EncodedQueryError("no value follows \(how.rawValue)", at: part, help: help)
        }
        if !how.takesValue, !given.isEmpty {
            throw EncodedQueryError("\(how.rawValue) takes no value", at: given, help: "join conditions by `^`")
        }
        let condition = EncodedQuery.Condition(field, how, value(given))
        if let other = condition.otherField { _ = try self.field(given.prefix(other.utf8.count), before: part) }
        return .condition(condition)
    }

    private func unreadable(_ part: Range<Int>, _ name: Range<Int>) -> EncodedQueryError {
        let text = string(part)
        if name.upperBound == part.upperBound {
            return EncodedQueryError("no operator follows `\(text)`", at: part, help: "as in `\(text)=1` or `\(text)ISNOTEMPTY`")
        }
        let word = string(name.upperBound..<part.upperBound).prefix { $0.isUppercase || $0 == "_" || $0 == " " }
        let help = Suggestion.didYouMean(String(word), among: EncodedQuery.Operator.allCases.map(\.rawValue))
        return EncodedQueryError(
            "there is no known operator after `\(string(name))`", at: name.upperBound..<part.upperBound, help: help)
    }

    private func field(_ name: Range<Int>, before part: Range<Int>) throws(EncodedQueryError) -> String {
        let text = string(name)
        guard EncodedQuery.isField(text) else {
            throw EncodedQueryError("a field name is missing or invalid", at: name.isEmpty ? part : name)
        }
        return text
    }

    // MARK: Bytes

    private func starts(_ range: Range<Int>, with word: String) -> Bool { bytes[range].starts(with: word.utf8) }

    private func rest(of part: Range<Int>, after word: String) -> Range<Int>? {
        starts(part, with: word) ? part.lowerBound + word.utf8.count..<part.upperBound : nil
    }

    private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private func value(_ range: Range<Int>) -> String { string(range).replacingScalars(of: "^^", with: "^") }
}

private let caret = UInt8(ascii: "^")

extension EncodedQuery.Term {
    fileprivate var holdsAlways: Bool {
        alternatives.contains { if case .condition(let condition) = $0 { condition.how == .anything } else { false } }
    }
}

/// A mistake in an encoded query, and its place.
struct EncodedQueryError: Error, Sendable, Hashable {
    /// A sentence without a full stop.
    var message: String
    var help: String?
    /// The invalid part, in UTF-8 bytes of the text; may be empty.
    var range: Range<Int>

    init(_ message: String, at range: Range<Int>, help: String? = nil) {
        (self.message, self.range, self.help) = (message, range, help)
    }
}
