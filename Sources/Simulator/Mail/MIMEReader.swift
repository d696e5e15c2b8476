import BellhopCore

/// Reads mails as a mail program does (RFC 5322, 2045–2047), without sharing code with the writer. Strict: anything that a server
/// could refuse or a program could misread is an error.
public struct MIMEReader: Sendable {
    public struct Problem: Error, CustomStringConvertible { public var description: String }

    public struct Part: Sendable {
        public var fields: [(name: String, value: String)]
        public var body: [UInt8]

        /// The decoded value of the only field with this name.
        public func field(_ name: String) throws -> String {
            let found = fields.filter { $0.name.lowercased() == name.lowercased() }
            guard found.count == 1, let value = found.first?.value else {
                throw Problem(description: "\(found.count) of \(name)")
            }
            return value
        }

        /// Its content without the transfer encoding, as text.
        public func text() throws -> String {
            let type = try field("Content-Type")
            guard type.contains("charset=utf-8") else { throw Problem(description: "charset of \(type)") }
            let bytes =
                switch try field("Content-Transfer-Encoding") {
                case "quoted-printable": try MIMEReader.quotedPrintable(body)
                case "base64": try MIMEReader.base64(body.filter { $0 != 0x0d && $0 != 0x0a }[...])
                case let other: throw Problem(description: "encoding \(other)")
                }
            guard let text = String(validating: bytes, as: UTF8.self) else { throw Problem(description: "not UTF-8") }
            return text.replacing("\r\n", with: "\n")
        }
    }

    public let head: Part
    public let parts: [Part]

    public init(_ bytes: [UInt8]) throws {
        try Self.check(bytes)
        head = try Self.part(bytes)
        let type = try head.field("Content-Type")
        guard type.hasPrefix("multipart/alternative"), let quote = type.firstRange(of: "boundary=\"") else {
            throw Problem(description: "type \(type)")
        }
        let boundary = String(type[quote.upperBound...].prefix { $0 != "\"" })
        let lines = Self.lines(head.body)
        guard lines.last == Array("--\(boundary)--".utf8) else { throw Problem(description: "no last boundary") }
        let separator = Array("--\(boundary)".utf8)
        parts = try lines.dropLast().split(separator: separator, omittingEmptySubsequences: false).dropFirst().map { lines in
            var part = try Self.part(Array(lines.map { $0 + [0x0d, 0x0a] }.joined()))
            part.body.removeLast(2)  // the line break before a boundary belongs to it
            return part
        }
    }

    public var from: String { get throws { try head.field("From") } }
    public var subject: String { get throws { try head.field("Subject") } }
    public var text: String { get throws { try parts[0].text() } }
    public var html: String { get throws { try parts[1].text() } }

    /// Whole lines of ASCII of at most 998 characters, and no control characters.
    private static func check(_ bytes: [UInt8]) throws {
        guard bytes.suffix(2) == [0x0d, 0x0a] else { throw Problem(description: "the last line does not end") }
        for line in lines(bytes) {
            guard line.count <= 998 else { throw Problem(description: "a line of \(line.count)") }
            guard line.allSatisfy({ 0x20...0x7e ~= $0 || $0 == 0x09 }) else {
                throw Problem(description: "not plain: \(String(decoding: line, as: UTF8.self).debugDescription)")
            }
            if line.first == 0x2e { throw Problem(description: "a line begins with a full stop") }
        }
    }

    private static func lines(_ bytes: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var last: UInt8 = 0
        for byte in bytes {
            if byte == 0x0a, last == 0x0d {
                lines.append(line.dropLast())
                line = []
            } else {
                line.append(byte)
            }
            last = byte
        }
        return line.isEmpty ? lines : lines + [line]
    }

    private static func part(_ bytes: [UInt8]) throws -> Part {
        let lines = lines(bytes)
        guard let end = lines.firstIndex(of: []) else { throw Problem(description: "no empty line after the header") }
        var fields: [(name: String, value: String)] = []
        for line in lines[..<end] {
            let text = String(decoding: line, as: UTF8.self)
            if text.first == " " || text.first == "\t" {
                guard !fields.isEmpty, text.contains(where: { $0 != " " && $0 != "\t" }) else {
                    throw Problem(description: "a folded line without words")
                }
                fields[fields.count - 1].value += text
            } else {
                guard let colon = text.firstIndex(of: ":"), text[..<colon].allSatisfy({ $0.isLetter || $0 == "-" }) else {
                    throw Problem(description: "no field: \(text)")
                }
                fields.append((String(text[..<colon]), String(text[text.index(after: colon)...].drop { $0 == " " })))
            }
        }
        let decoded = try fields.map { (name: $0.name, value: try words($0.value)) }
        return Part(fields: decoded, body: Array(lines[(end + 1)...].map { $0 + [0x0d, 0x0a] }.joined()))
    }

    /// Decodes encoded words; blanks between two of them are not shown.
    static func words(_ value: String) throws -> String {
        var shown: [UInt8] = []
        var wasEncoded = false
        var rest = Array(value.utf8)[...]
        while !rest.isEmpty {
            let blanks = rest.prefix { $0 == 0x20 || $0 == 0x09 }
            rest = rest.dropFirst(blanks.count)
            let word = rest.prefix { $0 != 0x20 && $0 != 0x09 }
            rest = rest.dropFirst(word.count)
            let marks = word.split(separator: UInt8(ascii: "?"), omittingEmptySubsequences: false)
            guard word.starts(with: "=?".utf8), word.suffix(2) == Array("?=".utf8)[...], marks.count == 5 else {
                shown += blanks + word
                wasEncoded = false
                continue
            }
            guard word.count <= 75 else { throw Problem(description: "an encoded word of \(word.count)") }
            guard String(decoding: marks[1], as: UTF8.self).lowercased() == "utf-8",
                String(decoding: marks[2], as: UTF8.self).lowercased() == "b"
            else { throw Problem(description: "an encoded word of another kind") }
            let bytes = try base64(marks[3])
            // Each word is whole text of its own (RFC 2047, section 5).
            guard String(validating: bytes, as: UTF8.self) != nil else { throw Problem(description: "a character cut in two") }
            if !wasEncoded { shown += blanks }
            shown += bytes
            wasEncoded = true
        }
        return String(decoding: shown, as: UTF8.self)
    }

    static func quotedPrintable(_ bytes: [UInt8]) throws -> [UInt8] {
        var decoded: [UInt8] = []
        var isFirst = true
        for line in lines(bytes + [0x0d, 0x0a]) {
            if !isFirst { decoded += [0x0d, 0x0a] }
            isFirst = false
            guard line.count <= 76 else { throw Problem(description: "an encoded line of \(line.count)") }
            if let last = line.last, last == 0x20 || last == 0x09 { throw Problem(description: "a line ends in a blank") }
            var place = 0
            while place < line.count {
                let byte = line[place]
                place += 1
                guard byte == UInt8(ascii: "=") else {
                    decoded.append(byte)
                    continue
                }
                if place == line.count {
                    isFirst = true  // the next line continues this one
                } else {
                    guard place + 2 <= line.count,
                        let octet = UInt8(String(decoding: line[place..<(place + 2)], as: UTF8.self), radix: 16)
                    else { throw Problem(description: "an unfinished escape") }
                    decoded.append(octet)
                    place += 2
                }
            }
        }
        return decoded
    }

    private static func base64(_ text: ArraySlice<UInt8>) throws -> [UInt8] {
        guard let bytes = Base64.decode(String(decoding: text, as: UTF8.self), padding: .required) else {
            throw Problem(description: "no Base64")
        }
        return bytes
    }
}
