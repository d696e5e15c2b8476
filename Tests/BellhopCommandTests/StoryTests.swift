import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@testable import bellhop

/// The lines of `bellhop run` on a terminal.
@Suite struct StoryTests {
    private static let start = Timestamp(seconds: 1_767_598_517)  // 2026-01-05T07:35:17Z

    private func printed(_ body: (Story) -> Void) -> [String] {
        let lines = Recording<String>()
        let zone = TimeZoneTable(name: "Europe/Berlin", posix: "CET-1CEST,M3.5.0,M10.5.0/3") ?? .utc
        let story = Story(
            clock: TestClock(at: Self.start), zone: zone, showsIDs: true, isColoured: false, print: { lines.add($0) })
        body(story)
        return lines.all
    }

    private static let task = Snapshot(key: "a1", number: "INC0010001", title: "Printer on fire", fields: ["priority": 2])

    private static func event(_ type: EventType, _ data: JSON.Object) -> Event {
        Event(id: Event.ID("0123456789abcdef0123"), type: type, source: "my-work", subject: "acme/a1", time: start, data: data)
    }

    @Test func `a change is shown with the zone's time, the changes, and a short id`() {
        let event = Self.event(
            .taskChanged, ["task": Self.task.json(source: "my-work"), "changes": ["priority": ["from": 3, "to": 2]]])
        #expect(
            printed { $0.report(.event(event)) } == [
                "08:35:17  event     task_changed  my-work: INC0010001 priority: 3 → 2  0123456789ab"
            ])
    }

    @Test(arguments: [
        ("a", "a"), ("", "\"\""), ("a \"b\"", "\"a 'b'\""),
        // With the accent, the blank and the quotation mark are other characters for Swift.
        ("a\" \u{301}b=\"\u{301}1", "\"a' \u{301}b='\u{301}1\""),
    ])
    func `a fact with blanks is quoted in a line of the log`(_ fact: String, _ shown: String) {
        #expect(Array(fact.quotedIfNeeded.utf8) == Array(shown.utf8))
    }

    @Test func `a refused rule is shown as check shows it`() {
        let problem = Diagnostic(
            code: "unknown-field", "no field `pririty`",
            at: Diagnostic.Place(file: "rules/a.yaml", line: 4, column: 7, length: 3, excerpt: "when: x.y"), help: "look")
        let lines = printed {
            $0.report(.rulesRefused(problems: 1))
            $0.report(.ruleRefused(problem))
        }
        #expect(lines.count == 2)
        #expect(lines[0] == "08:35:17  rules     the changed rules have a mistake; the old ones stay in force:")
        #expect(lines[1] == problem.rendered())
    }

    @Test func `a title of a megabyte is quoted only at its beginning`() {
        var task = Self.task
        task.title = String(repeating: "Ü", count: 1 << 19)
        let lines = printed { $0.report(.event(Self.event(.taskCreated, ["task": task.json(source: "my-work")]))) }
        #expect(lines.count == 1 && lines[0].utf8.count < 2000 && lines[0].contains("ÜÜ… ("), "\(lines[0].utf8.count) bytes")
    }

    @Test func `a recovered source is not shown as failing`() {
        let event = Self.event(
            .sourceRecovered, ["source": "my-work", "error": "No way there.", "since": "2026-01-05T07:30:00Z"])
        #expect(
            printed { $0.report(.event(event)) } == [
                "08:35:17  event     source_recovered  my-work: works again; it had failed since 2026-01-05 08:30:00 (No way there.)  0123456789ab"
            ])
    }

    @Test func `a comment is shown with its author and text`() {
        let event = Self.event(
            .taskCommented,
            [
                "task": Self.task.json(source: "my-work"),
                "comment": ["author": "Ada Lovelace", "text": "Any news?", "own": false],
            ])
        #expect(
            printed { $0.report(.event(event)) } == [
                "08:35:17  event     task_commented  my-work: INC0010001 Ada Lovelace: Any news?  0123456789ab"
            ])
    }

    @Test func `retries and final failures have different words, and a recovered source is reported`() {
        let failure = Failure(.unreachable, .retry(after: nil), "No way there.")
        let lines = printed {
            $0.report(.pollFailed(source: "my-work", failure: failure, failures: 2, next: Self.start))
            $0.report(.recovered(source: "my-work", failures: 2, since: Self.start))
            $0.report(.retrying(Self.delivery, failure, attempt: 2, at: Self.start))
            $0.report(.dead(Self.delivery, Failure(.goneOrHidden, .giveUp, "It is gone.")))
        }
        #expect(
            lines == [
                "08:35:17  failing   my-work: No way there. Next poll 08:35:17.",
                "08:35:17  fine      my-work: works again, after 2 polls that failed since 08:35:17",
                "08:35:17  retrying  log to log: No way there. Next try 08:35:17.  \(Self.delivery.shortID)",
                "08:35:17  dead      log to log: It is gone.  \(Self.delivery.shortID)",
            ])
    }

    private static let delivery = Delivery(
        id: Delivery.ID(occasion: Occasion.event(Event.ID("e")).id, rule: "r", step: StepPath(index: 0), receiver: "log"),
        revision: "", action: "log", arguments: .values([:]), task: nil, lane: "", createdAt: start)

    @Test func `stopping is shown in one line, and only if deliveries are in flight`() {
        #expect(printed { $0.report(.stopping(inFlight: 0)) }.isEmpty)
        #expect(printed { $0.report(.stopping(inFlight: 2)) } == ["08:35:17  bellhop   Finishing what is in flight…"])
    }
}
