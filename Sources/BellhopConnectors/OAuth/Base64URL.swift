/// Base64 of RFC 4648, section 5, without padding, as OAuth uses it for tokens and proofs.
enum Base64URL {
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(
            Base64.encode(bytes).compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
