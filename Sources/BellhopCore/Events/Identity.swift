import Crypto

/// The identity of something, derived from facts: the first 128 bits of their SHA-256 (FIPS 180-4) as 32 hexadecimal digits.
///
/// The hash is cryptographic, because facts contain texts from tickets: no text can be crafted to have the identity of another.
/// The length of each fact is hashed too, so that `("ab", "c")` and `("a", "bc")` differ.
enum Identity {
    static func of(_ facts: some Sequence<String>) -> String {
        let words = words(of: facts)
        return Hexadecimal.text(words.high, words.low)
    }

    static func words(of facts: some Sequence<String>) -> (high: UInt64, low: UInt64) {
        var hash = SHA256()
        for fact in facts {
            var fact = fact
            fact.withUTF8 { bytes in
                withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
                hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
            }
        }
        return hash.finalize().withUnsafeBytes { digest in
            (
                UInt64(bigEndian: digest.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}
