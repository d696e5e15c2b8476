import BellhopCore

@testable import BellhopConnectors

/// Reads the inlines of CommonMark 0.31: escapes, code spans, character references, links, and emphasis by the algorithm of its
/// appendix. HTML, images, bare addresses and strikethrough surprise.
struct CommonMarkReader {
    /// The length of a mention that begins here.
    var mention: (ArraySlice<Unicode.Scalar>) -> Int? = { _ in nil }

    func read(_ text: String) -> ReadText {
        let lines = MarkdownLines(text, hasIndentedCode: true)
        var read = ReadText()
        read.surprises = lines.surprises
        for block in lines.blocks {
            var nodes: [Node] = []
            parse(Array(block.unicodeScalars)[...], isInLink: false, into: &nodes, &read)
            for node in nodes { read.add(String(node.scalar), node.style) }
        }
        return read
    }

    private struct Node {
        var scalar: Unicode.Scalar
        var style = ReadText.Style()
    }

    private struct Delimiter {
        var sign: Unicode.Scalar
        var start: Int
        var count: Int
        var original: Int
        var canOpen: Bool
        var canClose: Bool
    }

    private func parse(_ source: ArraySlice<Unicode.Scalar>, isInLink: Bool, into nodes: inout [Node], _ read: inout ReadText) {
        var delimiters: [Delimiter] = []
        var at = source.startIndex
        let first = nodes.count
        while at < source.endIndex {
            let scalar = source[at]
            let rest = source[at...]
            if let length = mention(rest) {
                read.mentions.append(String(String.UnicodeScalarView(rest.prefix(length))))
                at += length
                continue
            }
            switch scalar {
            case "\\" where at + 1 < source.endIndex && Self.isPunctuationASCII(source[at + 1]):
                nodes.append(Node(scalar: source[at + 1]))
                at += 2
            case "`":
                let (length, content) = Self.code(rest)
                if let content {
                    nodes += content.map { Node(scalar: $0, style: .init(isCode: true)) }
                } else {
                    nodes += Array(repeating: Node(scalar: "`"), count: length)
                }
                at += length
            case "&":
                if let (character, length) = CharacterReference.read(rest) {
                    nodes.append(Node(scalar: character))
                    at += length
                } else {
                    nodes.append(Node(scalar: scalar))
                    at += 1
                }
            case "<":
                if let (address, length) = Self.autolink(rest) {
                    nodes += address.map { Node(scalar: $0, style: .init(link: String(String.UnicodeScalarView(address)))) }
                    at += length
                    continue
                }
                if let next = rest.dropFirst().first, next.properties.isAlphabetic || "/!?".unicodeScalars.contains(next),
                    rest.contains(">")
                {
                    read.surprises.append("a tag: \(String(String.UnicodeScalarView(rest.prefix(20))))")
                }
                nodes.append(Node(scalar: scalar))
                at += 1
            case "[":
                if !isInLink, let (label, address, length) = Self.link(rest) {
                    if nodes.count > first, nodes.last?.scalar == "!", source.startIndex < at, source[at - 1] == "!" {
                        read.surprises.append("an image")
                    }
                    var inner: [Node] = []
                    parse(label, isInLink: true, into: &inner, &read)
                    for var node in inner {
                        node.style.link = address
                        nodes.append(node)
                    }
                    at += length
                } else {
                    nodes.append(Node(scalar: scalar))
                    at += 1
                }
            case "*", "_", "~":
                var count = 0
                while at + count < source.endIndex, source[at + count] == scalar { count += 1 }
                let before = at > source.startIndex ? source[at - 1] : "\n"
                let after = at + count < source.endIndex ? source[at + count] : "\n"
                if scalar == "~" {
                    if count == 2 { read.surprises.append("strikethrough") }
                } else {
                    delimiters.append(Self.delimiter(scalar, nodes.count, count, before, after))
                }
                nodes += Array(repeating: Node(scalar: scalar), count: count)
                at += count
            default:
                if Self.isBareAddress(source, at) {
                    read.surprises.append("a bare address: \(String(String.UnicodeScalarView(rest.prefix(30))))")
                }
                nodes.append(Node(scalar: scalar))
                at += 1
            }
        }
        emphasize(&nodes, delimiters)
    }

    private static func delimiter(
        _ sign: Unicode.Scalar, _ start: Int, _ count: Int, _ before: Unicode.Scalar, _ after: Unicode.Scalar
    ) -> Delimiter {
        let isLeft = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
        let isRight = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
        let canOpen = sign == "*" ? isLeft : isLeft && (!isRight || isPunctuation(before))
        let canClose = sign == "*" ? isRight : isRight && (!isLeft || isPunctuation(after))
        return Delimiter(sign: sign, start: start, count: count, original: count, canOpen: canOpen, canClose: canClose)
    }

    /// The appendix's `process emphasis`. A delimiter's characters that take effect are removed from the text.
    private func emphasize(_ nodes: inout [Node], _ all: [Delimiter]) {
        var delimiters = all
        var removed: Set<Int> = []
        var closer = 0
        while closer < delimiters.count {
            guard delimiters[closer].canClose, delimiters[closer].count > 0 else {
                closer += 1
                continue
            }
            let close = delimiters[closer]
            let opener = delimiters[..<closer].lastIndex { open in
                guard open.sign == close.sign, open.canOpen, open.count > 0 else { return false }
                let isOdd =
                    (open.canClose || close.canOpen) && (open.original + close.original) % 3 == 0
                    && !(open.original % 3 == 0 && close.original % 3 == 0)
                return !isOdd
            }
            guard let opener else {
                if !close.canOpen { delimiters[closer].count = 0 }
                closer += 1
                continue
            }
            let isStrong = delimiters[opener].count >= 2 && close.count >= 2
            let width = isStrong ? 2 : 1
            let open = delimiters[opener]
            let from = open.start + open.count
            let used = close.original - close.count
            for place in from..<(close.start + used) {
                if isStrong { nodes[place].style.isStrong = true } else { nodes[place].style.isEmphasized = true }
            }
            for step in 0..<width {
                removed.insert(open.start + open.count - 1 - step)
                removed.insert(close.start + used + step)
            }
            delimiters[opener].count -= width
            delimiters[closer].count -= width
            for between in (opener + 1)..<closer { delimiters[between].count = 0 }
        }
        nodes = nodes.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
    }

    // MARK: Parts

    /// The length of a code span and its content, or of the backticks alone.
    static func code(_ rest: ArraySlice<Unicode.Scalar>) -> (Int, [Unicode.Scalar]?) {
        let fence = rest.prefix { $0 == "`" }.count
        var at = rest.startIndex + fence
        while at < rest.endIndex {
            guard rest[at] == "`" else {
                at += 1
                continue
            }
            let run = rest[at...].prefix { $0 == "`" }.count
            if run == fence { return (at + fence - rest.startIndex, Array(rest[(rest.startIndex + fence)..<at])) }
            at += run
        }
        return (fence, nil)
    }

    static func autolink(_ rest: ArraySlice<Unicode.Scalar>) -> ([Unicode.Scalar], Int)? {
        guard let end = rest.firstIndex(of: ">") else { return nil }
        let inner = rest[(rest.startIndex + 1)..<end]
        let scheme = inner.prefix { $0 != ":" }
        guard 2...32 ~= scheme.count, scheme.count < inner.count, scheme.allSatisfy({ $0.isASCII && $0.properties.isAlphabetic }),
            !inner.contains(where: { $0 == " " || $0 == "<" || $0.value < 0x20 })
        else { return nil }
        return (Array(inner), end - rest.startIndex + 1)
    }

    /// A label, its address, and the length of the whole.
    static func link(_ rest: ArraySlice<Unicode.Scalar>) -> (ArraySlice<Unicode.Scalar>, String, Int)? {
        var depth = 0
        var at = rest.startIndex
        scan: while at < rest.endIndex {
            switch rest[at] {
            case "\\": at += 1
            case "`": at += code(rest[at...]).0 - 1
            case "[": depth += 1
            case "]":
                depth -= 1
                if depth == 0 { break scan }
            default: break
            }
            at += 1
        }
        guard at < rest.endIndex, at + 1 < rest.endIndex, rest[at + 1] == "(" else { return nil }
        var depthOfParentheses = 0
        var end = at + 2
        while end < rest.endIndex {
            let scalar = rest[end]
            if scalar == "\\" {
                end += 1
            } else if scalar == "(" {
                depthOfParentheses += 1
            } else if scalar == ")" {
                if depthOfParentheses == 0 { break }
                depthOfParentheses -= 1
            } else if scalar.value <= 0x20 {
                return nil
            }
            end += 1
        }
        guard end < rest.endIndex else { return nil }
        return (
            rest[(rest.startIndex + 1)..<at], String(String.UnicodeScalarView(rest[(at + 2)..<end])), end - rest.startIndex + 1
        )
    }

    private static let addressPrefixes = ["http://", "https://", "www."].map { Array($0.unicodeScalars) }

    static func isBareAddress(_ source: ArraySlice<Unicode.Scalar>, _ at: Int) -> Bool {
        guard source[at] == "h" || source[at] == "w" else { return false }
        return addressPrefixes.contains { prefix in
            source[at...].starts(with: prefix) && source[at...].dropFirst(prefix.count).first.map { !isSpace($0) } ?? false
        }
    }

    static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .spaceSeparator || "\t\n\r\u{C}".unicodeScalars.contains(scalar)
    }

    static func isPunctuationASCII(_ scalar: Unicode.Scalar) -> Bool {
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".unicodeScalars.contains(scalar)
    }

    static func isPunctuation(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
            .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            true
        default: false
        }
    }
}
