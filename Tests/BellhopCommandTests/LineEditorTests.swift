import Testing

@testable import bellhop

@Suite struct LineEditorTests {
    /// Types bytes as a terminal sends them and returns the line, with `|` at the cursor.
    private func typed(_ bytes: String, history: [String] = []) -> String {
        var editor = LineEditor(history: history)
        _ = press(bytes, on: &editor)
        return shown(editor)
    }

    private func press(_ bytes: String, on editor: inout LineEditor) -> [LineEditor.Effect] {
        var keys = KeyReader()
        return bytes.utf8.compactMap { keys.read($0) }.map { editor.press($0) }.filter { $0 != .redraw }
    }

    private func shown(_ editor: LineEditor) -> String {
        String(editor.characters[..<editor.cursor]) + "|" + String(editor.characters[editor.cursor...])
    }

    @Test(arguments: [
        ("task", "task|"), ("task\u{7F}", "tas|"), ("\u{7F}a", "a|"), ("ab\u{1B}[DX", "aX|b"), ("ab\u{1B}[D\u{1B}[3~", "a|"),
        ("ab\u{01}X", "X|ab"), ("ab\u{1B}[H\u{1B}[FX", "abX|"), ("ab\u{1B}OH\u{1B}OFX", "abX|"), ("ab\u{01}\u{1B}[CX", "aX|b"),
        ("task.number == 1\u{1B}b\u{1B}b", "task.|number == 1"), ("task.number\u{01}\u{1B}f", "task|.number"),
        ("task.number\u{1B}[1;5D", "task.|number"), ("task.number\u{17}", "task.|"), ("abc\u{02}\u{02}\u{0B}", "a|"),
        ("abc\u{02}\u{15}", "|c"), ("abc\u{02}\u{04}", "ab|"), ("äöü\u{02}\u{7F}", "ä|ü"), ("e\u{301}x\u{7F}\u{7F}", "|"),
        ("a\u{1B}[15~b\u{1B}[200~c", "abc|"), ("日本\u{1B}[D", "日|本"), ("a\u{1B}\u{1B}[D", "|a"),
    ])
    func `keys edit the line`(_ bytes: String, _ wanted: String) { #expect(typed(bytes) == wanted) }

    @Test func `the arrow keys walk the history and return to the line being typed`() {
        #expect(typed("\u{1B}[A", history: ["one", "two"]) == "two|")
        #expect(typed("\u{1B}[A\u{1B}[A\u{1B}[A", history: ["one", "two"]) == "one|")
        #expect(typed("draft\u{10}\u{10}\u{0E}\u{0E}\u{0E}", history: ["one", "two"]) == "draft|")
        var editor = LineEditor()
        #expect(press("a\r\u{1B}[Ab\n", on: &editor) == [.submit("a"), .submit("ab")])
        _ = press("\u{1B}[A\u{1B}[A", on: &editor)
        #expect(shown(editor) == "a|")
    }

    @Test func `control C discards the line, and control D ends the input on an empty line`() {
        var editor = LineEditor()
        #expect(press("abc\u{03}", on: &editor) == [.abandon])
        #expect(shown(editor) == "|")
        #expect(press("\u{04}", on: &editor) == [.end])
        #expect(press("tas\t", on: &editor) == [.complete("tas")])
        editor.insert("k")
        #expect(shown(editor) == "task|")
    }

    @Test func `Esc is a key if no byte follows in time, and the next key is read as usual`() {
        var keys = KeyReader()
        #expect(keys.read(0x1B) == nil && keys.mayBeEscape)
        #expect(keys.end() == .escape && !keys.mayBeEscape && keys.end() == nil)
        #expect(keys.read(UInt8(ascii: "p")) == .text("p"))
        // The Esc of an arrow key is not a key of its own.
        #expect([0x1B, UInt8(ascii: "["), UInt8(ascii: "A")].compactMap { keys.read($0) } == [.up] && keys.end() == nil)
    }

    @Test func `bytes that are not UTF-8 are ignored`() {
        var keys = KeyReader()
        let bytes: [UInt8] = [0xC3, 0x61, 0xFF, 0xE2, 0x82, 0xAC, 0x80, 0x62]
        #expect(bytes.compactMap { keys.read($0) } == [.text("a"), .text("€"), .text("b")])
    }

    @Test func `a long line shows the part around the cursor`() {
        var editor = LineEditor()
        editor.insert("0123456789")
        #expect(editor.window(columns: 20) == ("0123456789", 10))
        #expect(editor.window(columns: 6) == ("56789", 5))
        _ = editor.press(.home)
        #expect(editor.window(columns: 6) == ("01234", 0))
        var wide = LineEditor()
        wide.insert("日本語")
        #expect(wide.window(columns: 6) == ("本語", 4))
    }

    @Test func `completions are listed in columns, read downwards`() {
        #expect(LinePrompt.columns(["a", "bb", "ccc", "d", "e"], width: 10) == "a    d\nbb   e\nccc")
        #expect(LinePrompt.columns(["long"], width: 2) == "long")
    }
}
