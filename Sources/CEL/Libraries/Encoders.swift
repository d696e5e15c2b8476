/// The `encoders` library.
enum Encoders {
    static let functions: [Function] = [
        .pure("base64.encode", .bytes, .string) { activation, value throws(EvaluationError) in
            guard case .bytes(let bytes) = value else { return value }
            try activation.spend(bytes: bytes.count * 2)
            return .string(Base64.encode(bytes))
        },
        .pure("base64.decode", .string, .bytes) { activation, value throws(EvaluationError) in
            guard case .string(let text) = value else { return value }
            try activation.spend(bytes: text.utf8.count)
            guard let bytes = Base64.decode(text) else { throw .invalid("the text is not base 64") }
            return .bytes(bytes)
        },
    ]
}
