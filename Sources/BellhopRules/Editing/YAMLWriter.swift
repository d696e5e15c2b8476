import BellhopCore

/// Writes values as YAML that people edit: in block style, with quotes only where a text would otherwise be read back differently.
enum YAMLWriter {
    /// The lines of a mapping.
    static func text(_ object: JSON.Object) -> String {
        object.isEmpty ? "{}\n" : lines(.object(object)).joined(separator: "\n") + "\n"
    }

    /// The lines of a list or a mapping; for any other value, the text after its key or dash.
    private static func lines(_ value: JSON) -> [String] {
        switch value {
        case .object(let members) where !members.isEmpty:
            return members.flatMap { member in placed(member.value, after: key(member.key) + ":") }
        case .array(let items) where !items.isEmpty:
            return items.flatMap { item in
                guard item.isFilledCollection else { return placed(item, after: "-") }
                let inner = lines(item)
                return ["- " + inner[0]] + inner.dropFirst().map { "  " + $0 }
            }
        default: return [scalar(value)]
        }
    }

    private static func placed(_ value: JSON, after head: String) -> [String] {
        if value.isFilledCollection { return [head] + lines(value).map { "  " + $0 } }
        if case .string(let text) = value, isBlock(text) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return [head + " |-"] + lines.map { $0.isEmpty ? "" : "  " + $0 }
        }
        return [head + " " + scalar(value)]
    }

    private static func scalar(_ value: JSON) -> String {
        switch value {
        case .string(let text): isPlain(text) ? text : quoted(text)
        case .object: "{}"
        case .array: "[]"
        case .null, .bool, .int, .double: value.text
        }
    }

    private static func key(_ name: String) -> String { isPlain(name) ? name : quoted(name) }

    /// Whether the text never needs quotes: it begins with a letter and has no character with a meaning in YAML.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter, text.utf8.last != UInt8(ascii: " ") else {
            return false
        }
        let words: Set<String> = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        return !words.contains(text.lowercased())
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || " _./-,()".utf8.contains($0) }
    }

    /// Whether a text of several lines can stand in a block, where nothing is escaped.
    private static func isBlock(_ text: String) -> Bool {
        guard text.contains("\n"), let first = text.unicodeScalars.first, first != " ", first != "\n", text.last != "\n" else {
            return false
        }
        return text.unicodeScalars.allSatisfy { $0 == "\n" || isVisible($0) }
    }

    /// In double quotes; everything invisible is escaped, so that it shows in an editor.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where isVisible(scalar): quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                let width = scalar.value > 0xFFFF ? 8 : 4
                quoted += (width == 8 ? "\\U" : "\\u") + String(repeating: "0", count: width - digits.count) + digits
            }
        }
        return quoted + "\""
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: false
        default: true
        }
    }
}

extension JSON {
    fileprivate var isFilledCollection: Bool {
        switch self {
        case .object(let members): !members.isEmpty
        case .array(let items): !items.isEmpty
        case .null, .bool, .int, .double, .string: false
        }
    }
}
