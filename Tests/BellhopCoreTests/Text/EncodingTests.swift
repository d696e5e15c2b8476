import BellhopCore
import Testing

@Suite struct EncodingTests {
    @Test func `percent-encoding escapes every character with a meaning in addresses`() {
        #expect(PercentEncoding.encode("a+b&c=d#é ^/") == "a%2Bb%26c%3Dd%23%C3%A9%20%5E%2F")
        #expect(PercentEncoding.query([("a b", "1&2"), ("c", "")]) == "a%20b=1%262&c=")
    }

    @Test func `percent signs are decoded, and incomplete escapes are kept`() {
        #expect(PercentEncoding.decode("a%2Bb%C3%A9%zz%4") == "a+bé%zz%4")
        #expect(PercentEncoding.decode("a+b%2Fc%") == "a+b/c%")
    }

    @Test func `form data is split before it is decoded, and a plus sign becomes a space`() {
        #expect(PercentEncoding.decode("a%5Eb+c%2B", plusIsSpace: true) == "a^b c+")
        let pairs = PercentEncoding.pairs("a+b=1%262&&c&d=e%3Df=g&%C3%A9=\u{301}")
        #expect(pairs.map(\.name) == ["a b", "c", "d", "é"])
        #expect(pairs.map(\.value) == ["1&2", "", "e=f=g", "\u{301}"])
    }

    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("john:pässword", "am9objpww6Rzc3dvcmQ=")])
    func `Base64 is encoded as in RFC 4648`(_ text: String, _ encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
    }

    @Test(arguments: 0..<70) func `bytes are equal after encoding and decoding in Base64`(_ count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }

    @Test(arguments: ["A", "AB=", "AB===", "A=BC", "AB=C", "AAB", "====", "AA A", "AAé="])
    func `invalid Base64 is rejected`(_ text: String) { #expect(Base64.decode(text) == nil) }

    @Test func `Base64 with required padding is rejected without it`() {
        #expect(Base64.decode("", padding: .required) == [])
        #expect(Base64.decode("TWFu", padding: .required) == Array("Man".utf8))
        #expect(Base64.decode("TWE=", padding: .required) == Array("Ma".utf8))
        for wrong in ["TQ=", "TQ", "T===", "====", "TW=u", "T Fu", "TWF-", "TR=="] {
            #expect(Base64.decode(wrong, padding: .required) == nil)
        }
    }

    @Test func `hexadecimal digits are written in lowercase and read in both cases`() {
        #expect(Hexadecimal.text([0, 255, 169]) == "00ffa9")
        #expect(Hexadecimal.bytes("00fFA9") == [0, 255, 169])
        for wrong in ["0", "0g", " 0", "+1"] { #expect(Hexadecimal.bytes(wrong) == nil) }
    }

    @Test func `a random text has 16 hexadecimal digits per word, with leading zeros`() {
        let texts = (0..<500).map { _ in Hexadecimal.random(words: 2) }
        #expect(texts.allSatisfy { Hexadecimal.bytes($0)?.count == 16 } && Set(texts).count == texts.count)
        #expect(texts.contains { $0.hasPrefix("0") } && Hexadecimal.random().count == 16)
    }

    @Test(arguments: [
        ("a/b/c", "a/b", "a/b/", "c"), ("c", ".", "", "c"), ("/c", "/", "/", "c"), ("a/", "a", "a/", ""),
        // With the accent, the slash is one character for Swift.
        ("a/\u{301}c", "a", "a/", "\u{301}c"),
    ])
    func `a path is divided at its last slash`(_ path: String, _ folder: String, _ prefix: String, _ name: String) {
        #expect(PathText.folder(of: path) == folder)
        #expect(PathText.prefix(of: path) == prefix)
        #expect(Array(PathText.name(of: path).utf8) == Array(name.utf8))
    }

    @Test func `a counted noun is in the plural, except for one`() {
        #expect([0, 1, 2].map { counted($0, "task") } == ["0 tasks", "1 task", "2 tasks"])
        #expect([1, 2].map { counted($0, "delivery is", "deliveries are") } == ["1 delivery is", "2 deliveries are"])
    }
}
