import BellhopCore

/// A body's `error`: `{"error":{"message":…,"detail":…},"status":"failure"}`, or one next to a partial `result`.
struct ErrorEnvelope: Sendable, Hashable {
    var message = ""
    var detail = ""
}

extension ErrorEnvelope {
    /// Larger bodies are searched only at their end, where the platform writes the error that cancelled the request.
    private static let wholeLimit = 1 << 20
    /// The bytes searched at the end.
    private static let tail = 4096

    /// Nil if the body has no `error` member.
    init?(_ body: [UInt8]) {
        guard let found = body.count <= Self.wholeLimit ? Self.whole(body) : Self.end(body.suffix(Self.tail)) else { return nil }
        self = found
    }

    private static func whole(_ body: [UInt8]) -> ErrorEnvelope? {
        guard isNamed(in: body.span) else { return nil }
        do {
            let tape = try JSONTape(body)
            guard let node = tape.find(JSON.Path(keys: ["error"])) else { return nil }
            let error = tape.value(of: node)
            if error.isNull { return nil }
            return ErrorEnvelope(message: error["message"]?.asString ?? error.asString ?? "", detail: error["detail"].textOrEmpty)
        } catch {
            // A transaction cancelled while streaming leaves invalid JSON with the error at its end.
            return end(body.suffix(tail))
        }
    }

    /// Whether `"error"` occurs in a body. Most good answers do not contain it, so they are not parsed.
    ///
    /// The search is Boyer–Moore–Horspool, which examines about one byte in seven.
    private static func isNamed(in body: Span<UInt8>) -> Bool {
        let name: [UInt8] = Array("\"error\"".utf8)
        var start = 0
        while start + name.count <= body.count {
            switch body[start + name.count - 1] {
            case UInt8(ascii: "\""):
                if name.indices.allSatisfy({ body[start + $0] == name[$0] }) { return true }
                start += 6
            case UInt8(ascii: "e"): start += 5
            case UInt8(ascii: "o"): start += 2
            case UInt8(ascii: "r"): start += 1
            default: start += 7
            }
        }
        return false
    }

    /// Searches the end of a body for the name `"error"`. Inside a JSON string its quotes would be escaped.
    private static func end(_ bytes: ArraySlice<UInt8>) -> ErrorEnvelope? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let place = text.ranges(of: "\"error\"").last else { return nil }
        let rest = text[place.upperBound...].drop { $0.isWhitespace }
        guard rest.first == ":" else { return nil }
        let value = rest.dropFirst().drop { $0.isWhitespace }
        // A column named `error` contains other names: `display_value`, `link`, `value`.
        let inside = value.dropFirst().drop { $0.isWhitespace }
        guard value.first == "{", inside.hasPrefix("\"message\"") || inside.hasPrefix("\"detail\"") else { return nil }
        var envelope = ErrorEnvelope()
        if let start = rest.firstRange(of: "\"message\"")?.upperBound {
            envelope.message = String(rest[start...].drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" })
        }
        return envelope
    }

    /// The server's message in one line.
    var text: String {
        let parts = [message, detail == message ? "" : detail].filter { !$0.isEmpty }
        return Redaction.excerpt(parts.joined(separator: ": "))
    }
}
