import BellhopCore
import CEL
import YAML

/// Warns about valid texts under `do` that are probably mistakes: a ` #` that cuts a text short, and templates of other programs.
struct TextReview {
    let file: String
    private(set) var warnings = Diagnostics()

    /// Checks an argument, or the arguments of an action.
    mutating func check(at node: YAML.Node, as type: SettingType) {
        switch (type, node.content) {
        case (.record(let settings), .mapping(let mapping)):
            for pair in mapping {
                guard let setting = settings.first(where: { $0.name == pair.name }),
                    !RuleKeys.isLiteral(setting)
                else { continue }
                check(at: pair.value, as: setting.type)
            }
        case (.list(let element), .sequence(let items)): for item in items { check(at: item, as: element) }
        case (.map(let element), .mapping(let mapping)): for pair in mapping { check(at: pair.value, as: element) }
        case (.json, .sequence(let items)): for item in items { check(at: item, as: .json) }
        case (.json, .mapping(let mapping)): for pair in mapping { check(at: pair.value, as: .json) }
        case (.list(let element), .scalar): check(at: node, as: element)
        case (.text, .scalar(let scalar)), (.markdown, .scalar(let scalar)), (.json, .scalar(let scalar)):
            check(at: scalar, node)
        default: break
        }
    }

    private mutating func check(at scalar: Scalar, _ node: YAML.Node) {
        if let comment = node.trailingComment, isMeant(comment, as: node) {
            var cut = Diagnostic(node.cutByComment(comment), in: node.source, file: file)
            cut.severity = .warning
            warnings.report(cut)
        }
        for other in OtherTemplate.all(in: scalar.meantText) {
            if other.isOfSecrets {
                warnings.report(
                    Diagnostic(
                        code: "not-in-rules", "`\(other.text)` is allowed only in bellhop.yaml",
                        at: Diagnostic.Place(node, utf8: other.range, file: file),
                        help: "set it on a connection in bellhop.yaml, and name that connection in `to`"))
                continue
            }
            warnings.report(
                Diagnostic(
                    .warning, code: "other-template", "`\(other.text)` is not a Bellhop template and is not replaced",
                    at: Diagnostic.Place(node, utf8: other.range, file: file),
                    help: "write `${{ \(other.expression) }}`; for the literal characters, `${{ \(other.literal) }}`"))
        }
    }

    /// Whether a comment was meant as text: `I have it #1`, `order # 5`. Otherwise a blank after `#` marks a comment.
    private func isMeant(_ comment: TrailingComment, as node: YAML.Node) -> Bool {
        if let text = node.scalarText, TemplateText.isTemplate(text), node.cutByComment() != nil { return false }
        let rest = comment.text.utf8.dropFirst()
        guard let first = rest.first else { return false }
        if first == UInt8(ascii: " ") {
            return rest.dropFirst().first?.isASCIIDigit == true
                && comment.range.start.offset - node.range.end.offset == 1
        }
        return first != UInt8(ascii: "\t") && first != UInt8(ascii: "#")
    }
}

/// `${ task.number }`, `$(task.number)` or `{{ task.number }}`: how other programs write what Bellhop writes as `${{ task.number }}`.
public struct OtherTemplate: Sendable, Hashable {
    /// In UTF-8 bytes of the text.
    public let range: Range<Int>
    public let text: String
    public let expression: String

    /// Whether a secret or an environment variable was meant.
    public var isOfSecrets: Bool { expression.hasPrefix("secret.") || expression.hasPrefix("env.") }

    /// An expression that gives the literal characters.
    var literal: String {
        let mark = !text.utf8.contains(UInt8(ascii: "\"")) ? "\"" : !text.utf8.contains(UInt8(ascii: "'")) ? "'" : "\"\"\""
        return mark + text + mark
    }

    private static let names: Set<String> = [
        "task", "tasks", "before", "changes", "comment", "event", "events", "now", "source", "rule", "user", "env", "secret",
    ]

    private static let forms = [(open: "${", close: "}"), (open: "$(", close: ")"), (open: "{{", close: "}}")]

    public static func all(in text: String) -> [OtherTemplate] {
        let bytes = Array(text.utf8)
        func has(_ index: Int, _ wanted: String) -> Bool { bytes[index...].starts(with: wanted.utf8) }
        var found: [OtherTemplate] = []
        var at = 0
        while at < bytes.count {
            if has(at, "$${{") {
                at += 4
            } else if has(at, "${{") {
                at = ExpressionScanner.end(of: bytes, from: at + 3).map { $0 + 2 } ?? bytes.count
            } else if let form = forms.first(where: { has(at, $0.open) }) {
                let start = at + 2
                // A call in the expression has parentheses of its own.
                var depth = 0
                let end = (start..<max(start, bytes.count)).first { index in
                    if depth == 0, has(index, form.close) { return true }
                    depth += bytes[index] == UInt8(ascii: "(") ? 1 : bytes[index] == UInt8(ascii: ")") ? -1 : 0
                    return bytes[index] == 0x0A
                }
                guard let end, has(end, form.close) else {
                    at += 2
                    continue
                }
                let inner = String(decoding: bytes[start..<end], as: UTF8.self).trimmedBlanks
                let whole = at..<end + form.close.utf8.count
                if isExpression(inner, ofAnything: form.open != "$(") {
                    found.append(
                        OtherTemplate(range: whole, text: String(decoding: bytes[whole], as: UTF8.self), expression: inner))
                }
                at = whole.upperBound
            } else {
                at += 1
            }
        }
        return found
    }

    /// Whether this is a name in expressions: a known one or, with `ofAnything`, a field of anything. In a shell's form that may be a
    /// program: `$(python3.13 -V)`.
    private static func isExpression(_ text: String, ofAnything: Bool) -> Bool {
        let word = String(text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
        guard let first = word.first, !first.isNumber else { return false }
        let rest = text.dropFirst(word.count)
        if names.contains(word) { return rest.isEmpty || rest.hasPrefix(".") || rest.hasPrefix("[") }
        return ofAnything && rest.hasPrefix(".")
    }
}
