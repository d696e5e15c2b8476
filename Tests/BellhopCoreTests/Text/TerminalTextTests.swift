import BellhopCore
import Testing

@Suite struct TerminalTextTests {
    /// C0 but for tab and newline, DEL, C1, the separators, and Unicode's `Bidi_Control`.
    private static let controls: [Unicode.Scalar] =
        [
            0x00...0x08, 0x0b...0x1f, 0x7f...0x9f, 0x61c...0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069,
        ].flatMap { (range: ClosedRange<UInt32>) in range.compactMap(Unicode.Scalar.init) }

    @Test func `each control is shown as a mark, in every form of text`() {
        for control in Self.controls {
            let text = "a\(control)b"
            let hex = String(control.value, radix: 16)
            #expect(TerminalText.lines(text) == "a\u{FFFD}b", "\(hex)")
            #expect(TerminalText.lines(text, keepsColours: true) == "a\u{FFFD}b", "\(hex)")
            #expect(text.visible == "a\u{FFFD}b", "\(hex)")
            #expect(text.singleLine == "a\u{FFFD}b", "\(hex)")
            #expect(TerminalText.escaping(text) { "<\(String($0.value, radix: 16))>" } == "a<\(hex)>b")
        }
    }

    @Test func `text that is no control stays, newlines and tabs where there may be several lines`() {
        let text = "Grüße, привет, שלום, 漢字 👩‍👩‍👧 e\u{301}\n\tx"
        #expect(TerminalText.lines(text) == text)
        #expect(text.visible == text.replacing("\n", with: "\u{FFFD}"))
        #expect(text.singleLine == text.replacing("\n", with: " ").replacing("\t", with: " "))
    }

    @Test func `only colours stay where colours are, and nothing else that begins as they do`() {
        let fine = "\u{1B}[1mbold\u{1B}[0m \u{1B}[31mred\u{1B}[0m"
        #expect(TerminalText.lines(fine, keepsColours: true) == fine)
        #expect(TerminalText.lines(fine) == fine.replacing("\u{1B}", with: "\u{FFFD}"))
        for other in ["\u{1B}[2J", "\u{1B}[1;31m", "\u{1B}[m", "\u{1B}[123m", "\u{1B}]0;x\u{7}", "\u{1B}", "\u{1B}["] {
            #expect(!TerminalText.lines(other, keepsColours: true).contains("\u{1B}"), "\(other.debugDescription)")
        }
    }
}
