/// Makes text safe for a terminal: it displays exactly its content, without effects on its context.
///
/// The only place that decides which characters are safe: all output of commands, logs and diagnostics goes through it.
/// Invisible characters are replaced, with one exception: joiners and variation selectors stay after characters outside ASCII,
/// because emoji, Persian and Indic scripts need them; among Latin letters, digits and signs they only serve to deceive.
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
            shown.append(isShown(scalar, after: shown.last) || scalar == "\n" || scalar == "\t" ? scalar : mark)
            rest.removeFirst()
        }
        return String(shown)
    }

    /// The text with each control character replaced by the result of `escape`.
    public static func escaping(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        let isPlain = text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy { $0 &- 0x20 < 0x5f } }
        if isPlain == true { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isShown(scalar, after: shown.last) {
                shown.append(scalar)
            } else {
                shown.append(contentsOf: escape(scalar).unicodeScalars)
            }
        }
        return String(shown)
    }

    /// A character as a JSON escape, such as `\u200b`; one beyond the first Unicode plane becomes two escapes.
    public static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.reduce(into: "") { $0 += "\\u" + String(0x10000 + UInt32($1), radix: 16).dropFirst() }
    }

    /// Whether a character is shown unchanged after the character before it.
    static func isShown(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        if scalar.isASCII { return !scalar.isControl }
        if scalar.joins { return last.map { !$0.isASCII && $0 != mark } ?? false }
        return !scalar.isControl
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
    public var visible: String { TerminalText.escaping(self) { $0 == "\t" ? "\t" : String(TerminalText.mark) } }

    /// The text on one line, with control characters made visible.
    public var singleLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0 == "\t" ? " " : $0 })).visible
    }

    /// The most bytes of an external text in a log line.
    public static let maxQuoted = 1000

    /// The text for a log line. A long text is truncated, with its length added.
    public var quoted: String {
        guard utf8.count > Self.maxQuoted else { return self }
        var end = utf8.index(startIndex, offsetBy: Self.maxQuoted)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return "\(self[..<end])… (\(utf8.count) bytes)"
    }
}

extension Unicode.Scalar {
    /// True for an invisible character that affects a terminal, the text around it or its reader: C0, DEL, C1, the line and
    /// paragraph separators, marks that change the direction of text (`Bidi_Control` in Unicode), and all other invisible ones
    /// (`Default_Ignorable_Code_Point`, and the annotation marks), except those for which ``joins`` is true.
    public var isControl: Bool {
        if turnsText { return true }
        if value < 0xad { return false }
        return (properties.isDefaultIgnorableCodePoint && !joins) || 0xfff9...0xfffb ~= value
    }

    /// Whether it is invisible, so that two names that differ by it look the same.
    public var isInvisible: Bool { isControl || joins }

    /// Joins or changes the characters around it: the joiners of emoji and of scripts, and the variation selectors.
    var joins: Bool { value == 0x200c || value == 0x200d || 0xfe00...0xfe0f ~= value }

    /// A control character other than a directional mark: those occur in ordinary Arabic and Hebrew, and affect only their
    /// neighbours.
    public var turnsText: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}

extension JSON {
    /// The value on one line, with all characters escaped that would affect a terminal. They occur only inside strings, and those below
    /// U+0020 are always escaped.
    public var printable: String { Self.printable(text) }

    /// The same for JSON text.
    public static func printable(_ text: String) -> String { TerminalText.escaping(text, TerminalText.jsonEscape) }
}
