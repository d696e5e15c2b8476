import BellhopCore
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

    @Test func `a key says whether it is one of 32 digits`() {
        #expect(TaskKey("0123456789abcdef0123456789abcdef").isDigits)
        for text in [
            "", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeF", "0123456789abcdef0123456789abcdefg",
        ] {
            #expect(!TaskKey(text).isDigits)
        }
    }

    @Test func `keys are in the order of their texts`() {
        var random = SeededRandom(seed: 5)
        let texts =
            (0..<200).map { _ in Fingerprint(high: random.next(), low: random.next()).hex } + [
                "", "0", "a", "f", "g", "A", "~", "é", "9f",
            ]
        #expect(texts.map { TaskKey($0) }.sorted().map(\.text) == texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(texts.map { TaskKey($0) }).count == texts.count)
    }

    @Test func `keys of sources are different when their bytes are`() {
        #expect(TaskKey("e\u{301}") != TaskKey("\u{e9}"))
        #expect(MemoryLayout<TaskKey>.stride <= 24)
    }
}
