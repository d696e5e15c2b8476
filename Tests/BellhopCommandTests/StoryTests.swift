import BellhopCore
import BellhopEngine
import BellhopTesting
import Synchronization
import Testing

@testable import bellhop

/// What `bellhop run` says on a terminal.
@Suite struct StoryTests {
    private static let start = Timestamp(seconds: 1_767_598_517)  // 2026-01-05T07:35:17Z

    private func told(_ body: (Story) -> Void) -> [String] {
        let lines = Lines()
        let zone = TimeZoneTable(name: "Europe/Berlin", posix: "CET-1CEST,M3.5.0,M10.5.0/3") ?? .utc
        let story = Story(
            clock: TestClock(at: Self.start), zone: zone, showsIDs: true, isColoured: false, print: { lines.add($0) })
        body(story)
        return lines.all
    }

    private static let task = Snapshot(key: "a1", number: "INC0010001", title: "Printer on fire", fields: ["priority": 2])

    private static func event(_ type: EventType, _ data: JSON.Object) -> Event {
        Event(
            id: Event.ID("0123456789abcdef0123"), type: type, source: "my-work", subject: "acme/a1", time: start, data: data)
    }

    @Test func `a change is told with the time of the zone, what changed, and a short id`() {
        let event = Self.event(
            .taskChanged, ["task": Self.task.json(source: "my-work"), "changes": ["priority": ["from": 3, "to": 2]]])
        #expect(told { $0.tell(.event(event)) } == ["08:35:17  event     task_changed  INC0010001 priority: 3 → 2  0123456789ab"])
    }

    @Test func `a refused rule is shown as check shows it`() {
        let problem = Diagnostic(
            code: "unknown-field", "no field `pririty`",
            at: Diagnostic.Place(file: "rules/a.yaml", line: 4, column: 7, length: 3, excerpt: "when: x.y"), help: "look")
        let lines = told {
            $0.tell(.rulesRefused(problems: 1))
            $0.tell(.ruleRefused(problem))
        }
        #expect(lines.count == 2)
        #expect(lines[0] == "08:35:17  rules     the changed rules have a mistake; the old ones stay in force:")
        #expect(lines[1] == problem.rendered())
    }

    @Test func `a source that works again is not told as if it failed`() {
        let event = Self.event(
            .sourceRecovered, ["source": "my-work", "error": "No way there.", "since": "2026-01-05T07:30:00Z"])
        #expect(
            told { $0.tell(.event(event)) } == [
                "08:35:17  event     source_recovered  works again; it failed since 2026-01-05T08:30:00+01:00 (No way there.)  0123456789ab"
            ])
    }

    @Test func `stopping is one line, and only where something is in flight`() {
        #expect(told { $0.tell(.stopping(inFlight: 0)) }.isEmpty)
        #expect(told { $0.tell(.stopping(inFlight: 2)) } == ["08:35:17  bellhop   Finishing what is in flight…"])
    }
}

/// Lines that were printed; a class over a mutex, because a story may be told from anywhere.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}
