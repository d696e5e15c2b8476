import BellhopRules
import Testing

@Suite struct `Changing the mode of a rule in its text` {
    static let forms: [(live: String, shadow: String)] = [
        // A rule alone.
        ("rule: r\non: x\n", "rule: r\nmode: shadow\non: x\n"),
        // In a list, with comments and other rules.
        (
            "rules:\n  - rule: q\n    on: x\n  - rule: r   # the second\n    on: x\n",
            "rules:\n  - rule: q\n    on: x\n  - rule: r   # the second\n    mode: shadow\n    on: x\n"
        ),
        // Line ends of another system.
        ("rule: r\r\non: x\r\n", "rule: r\r\nmode: shadow\r\non: x\r\n"),
        ("rule: \"r\" # ü\ndescription: ä\n", "rule: \"r\" # ü\nmode: shadow\ndescription: ä\n"),
    ]

    @Test(arguments: forms) func `a change of mode adds or removes only one line`(_ form: (live: String, shadow: String)) {
        #expect(ModeEdit.text(form.live, rule: "r", mode: .shadow) == form.shadow)
        #expect(ModeEdit.text(form.shadow, rule: "r", mode: .live) == form.live)
        #expect(ModeEdit.text(form.live, rule: "r", mode: .live) == form.live)
        #expect(ModeEdit.text(form.shadow, rule: "r", mode: .shadow) == form.shadow)
    }

    @Test(arguments: [
        ("rule: r\nmode: live # now\non: x\n", "rule: r\nmode: shadow # now\non: x\n"),
        ("rule: r\nmode: {canary: 10%}\non: x\n", "rule: r\nmode: shadow\non: x\n"),
        ("rule: r\nmode:\n  canary: 10%\n# y\non: x\n", "rule: r\nmode: shadow\n# y\non: x\n"),
        ("mode: live\nrule: r\n", "mode: shadow\nrule: r\n"),
        ("rules: [{rule: r, on: x}]\n", "rules: [{rule: r, mode: shadow, on: x}]\n"),
        ("rules: [{on: x, mode: live, rule: r}]\n", "rules: [{on: x, mode: shadow, rule: r}]\n"),
        ("rule: r\nmode:\non: x\n", "rule: r\nmode: shadow\non: x\n"),
        // Without a line end.
        ("on: x\nrule: r", "on: x\nrule: r\nmode: shadow"),
    ]) func `a written mode is replaced, and a missing mode is added`(_ text: String, _ shadow: String) {
        #expect(ModeEdit.text(text, rule: "r", mode: .shadow) == shadow)
    }

    @Test(arguments: [
        ("mode: shadow\nrule: r\n", "mode: live\nrule: r\n"),
        ("rules:\n- mode: shadow\n  rule: r\n", "rules:\n- mode: live\n  rule: r\n"),
        ("rule: r\nmode: shadow # records only\non: x\n", "rule: r\non: x\n"),
        ("{rule: r, mode: shadow}\n", "{rule: r, mode: live}\n"),
    ]) func `a rule in shadow mode becomes live`(_ text: String, _ live: String) {
        #expect(ModeEdit.text(text, rule: "r", mode: .live) == live)
    }

    @Test(arguments: ["rule: other\n", "rule: [", "", "- r\n", "# {\nrule: r\n"])
    func `a text that cannot be changed safely is not edited`(_ text: String) {
        #expect(ModeEdit.text(text, rule: "r", mode: .shadow) == nil)
    }
}
