/// Makes text safe for a terminal: it displays exactly its content, without effects on its surroundings.
///
/// The only definition of control characters. All output of commands, logs and diagnostics goes through it.
public enum TerminalText {
    /// What replaces a hidden character.
    public static let mark: Unicode.Scalar = "\u{FFFD}"

    /// The text with each control character replaced by a mark, except newlines and tabs.
    ///
    /// - Parameter keepsColours: true if the text contains our own colours: `ESC [`, one or two digits, `m`.
    public static func lines(_ text: String, keepsColours: Bool = false) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var shown = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            if keepsColours, let end = colour(at: rest) {
                shown.append(contentsOf: rest[..<end])
                rest = rest[end...]
                continue
            }
            shown.append(scalar.isControl && scalar != "\n" && scalar != "\t" ? mark : scalar)
            rest.removeFirst()
        }
        return String(shown)
    }

    /// The text with each control character replaced by the result of `escape`.
    public static func escaping(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: \.isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { shown, scalar in
            if scalar.isControl { shown += escape(scalar) } else { shown.unicodeScalars.append(scalar) }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte &- 0x20 < 0x5f || byte == 0x0a || byte == 0x09 }

    /// The end of a colour code that begins here.
    private static func colour(at text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView.Index? {
        guard text.first == "\u{1B}", text.dropFirst().first == "[" else { return nil }
        let parameter = text.dropFirst(2)
        let digits = parameter.prefix(2).prefix { ("0"..."9").contains($0) }
        guard !digits.isEmpty, text[digits.endIndex...].first == "m" else { return nil }
        return text.index(after: digits.endIndex)
    }
}

extension String {
    /// The text with control characters made visible, including newlines; tabs stay.
    public var visible: String {
        guard unicodeScalars.contains(where: { $0.isControl && $0 != "\t" }) else { return self }
        return String(
            String.UnicodeScalarView(unicodeScalars.map { $0.isControl && $0 != "\t" ? TerminalText.mark : $0 }))
    }

    /// The text on one line, with control characters made visible.
    public var singleLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0 == "\t" ? " " : $0 })).visible
    }
}

extension Unicode.Scalar {
    /// Invisible characters that affect a terminal or the surrounding text: C0, DEL, C1, line and paragraph separators, and
    /// everything that changes the direction of text (`Bidi_Control` in Unicode).
    public var isControl: Bool { turnsText || isMarkOfDirection }

    /// A control character other than a directional mark: those occur in ordinary Arabic and Hebrew, and affect only their
    /// neighbours.
    public var turnsText: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    private var isMarkOfDirection: Bool { value == 0x61c || value == 0x200e || value == 0x200f }
}

extension JSON {
    /// The value on one line, with everything escaped that would move a terminal's cursor or turn its text around. Such characters are
    /// only ever inside of strings, and those below U+0020 are escaped already.
    public var printable: String {
        TerminalText.escaping(text) { "\\u" + String(0x10000 + $0.value, radix: 16).dropFirst() }
    }
}
