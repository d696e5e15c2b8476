import BellhopCore
import Testing

struct SuggestionTests {
    private static let keys = ["on", "to", "from", "when", "once", "limit", "store", "timezone", "connections", "task_created"]

    /// A third of the letters may be off, and one of two; something must be as it was.
    @Test(
        arguments: [
            ("x", nil), ("o", "on"), ("no", "on"), ("tt", "to"), ("fom", "from"), ("form", "from"), ("fxxm", nil),
            ("wehn", "when"),
            ("nope", nil), ("type", nil), ("limmit", "limit"), ("lamat", nil), ("stroe", "store"), ("score", "store"),
            ("scare", nil),
            ("time_zone", "timezone"), ("conections", "connections"), ("task_crated", "task_created"), ("source_held", nil),
            ("TIMEZONE", "timezone"), ("", nil),
        ] as [(String, String?)])
    func `a word is suggested where it is near to what was written`(_ written: String, _ meant: String?) {
        #expect(Suggestion.closest(to: written, among: Self.keys) == meant)
    }
}
