import BellhopCore
import Testing

@Suite struct TerminalTextTests {
    /// C0 except tab and newline, DEL, C1, the separators, Unicode's `Bidi_Control`, and invisible characters.
    private static let controls: [Unicode.Scalar] =
        [
            0x00...0x08, 0x0b...0x1f, 0x7f...0x9f, 0x61c...0x61c, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f,
            0xad...0xad, 0x34f...0x34f, 0x115f...0x1160, 0x180b...0x180f, 0x3164...0x3164, 0xfe00...0xfe0f, 0xfeff...0xfeff,
            0xffa0...0xffa0, 0xfff9...0xfffb, 0xe0001...0xe007f, 0xe0100...0xe01ef,
        ].flatMap { (range: ClosedRange<UInt32>) in range.compactMap(Unicode.Scalar.init) }

    @Test func `each control character is replaced by a mark, in every form of text`() {
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

    @Test func `text without control characters is unchanged, with newlines and tabs where several lines are allowed`() {
        let text = "Grüße, привет, שלום, 漢字 👩‍👩‍👧 e\u{301}\n\tx"
        #expect(TerminalText.lines(text) == text)
        #expect(text.visible == text.replacing("\n", with: "\u{FFFD}"))
        #expect(text.singleLine == text.replacing("\n", with: " ").replacing("\t", with: " "))
    }

    @Test func `joiners are kept only in emoji and in scripts that need them`() {
        let fine = "👩‍👩‍👧 ❤️ می‌خواهم क्‍ष"
        #expect(TerminalText.lines(fine) == fine && fine.visible == fine && TerminalText.escaping(fine) { _ in "!" } == fine)
        #expect("pass\u{200D}word".visible == "pass\u{FFFD}word")
        #expect(TerminalText.lines("\u{200D}x\u{FE0F}") == "\u{FFFD}x\u{FFFD}")
        #expect("\u{1B}\u{200D}".visible == "\u{FFFD}\u{FFFD}", "a joiner after a replaced control is replaced too")
    }

    @Test func `control characters in JSON are escaped as code units`() throws {
        for scalar: Unicode.Scalar in ["\u{9b}", "\u{200b}", "\u{e0041}"] {
            let escaped = TerminalText.escaping("\"a\(scalar)b\"", TerminalText.jsonEscape)
            #expect(escaped.utf8.allSatisfy { $0 < 0x80 })
            #expect(try JSON.parse(escaped) == .string("a\(scalar)b"))
        }
        #expect(TerminalText.jsonEscape("\u{e0041}") == "\\udb40\\udc41")
    }

    @Test func `a coloured diagnostic keeps its colours`() {
        let place = Diagnostic.Place(file: "rules/page.yaml", line: 4, column: 12)
        for severity in [Diagnostic.Severity.error, .warning] {
            let text = Diagnostic(
                severity, code: "unknown-field", "no field `pririty`", at: place, help: "did you mean `priority`?"
            )
            .rendered(colour: true)
            #expect(text.contains("\u{1B}["))
            #expect(TerminalText.lines(text, keepsColours: true) == text)
        }
    }

    @Test func `only the escape sequences for colours are kept`() {
        let fine = "\u{1B}[1mbold\u{1B}[0m \u{1B}[31mred\u{1B}[0m"
        #expect(TerminalText.lines(fine, keepsColours: true) == fine)
        #expect(TerminalText.lines(fine) == fine.replacing("\u{1B}", with: "\u{FFFD}"))
        for other in ["\u{1B}[2J", "\u{1B}[1;31m", "\u{1B}[m", "\u{1B}[123m", "\u{1B}]0;x\u{7}", "\u{1B}", "\u{1B}["] {
            #expect(!TerminalText.lines(other, keepsColours: true).contains("\u{1B}"), "\(other.debugDescription)")
        }
    }
}
