import BellhopCore
import Testing

@Suite struct QuotationTests {
    @Test func `a long text is quoted up to a whole character, with its length`() {
        #expect("short".quoted == "short")
        let exact = String(repeating: "x", count: String.maxQuoted)
        #expect(exact.quoted == exact)
        #expect((exact + "y").quoted == exact + "… (1001 bytes)")
        #expect((exact.dropLast() + "Ü").quoted == exact.dropLast() + "… (1001 bytes)")
        #expect((exact.dropLast(2) + "😀").quoted == exact.dropLast(2) + "… (1002 bytes)")
    }
}
