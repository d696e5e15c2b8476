import BellhopCore
import BellhopRules
import Testing

@Suite struct `Silences in tests` {
    private static let rule = "rule: r\non: task_created\nfrom: my-work\ndo: [{notify: {to: ops, title: \"${{ task.id }}\"}}]"

    private func problems(_ test: String) -> [String] { Fixture.problems("tests:\n  - name: t\n\(test)", of: Self.rule) }

    private static func event(_ id: String) -> String { "      - task_created: {task: {id: \(id), number: \(id)}}\n" }

    @Test func `messages that a silence keeps back are not expected, and the silence ends at its exact time`() {
        let given =
            "    silences: [{starts: 2026-01-05T09:00:00Z, ends: 2026-01-05T10:00:00Z}]\n    given:\n" + Self.event("a")
            + "      - at: 2026-01-05T09:59:59Z\n" + Self.event("b") + "      - wait: 1s\n" + Self.event("c")
        #expect(problems(given + "    expect: [{notify: {title: c}}]\n") == [])
        #expect(problems(given + "    expect: []\n") == ["`notify` happened but was not expected"])
    }

    @Test func `the times of a test without an offset are in the time zone of the rules`() {
        let times = "at: 2026-01-05 07:59\n    silences: [{starts: 2026-01-05 08:00, ends: \"2026-01-05T09:00\"}]\n"
        let given =
            "    given:\n      - at: 2026-01-05T06:59:30Z\n" + Self.event("a") + "      - at: 2026-01-05 08:00:00\n"
            + Self.event("b")
        let test = "  - name: t\n    \(times)\(given)      - at: 2026-01-05T08:00:00Z\n\(Self.event("c"))"
        let expect = "    expect: [{notify: {title: a}}, {notify: {title: c}}]\n"
        #expect(Fixture.problems("timezone: Europe/Berlin\ntests:\n\(test)\(expect)", of: Self.rule) == [])
    }

    @Test func `a test can demand that a message is kept back`() {
        let given =
            "    given:\n" + Self.event("a") + "      - silence: {for: 1h, when: task.id == 'b'}\n" + Self.event("b")
            + Self.event("c")
        let a = "      - notify: {title: a}\n"
        let b = "      - notify: {title: b}\n        silenced: true\n"
        let c = "      - notify: {title: c}\n"
        #expect(problems(given + "    expect:\n" + a + b + c) == [])
        #expect(problems(given + "    expect:\n" + a + c) == [])
        let wrong = a + "      - notify: {title: c}\n        silenced: true\n"
        #expect(problems(given + "    expect:\n" + wrong) == ["no silence keeps `notify` back"])
        #expect(problems(given + "    expect:\n" + a + b + "      - notify: {title: b}\n") == ["`title` is not \"b\""])
    }

    @Test(arguments: [
        (
            "    silences: [{starts: 2026-01-05T09:00:00Z, ends: 2026-01-05T08:00:00Z}]\n",
            "wrong-value: `ends` is not after `starts`"
        ),
        ("    silences: [{starts: 2026-01-05T09:00:00Z}]\n", "missing-key: `silences` needs `ends`"),
        ("    given: [{silence: {for: 1h, when: task.nmber == 'x'}}]\n", "unknown-field: no field `nmber` on a task"),
        ("    given: [{silence: {for: 1h, rules: [q]}}]\n", "unknown-rule: there is no rule `q` in this test"),
    ])
    func `a mistake in a silence is reported`(_ given: String, _ expected: String) {
        let found = problems(given + "    expect: []\n")
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }
}
