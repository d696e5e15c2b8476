import BellhopCore

/// One request to the console.
struct ConsoleRequest: Sendable {
    var method: String
    /// The parts of the path, decoded.
    var path: [String]
    /// The names and values after `?`, decoded.
    var query: [(name: String, value: String)]
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// The address of the other side.
    var peer: String

    init(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [], peer: String = ""
    ) {
        self.method = method
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = (halves.first ?? "").split(separator: "/").map { PercentText.decoded($0) }
        query = halves.count == 2 ? PercentText.form(halves[1]) : []
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }

    /// The tag that `If-Match` names, without its quotes; nil without one, or if it names several or any.
    var matchTag: String? {
        guard let field = header("if-match"), field.count > 2, field.hasPrefix("\""), field.hasSuffix("\"") else { return nil }
        let tag = field.dropFirst().dropLast()
        return tag.contains("\"") ? nil : String(tag)
    }

    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    func cookie(_ name: String) -> String? {
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in header.value.split(separator: ";") {
                let halves = pair.split(separator: "=", maxSplits: 1)
                if halves.count == 2, halves[0].trimmingBlanks == name { return String(halves[1]) }
            }
        }
        return nil
    }

    /// The fields of a form that a browser sent.
    var form: [(name: String, value: String)] {
        guard header("content-type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true else { return [] }
        return PercentText.form(Substring(decoding: body, as: UTF8.self))
    }

    /// Whether a browser asks for a page.
    var wantsPage: Bool { path.first != "api" && !TelemetryDesk.serves(self) }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring { drop { $0 == " " } }
}

/// Text in addresses and forms (the URL Standard, application/x-www-form-urlencoded).
enum PercentText {
    static func decoded(_ text: Substring, plusIsSpace: Bool = false) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+"), plusIsSpace {
                bytes.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(digit),
                let low = rest.dropFirst().first.flatMap(digit)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func form(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(halves[0], plusIsSpace: true), halves.count == 2 ? decoded(halves[1], plusIsSpace: true) : "")
        }
    }

    /// Fit for one part of a path, or for a value of a query.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
