import BellhopCore
import Testing

@Suite struct QuotationTests {
    @Test func `a log line quotes the beginning of a long text, whole characters, and says how long it is`() {
        #expect("short".quoted == "short")
        let exact = String(repeating: "x", count: String.mostQuoted)
        #expect(exact.quoted == exact)
        #expect((exact + "y").quoted == exact + "… (1001 bytes)")
        #expect((exact.dropLast() + "Ü").quoted == exact.dropLast() + "… (1001 bytes)")
        #expect((exact.dropLast(2) + "😀").quoted == exact.dropLast(2) + "… (1002 bytes)")
    }
}
