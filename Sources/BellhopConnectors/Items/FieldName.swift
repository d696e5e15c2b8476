/// The names that fields may have: letters, digits and `_`.
enum FieldName {
    static func isValid(_ text: String) -> Bool {
        guard let first = text.utf8.first, !ASCII.isDigit(first) else { return false }
        return text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
    }

    /// A text turned into a valid name.
    static func made(of text: String) -> String {
        let name = String(decoding: text.utf8.map { ASCII.isAlphanumeric($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        return isValid(name) ? name : "field_\(name)"
    }
}
