import BellhopCore

/// Detects errors that APIs report in answers with a successful status.
enum ReportedError {
    /// The content of a body's `error` or `errors`, without these secrets; nil if missing or empty.
    static func words(in body: [UInt8], under names: [String] = ["error", "errors"], hiding secrets: [String]) -> String? {
        // Most bodies do not contain the word, which saves parsing them twice.
        guard body.contains("\"error"), let json = try? JSON.parse(body) else { return nil }
        for name in names {
            guard let value = json[name], isNotEmpty(value) else { continue }
            let message = value["message"] ?? value[0]?["message"] ?? json["error_description"] ?? value
            return Redaction.line(message.asString ?? message.text, hiding: secrets, length: 160)
        }
        return nil
    }

    private static func isNotEmpty(_ value: JSON) -> Bool {
        switch value {
        case .null: false
        case .bool(let flag): flag
        case .int(let number): number != 0
        case .double: true
        case .string(let text): !text.isEmpty
        case .array(let items): !items.isEmpty
        case .object(let members): !members.isEmpty
        }
    }
}

extension [UInt8] {
    /// Whether the bytes contain this text, which is not empty.
    func contains(_ text: StaticString) -> Bool {
        let word = Array("\(text)".utf8)
        var place = startIndex
        while let found = self[place...].firstIndex(of: word[0]) {
            if self[found...].starts(with: word) { return true }
            place = found + 1
        }
        return false
    }
}
