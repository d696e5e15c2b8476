/// Quotes texts with as few escapes as possible.
enum Quoting {
    /// The text in double quotes; in single quotes if it contains double quotes or backslashes.
    static func quote(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == ASCII.doubleQuote || $0 == ASCII.backslash }) else { return "\"\(text)\"" }
        var quoted = "'"
        for character in text.unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "'" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "'"
    }

    /// The inside of a double-quoted text, with backslashes doubled that do not begin a YAML escape.
    static func doublingBackslashes(_ inside: String) -> String {
        var corrected = ""
        var isEscape = false
        for character in inside.unicodeScalars {
            if isEscape, !"0abt\tnvfre \"/\\N_LPxuU".unicodeScalars.contains(character) { corrected += "\\" }
            corrected.unicodeScalars.append(character)
            isEscape = !isEscape && character == "\\"
        }
        return corrected
    }
}
