@testable import BellhopCore
import BellhopTesting
import Testing

struct TaskKeyTests {
    @Test(arguments: [
        "0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff", "0123456789ABCDEF0123456789abcdef", "", "42",
        "INC0010001",
        "0123456789abcdef0123456789abcdef0", "über",
    ])
    func `a key gives back its text`(_ text: String) {
        #expect(TaskKey(text).text == text)
        #expect(TaskKey(text) == TaskKey(text))
    }

    @Test func `a key knows whether it consists of 32 hexadecimal digits`() {
        #expect(TaskKey("0123456789abcdef0123456789abcdef").isDigits)
        for text in [
            "", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeF", "0123456789abcdef0123456789abcdefg",
        ] { #expect(!TaskKey(text).isDigits) }
    }

    @Test func `keys are ordered like their texts`() {
        var random = SeededRandom(seed: 5)
        let texts =
            (0..<200).map { _ in Fingerprint(high: random.next(), low: random.next()).hex } + [
                "", "0", "a", "f", "g", "A", "~", "é", "9f",
            ]
        #expect(texts.map { TaskKey($0) }.sorted().map(\.text) == texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(texts.map { TaskKey($0) }).count == texts.count)
    }

    @Test func `keys are equal only if their bytes are`() {
        #expect(TaskKey("e\u{301}") != TaskKey("\u{e9}"))
        #expect(MemoryLayout<TaskKey>.stride <= 24)
    }
}

struct TaskKeyHashTests {
    @Test func `keys chosen to collide have different hashes under a process's seed`() {
        // With fixed numbers mixed in, the hashes of all of these have the same upper half, which the lookup uses.
        let keys = (0..<1000).map { TaskKey(Fingerprint(high: 0x9e37_79b9_7f4a_7c15, low: UInt64($0)).hex) }
        let seed = KeyIndex().seed
        #expect(Set(keys.map { $0.hash(seed) >> 32 }).count > 990)
        #expect(Set(keys.map { $0.hash(Fingerprint(high: 0x9e37_79b9_7f4a_7c15, low: 0xd1b5_4a32_d192_ed03)) >> 32 }).count == 1)
        #expect(Set(keys.map { TaskKey("x" + $0.text).hash(seed) >> 32 }).count > 990)
    }

    @Test func `all indices of a process use the same seed, which cannot be predicted`() {
        #expect(KeyIndex().seed == KeyIndex(minimumCapacity: 100).seed)
        #expect(KeyIndex().seed != Fingerprint(high: 0x9e37_79b9_7f4a_7c15, low: 0xd1b5_4a32_d192_ed03))
    }
}
