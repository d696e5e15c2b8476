import BellhopCore

/// A mailbox of RFC 5322: `ops@example.com` or `Ops <ops@example.com>`.
///
/// The address itself is ASCII: mail servers without SMTPUTF8 (RFC 6531) refuse others. The name may be any text on one line.
struct MailAddress: Sendable, Hashable {
    /// Empty if there is none.
    var name: String
    var local: String
    /// In lower case.
    var host: String

    /// The longest local part and the longest address (RFC 5321, section 4.5.3.1).
    private static let longestLocal = 64
    private static let longest = 254
    private static let form = InvalidValue(
        message: "Write one mail address, as name@host or Somebody <name@host>; several recipients are a list.")

    init(_ text: some StringProtocol) throws(InvalidValue) {
        let text = ASCII.trimmed(text)
        guard MailHeaderValue.isLine(text) else {
            throw InvalidValue(message: "A mail address is one line without control characters.")
        }
        var address = text
        name = ""
        if text.last == ">", let open = text.lastIndex(of: "<") {
            address = text[text.index(after: open)...].dropLast()
            let words = ASCII.trimmed(text[..<open])
            if let quoted = words.wholeMatch(of: /"((?:[^"\\]|\\.)*)"/) {
                name = String(quoted.output.1.replacing(/\\(.)/) { $0.output.1 })
            } else {
                // Other addresses written before this one are no name: they would get no mail.
                guard !words.contains("<"), !words.contains("@") || !words.contains(where: { ",;".contains($0) }) else {
                    throw Self.form
                }
                name = String(words)
            }
        }
        guard let at = address.lastIndex(of: "@") else { throw Self.form }
        local = String(address[..<at])
        host = ASCII.lowercased(address[address.index(after: at)...])
        guard address.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw InvalidValue(
                message: "A mail address has only ASCII characters; write a host such as bücher.example as xn--bcher-kva.example."
            )
        }
        guard Self.isDotted(local, { $0.isASCIIAlphanumeric || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }),
            Self.isDotted(host, { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }),
            local.utf8.count <= Self.longestLocal, address.utf8.count <= Self.longest
        else { throw Self.form }
    }

    /// `ops@example.com`.
    var text: String { "\(local)@\(host)" }

    /// Whether the text is a dot-atom of RFC 5322: parts of allowed characters between dots.
    private static func isDotted(_ text: String, _ isAllowed: (UInt8) -> Bool) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy(isAllowed)
        }
    }
}
