/// Checks the bytes before libyaml reads them: size, encoding, and characters not allowed in YAML (YAML 1.2.2, 5.1).
struct TextCheck {
    let source: SourceText
    let limits: Limits

    /// The first error of the text, or nil if libyaml may read it.
    var firstError: YAMLError? {
        let bytes = source.bytes
        guard bytes.count <= limits.bytes else {
            let message = "the text has \(bytes.count) bytes; the limit is \(limits.bytes)"
            return YAMLError(.tooLarge, message, at: source.range(0..<0), help: "divide it into several files")
        }
        if isUTF16 {
            let help = "save the file as UTF-8"
            return YAMLError(.utf16, "the text is UTF-16; YAML is read as UTF-8 here", at: source.range(0..<0), help: help)
        }
        var index = source.markLength
        while index < bytes.count {
            let byte = bytes[index]
            if byte >= 0x20 && byte < 0x7F || byte == ASCII.newline || byte == ASCII.tab || byte == ASCII.carriageReturn {
                index += 1
                continue
            }
            guard byte >= 0x80 else { return control(UInt32(byte), at: index, length: 1) }
            guard let (scalar, length) = scalar(at: index) else { return notUTF8(at: index) }
            if let error = error(scalar, at: index, length: length) { return error }
            index += length
        }
        return nil
    }

    /// A byte order mark, or a first character with one zero byte.
    private var isUTF16: Bool {
        switch (source.byte(0), source.byte(1)) {
        case (0xFE, 0xFF), (0xFF, 0xFE): true
        case (0, let other?), (let other?, 0): other != 0
        default: false
        }
    }

    /// The scalar at an offset and its length in bytes; nil for invalid UTF-8 (RFC 3629, 4).
    private func scalar(at index: Int) -> (UInt32, Int)? {
        var bytes = source.bytes[index...].makeIterator()
        var parser = UTF8.ForwardParser()
        guard case .valid(let encoded) = parser.parseScalar(from: &bytes) else { return nil }
        return (UTF8.decode(encoded).value, encoded.count)
    }

    private func error(_ scalar: UInt32, at index: Int, length: Int) -> YAMLError? {
        switch scalar {
        case 0x85, 0x2028, 0x2029:
            let name = Self.name(scalar)
            let message =
                "the invisible line separator \(name) is a line break for some readers of YAML and a character for others"
            let escape = scalar == 0x85 ? "\\N" : scalar == 0x2028 ? "\\L" : "\\P"
            let help = "delete it, or write `\(escape)` between double quotes"
            return YAMLError(.lineSeparator, message, at: source.range(index..<index + length), help: help)
        case 0x80..<0xA0, 0xFEFF, 0xFFFE, 0xFFFF: return control(scalar, at: index, length: length)
        default: return nil
        }
    }

    private func control(_ scalar: UInt32, at index: Int, length: Int) -> YAMLError {
        let name = scalar == 0xFEFF ? "a byte order mark in the middle of the text" : "the control character \(Self.name(scalar))"
        let help =
            scalar == 0xFEFF || scalar > 0xFF
            ? "delete it" : "delete it, or write `\\x\(Self.hex(scalar, digits: 2))` between double quotes"
        return YAMLError(.controlCharacter, "\(name) is not allowed", at: source.range(index..<index + length), help: help)
    }

    private func notUTF8(at index: Int) -> YAMLError {
        let byte = source.bytes[index]
        let message = "byte \(index) of the text, 0x\(Self.hex(UInt32(byte), digits: 2)), is not UTF-8"
        let help =
            byte >= 0xA0
            ? "save the file as UTF-8; in Latin-1 the byte is `\(Character(Unicode.Scalar(byte)))`" : "save the file as UTF-8"
        return YAMLError(.notUTF8, message, at: source.range(index..<index), help: help)
    }

    private static func name(_ scalar: UInt32) -> String { "U+" + hex(scalar, digits: 4) }

    private static func hex(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
