import BellhopCore
import BellhopTesting
import Testing

/// Recognizing a sent text after an instance changed it.
@Suite struct TextLikenessTests {
    static let sent =
        "Dear <b>Ms Müller</b>, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567."

    @Test(arguments: [
        "Dear Ms Müller, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567.",
        "Dear <b>Ms Müller</b>, INC******* has been waiting since ****-01-05 -- it's \"urgent\"... call **** 30 *******.",
        "Dear <b>Ms Müller</b>, INCXXXXXXX has been waiting since XXXX-XX-XX -- it's \"urgent\"... call XXXX XX XXXXXXX.",
        "Dear <b>Ms Müller</b>, INC0010001 has been waiting since 2026–01–05 — it’s “urgent”… call 0049 30 1234567.",
        "Dear &lt;b&gt;Ms M&#252;ller&lt;/b&gt;, INC0010001 has been waiting since 2026-01-05 -- it&#39;s &quot;urgent&quot;... call 0049 30 1234567.",
        "Dear Ms Müller,\r\n\r\nINC0010001 has been waiting\u{A0}since 2026-01-05 it's urgent call 0049 30 1234567",
        "DEAR MS MÜLLER, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567.",
        "Dear <b>Ms Müller</b>, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... ca",
    ])
    func `a text that was stripped, masked, typeset, escaped, folded or cut is recognized as the sent one`(_ kept: String) {
        #expect(TextLikeness(Self.sent).covers(TextLikeness(kept)))
    }

    @Test(arguments: [
        "", "Dear", "Dear Ms Müller", "Another text altogether.",
        "Dear Mr Müller, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567.",
        "Dear Ms Müller, INC0010002 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567.",
        "Dear Ms Müller, INC0010001 has been waiting since 2026-01-06 -- it's \"urgent\"... call 0049 30 1234567.",
        "Dear Ms Müller, INC0010001 has been waiting since 2026-01-05 -- it's \"urgent\"... call 0049 30 1234567. Please.",
    ])
    func `a different text, a different number and a longer text are not recognized as the sent one`(_ kept: String) {
        #expect(!TextLikeness(Self.sent).covers(TextLikeness(kept)))
    }

    @Test func `the first of two reminders is not mistaken for the second`() {
        #expect(!TextLikeness("Reminder 2 of 3").covers(TextLikeness("Reminder 1 of 3")))
        #expect(TextLikeness("Reminder 2 of 3").covers(TextLikeness("Reminder * of *")))
        #expect(!TextLikeness("Reminder 2 of 3").covers(TextLikeness("")))
    }

    @Test func `a less-than sign is not a tag, and an ampersand not an entity`() {
        #expect(TextLikeness("1 < 2 & 3 > 2").covers(TextLikeness("1 < 2 & 3 > 2")) == false, "there are no letters")
        #expect(TextLikeness("a < b & c > d").covers(TextLikeness("a &lt; b &amp; c &gt; d")))
        #expect(TextLikeness("R&D; x").covers(TextLikeness("R&D; x")))
        // With the accent, the `;` is one character for Swift.
        #expect(TextLikeness("a <\u{301} b").covers(TextLikeness("a &lt;\u{301} b")))
    }

    @Test func `a part of the sent text is recognized as a part`() {
        let text = TextLikeness("One line.\n\n2026-01-05 09:00:00 - Any Name (Work notes)\nAnother.")
        #expect(text.includes(TextLikeness("Another.")))
        #expect(text.includes(TextLikeness("One line.")))
        #expect(!text.includes(TextLikeness("A third.")))
        #expect(!text.includes(TextLikeness("")))
    }

    @Test func `texts that look like many unfinished tags, or repeat one letter, are compared in linear time`() {
        let tags = String(repeating: "<a", count: 50_000)
        let letters = TextLikeness(String(repeating: "a", count: 50_000))
        let other = TextLikeness(String(repeating: "a", count: 25_000) + "b")
        let time = ThreadTime.shortest {
            #expect(TextLikeness(tags).covers(letters))
            #expect(!letters.includes(other))
        }
        #expect(time < .seconds(10))
    }
}
