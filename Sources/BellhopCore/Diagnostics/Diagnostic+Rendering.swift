extension Diagnostic {
    /// The diagnostic for people: one line, then the excerpt with a caret if there is one.
    ///
    ///     rules/page.yaml:4:12: error: no field `pririty` on a task of source `incidents` [unknown-field]
    ///       4 | when: task.pririty == 1
    ///         |            ^~~~~~~ did you mean `priority`?
    public func rendered(colour: Bool = false) -> String {
        // One parameter in each escape sequence, because ``TerminalText`` keeps only such colours.
        func paint(_ text: String, _ codes: String...) -> String {
            colour ? codes.map { "\u{1B}[\($0)m" }.joined() + text + "\u{1B}[0m" : text
        }
        let hue = severity == .error ? "31" : severity == .warning ? "33" : "36"
        let head = paint("\(severity.rawValue):", "1", hue) + " \(message.singleLine) " + paint("[\(code)]", "2")
        guard let place else { return help.map { "\(head)\n  \(paint($0.singleLine, "32"))" } ?? head }
        var lines = [paint("\(place.file.visible):\(place.line):\(place.column):", "1") + " " + head]
        if let excerpt = place.excerpt {
            let number = String(place.line)
            let margin = String(repeating: " ", count: number.count)
            let (shown, column) = Self.window(of: excerpt, around: place.column)
            lines.append("  \(number) | \(shown.visible)")
            let scalars = shown.unicodeScalars
            let indent = String(String.UnicodeScalarView(scalars.prefix(column - 1).map { $0 == "\t" ? "\t" : " " }))
            let room = max(1, scalars.count - (column - 1))
            let caret = "^" + String(repeating: "~", count: min(place.length, room) - 1)
            let tail = help.map { " " + paint($0.singleLine, "32") } ?? ""
            lines.append("  \(margin) | \(indent)\(paint(caret, "1", hue))\(tail)")
        } else if let help {
            lines.append("  " + paint(help.singleLine, "32"))
        }
        let margin = String(repeating: " ", count: String(place.line).count - 1)
        for line in corrected { lines.append("  \(margin)\(paint("+", "32")) | \(paint(line.visible, "32"))") }
        lines += details.map { "  " + $0.visible }
        return lines.joined(separator: "\n")
    }

    /// The part of a long line around a column, and the column within it.
    private static func window(of line: String, around column: Int) -> (String, Int) {
        let widest = 240
        let scalars = line.unicodeScalars
        guard scalars.count > widest else { return (line, column) }
        let start = max(0, column - 1 - widest / 3)
        let part = scalars.dropFirst(start).prefix(widest)
        let head = start > 0 ? "…" : ""
        let tail = start + widest < scalars.count ? "…" : ""
        return (head + String(String.UnicodeScalarView(part)) + tail, column - start + head.unicodeScalars.count)
    }

    /// The diagnostic for programs.
    public var json: JSON {
        var object: JSON.Object = [
            "severity": .string(severity.rawValue), "code": .string(code), "message": .string(message),
        ]
        if let place {
            object["file"] = .string(place.file)
            object["line"] = .int(Int64(place.line))
            object["column"] = .int(Int64(place.column))
            object["length"] = .int(Int64(place.length))
        }
        if let help { object["help"] = .string(help) }
        if !corrected.isEmpty { object["corrected"] = .array(corrected.map(JSON.string)) }
        if !details.isEmpty { object["details"] = .array(details.map(JSON.string)) }
        return .object(object)
    }

    /// The diagnostic with its excerpt, for another `bellhop` process to show.
    public var transferJSON: JSON {
        guard var object = json.asObject, let excerpt = place?.excerpt else { return json }
        object["excerpt"] = .string(excerpt)
        return .object(object)
    }

    /// Reads ``json`` or ``transferJSON``; nil for anything else.
    public init?(json: JSON) {
        guard let severity = (json["severity"]?.asString).flatMap(Severity.init), let code = json["code"]?.asString,
            let message = json["message"]?.asString
        else { return nil }
        var place: Place?
        if let file = json["file"]?.asString {
            func number(_ name: String) -> Int { json[name]?.asInt.flatMap { Int(exactly: $0) } ?? 1 }
            place = Place(
                file: file, line: max(1, number("line")), column: max(1, number("column")), length: number("length"),
                excerpt: json["excerpt"]?.asString)
        }
        func texts(_ name: String) -> [String] { json[name]?.asArray?.compactMap(\.asString) ?? [] }
        self.init(
            severity, code: code, message, at: place, help: json["help"]?.asString, corrected: texts("corrected"),
            details: texts("details"))
    }
}
