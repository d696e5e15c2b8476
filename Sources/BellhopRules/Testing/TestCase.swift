import BellhopCore
import YAML

/// A test of rules as read.
struct TestCase: Sendable {
    var name: String
    var line: Int
    /// The rules that run.
    var book: RuleBook
    var start: Timestamp
    var given: [Step]
    var silences: [Silence] = []
    var expected: [Expectation]
    /// The place of `expect`, to report unexpected actions.
    var expectPlace: Diagnostic.Place

    /// Something that happens.
    enum Step: Sendable {
        case event(EventType, source: String, subject: String, data: JSON.Object, hop: Int, place: Diagnostic.Place)
        case until(Timestamp)
        case wait(Duration)
        /// A silence that begins now; its times are set when the step is taken.
        case silence(Silence, Duration)
        case tasks([Scope.ID: [Snapshot]])
        /// The agent starts again, with what it stored.
        case restart
        /// The agent is down for this long.
        case down(Duration)
    }

    /// An expected action, with the arguments that the test names.
    struct Expectation: Sendable {
        var kind: String
        var arguments: JSON.Object
        var rule: String?
        /// Nil: not dead; empty: dead for any reason.
        var dead: String?
        var isSilenced = false
        var isQuiet = false
        var isKeptBack: Bool { isSilenced || isQuiet }
        /// How long after the test's begin it happens at the earliest.
        var earliest: Duration?
        var place: Diagnostic.Place
        /// The places of the arguments and of everything in them, by their paths: `sections[1].list[0]`.
        var places: [String: Diagnostic.Place]

        /// The place of an argument or a part of it, or else of what it would be in.
        func place(of path: String) -> Diagnostic.Place {
            var path = path[...]
            while let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) {
                if let place = places[String(path)] { return place }
                path = path[..<end]
            }
            return places[String(path)] ?? place
        }
    }
}
