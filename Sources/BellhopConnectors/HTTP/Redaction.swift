import BellhopCore

/// A value with secrets, of which only the description is ever printed.
public protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Removes secrets from texts that people read.
public enum Redaction {
    public static let mark = "•••"

    /// Replaces each secret in the text, also in its percent-encoded, form-encoded and JSON forms. Secrets of fewer than four
    /// characters are kept: replacing them would reveal more than it hides.
    public static func scrub(_ text: String, of secrets: [String]) -> String {
        var text = text
        // Longer ones first, because they may contain shorter ones.
        for secret in Set(secrets).sorted(by: { $0.utf8.count > $1.utf8.count }) where secret.count >= 4 {
            for form in forms(of: secret) {
                // By characters, too: the same letters may have other code points.
                text = text.replacingScalars(of: form, with: mark).replacing(form, with: mark)
            }
        }
        return text
    }

    /// Whether a name suggests that its value is a secret.
    public static func suggestsSecret(_ name: some StringProtocol) -> Bool {
        let name = ASCII.lowercased(name)
        let isPart = ["pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie", "signature"].contains {
            name.contains($0)
        }
        // `sig` counts only as a whole word, because `assigned_to` contains it.
        return isPart || name.split { !$0.isLetter && !$0.isNumber }.contains("sig")
    }

    /// The forms in which a secret may be written, the longest first.
    private static func forms(of secret: String) -> [String] {
        let escaped = secret.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let encoded = PercentEncoding.encode(secret)
        let forms: Set<String> = [
            secret, encoded, encoded.replacing("%20", with: "+"), escaped, escaped.replacing("/", with: "\\/"),
        ]
        return forms.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// The beginning of a remote text for a message, on one line and without these secrets.
    static func line(_ text: String, hiding secrets: [String], length: Int) -> String {
        excerpt(DisplayText.line(scrub(text, of: secrets)), length: length)
    }

    /// The beginning of a remote text for a message: one line without control characters, cut to a length.
    public static func excerpt(_ text: some StringProtocol, length: Int = 200) -> String {
        let words = text.split { $0.isWhitespace || $0.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control } }
        let line = words.joined(separator: " ")
        return line.count > length ? line.prefix(length) + "…" : line
    }
}
