import BellhopCore
import Testing

struct SuggestionTests {
    private static let keys = ["on", "to", "from", "when", "once", "limit", "store", "timezone", "connections", "task_created"]

    /// Up to a third of the letters may differ, and one of two letters; at least one must match.
    @Test(
        arguments: [
            ("x", nil), ("o", "on"), ("no", "on"), ("tt", "to"), ("fom", "from"), ("form", "from"), ("fxxm", nil),
            ("wehn", "when"),
            ("nope", nil), ("type", nil), ("limmit", "limit"), ("lamat", nil), ("stroe", "store"), ("score", "store"),
            ("scare", nil),
            ("time_zone", "timezone"), ("conections", "connections"), ("task_crated", "task_created"), ("source_held", nil),
            ("TIMEZONE", "timezone"), ("", nil),
        ] as [(String, String?)])
    func `the name most similar to a misspelled word is suggested`(_ written: String, _ meant: String?) {
        #expect(Suggestion.closest(to: written, among: Self.keys) == meant)
    }
}
