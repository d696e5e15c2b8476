import BellhopCore
import Testing

@testable import YAML

/// Texts damaged at random, from a fixed seed.
@Suite struct MutationTests {
    static let seeds = [
        "rule: a\non: [x, y]\nwhen: a ? b : c\ndo:\n  - log: {text: \"${{ a }}\", level: 'x'}\n  - comment: |2-\n      hällo\n\n    x\n",
        "a: &x [1, 2]\nb: *x\n? c\n: >+\n  d\n\n  e\n...\n---\n- - \"\\u00e9\\\n  f\"\n  - 'g''\n\n  h'\n# i\n",
        "%YAML 1.2\n---\n!!map {a: !!str b, \"c\": {d: [e, {f: g}]}, 👍: ü}\r\n...\r\n--- |\r\n x\r\n  y\r\n",
    ].map { Array($0.utf8) }

    static let tokens = [
        "\t", " ", "\n", "\r\n", ": ", " #", "'", "\"", "[", "]", "{", "}", ",", "- ", "? ", "!", "&a ", "*a", "|", ">", "%", "@",
        "`", "\\", "---\n", "...\n", "${{", "}}", "ä", "\u{2028}", "\u{FEFF}", "\0", "<<: ", "~", "  ", "|3\n", ">-\n",
    ].map { Array($0.utf8) }

    @Test(arguments: 0..<8) func `a damaged text causes no trap, and every value read is found at its place`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<600 {
            var bytes = Self.seeds[random.below(Self.seeds.count)]
            for _ in 0...random.below(5) { damage(&bytes, &random) }
            check(bytes)
        }
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        let place = random.below(bytes.count + 1)
        switch random.below(4) {
        case 0: bytes.insert(contentsOf: Self.tokens[random.below(Self.tokens.count)], at: place)
        case 1 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + random.below(8)))
        default: bytes.insert(contentsOf: bytes[..<place].suffix(random.below(12)), at: random.below(bytes.count + 1))
        }
    }

    private func check(_ bytes: [UInt8]) {
        let source = SourceText(bytes)
        do throws(YAMLErrors) {
            for document in try YAML.parse(source) { check(document.root) }
        } catch {
            #expect(!error.errors.isEmpty)
            for fault in error.errors {
                #expect(fault.range.end.offset <= bytes.count && fault.range.start <= fault.range.end, "\(bytes)")
                #expect(fault.position == source.position(ofOffset: fault.position.offset) || fault.code == .notUTF8, "\(bytes)")
            }
        }
    }

    private func check(_ node: Node) {
        let source = node.source
        #expect(node.range.start == source.position(ofOffset: node.range.start.offset))
        #expect(node.range.end == source.position(ofOffset: node.range.end.offset))
        switch node.content {
        case .scalar(let scalar):
            let places = ScalarPlaces(scalar, node.range, in: source)
            #expect(String(decoding: places.bytes, as: UTF8.self) == scalar.text, "\(source.bytes)")
            _ = node.cutByComment()
        case .sequence(let items): for item in items { check(item) }
        case .mapping(let mapping):
            for pair in mapping {
                check(pair.key)
                check(pair.value)
            }
        }
    }
}

extension SeededRandom {
    fileprivate mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &self) }
}
