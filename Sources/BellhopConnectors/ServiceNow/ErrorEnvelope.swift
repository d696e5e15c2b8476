import BellhopCore

/// The `error` that a body carries: `{"error":{"message":…,"detail":…},"status":"failure"}`, or one beside a half `result`.
struct ErrorEnvelope: Sendable, Hashable {
    var message = ""
    var detail = ""

    init() {}

    /// Bodies beyond this size are looked at at their end only, where the platform puts what stopped it.
    private static let wholeLimit = 1 << 20
    private static let tail = 4096

    /// Nil when the body has no `error` of its own.
    init?(_ body: [UInt8]) {
        let found =
            if body.count <= Self.wholeLimit {
                Self.whole(body)
            } else {
                Self.end(body.suffix(Self.tail))
            }
        guard let found else { return nil }
        self = found
    }

    private static func whole(_ body: [UInt8]) -> ErrorEnvelope? {
        do {
            let tape = try JSONTape(body)
            guard let node = tape.find(JSON.Path(keys: ["error"])) else { return nil }
            let error = tape.value(of: node)
            if error.isNull { return nil }
            var envelope = ErrorEnvelope()
            envelope.message = error["message"]?.asString ?? error.asString ?? ""
            envelope.detail = error["detail"]?.asString ?? ""
            return envelope
        } catch {
            // A transaction that is cancelled while it streams leaves text that is no JSON, with the error at its end.
            return end(body.suffix(tail))
        }
    }

    /// Looks for the name `"error"` in the end of a body. Within a JSON string its quotes would be escaped.
    private static func end(_ bytes: ArraySlice<UInt8>) -> ErrorEnvelope? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let place = text.ranges(of: "\"error\"").last else { return nil }
        let rest = text[place.upperBound...].drop { $0.isWhitespace }
        guard rest.first == ":", rest.dropFirst().drop(while: { $0.isWhitespace }).first == "{" else { return nil }
        var envelope = ErrorEnvelope()
        if let start = rest.firstRange(of: "\"message\"")?.upperBound {
            envelope.message = String(rest[start...].drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" })
        }
        return envelope
    }

    /// For messages: what the server said, in one line.
    var text: String {
        let parts = [message, detail == message ? "" : detail].filter { !$0.isEmpty }
        return Redaction.excerpt(parts.joined(separator: ": "))
    }
}
