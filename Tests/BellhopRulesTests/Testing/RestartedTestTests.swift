import BellhopCore
import BellhopRules
import Testing

@Suite struct `Restarts and times in tests` {
    /// The messages of the problems of a test file for a rule.
    private func problems(_ rule: String, _ test: String, above: String = "") -> [String] {
        Fixture.problems("\(above)tests:\n  - name: t\n\(test)", of: rule)
    }

    private static func rule(_ more: String, on: String = "[task_created, task_changed]") -> String {
        "rule: r\non: \(on)\nfrom: my-work\n\(more)\ndo: [{notify: {to: ops, title: \"${{ task.id }}\"}}]"
    }

    private static let urgent = rule("when: task.priority == 1\nfor: 2h")

    private static func created(_ id: String, priority: Int = 1) -> String {
        "      - task_created: {task: {id: \(id), number: \(id), priority: \(priority)}}\n"
    }

    private static func calmed(_ id: String) -> String {
        "      - task_changed: {task: {id: \(id), number: \(id), priority: 3}, before: {priority: 1}}\n"
    }

    @Test func `a restart keeps waits, counts, groups and the keys of once`() {
        let restart = "      - restart: true\n"
        let given = "    given:\n" + Self.created("a") + restart + "      - wait: 1h\n" + restart + "      - wait: 1h\n"
        #expect(problems(Self.urgent, given + "    expect:\n      - after: 2h\n      - notify: {title: a}\n") == [])
        let counted = Self.rule("count: {at_least: 2, within: 1h}", on: "task_created")
        let two = "    given:\n" + Self.created("a") + restart + Self.created("b") + "    expect: [{notify: {title: b}}]\n"
        #expect(problems(counted, two) == [])
        let grouped = Self.rule("group: {wait: 1h}", on: "task_created")
        let group = "    given:\n" + Self.created("a") + restart + Self.created("b") + restart + "      - wait: 1h\n"
        #expect(problems(grouped, group + "    expect: [{notify: {title: b}}]\n") == [])
        let once = Self.rule("once: task.id", on: "task_created")
        let twice = "    given:\n" + Self.created("a") + restart + Self.created("a") + "    expect: [{notify: {title: a}}]\n"
        #expect(problems(once, twice) == [])
    }

    @Test func `existing includes only tasks given before anything else, in the order of their ids`() {
        let rule = Self.rule("when: task.priority == 1\nfor: {time: 30m, existing: true}", on: "task_changed")
        let tasks = "      - tasks: [{id: b, priority: 1}, {id: a, priority: 1}, {id: c, priority: 2}]\n"
        let hour = "      - wait: 1h\n"
        let both = "    expect: [{after: 30m}, {notify: {title: a}}, {notify: {title: b}}]\n"
        #expect(problems(rule, "    given:\n" + tasks + hour + both) == [])
        #expect(problems(rule, "    given:\n      - wait: 1s\n" + tasks + hour + "    expect: []\n") == [])
    }

    @Test func `timers due while the agent was down are decided after the events of its first poll`() {
        let away =
            "    given:\n" + Self.created("a") + Self.created("b") + "      - down: 5h\n      - wait: 1h\n" + Self.calmed("b")
        let back = away + "      - wait: 9h\n"
        #expect(problems(Self.urgent, back + "    expect:\n      - after: 5h\n      - notify: {title: a}\n") == [])
        // An absence that lasts at the end of the test ends with it.
        #expect(problems(Self.urgent, away + "    expect:\n      - after: 5h\n      - notify: {title: a}\n") == [])
        // Without the absence, both ran in time.
        let there = back.replacing("      - down: 5h\n", with: "      - wait: 2h\n")
        #expect(problems(Self.urgent, there + "    expect: [{notify: {title: a}}, {notify: {title: b}}]\n") == [])
    }

    @Test func `after downtime a group does not wait for the first poll, and a schedule obeys its missed setting`() {
        let grouped = Self.rule("group: {wait: 1h}", on: "task_created")
        let given = "    given:\n" + Self.created("a") + "      - down: 3h\n" + Self.created("b") + "      - wait: 5h\n"
        #expect(
            problems(grouped, given + "    expect: [after: 3h, {notify: {title: a}}, after: 4h, {notify: {title: b}}]\n") == [])
        let hourly = "rule: r\non: {every: 1h, missed: MISSED}\ndo: [{notify: {to: ops, title: tick}}]"
        let down = "    given: [down: 3h, wait: 3h]\n"
        let one = "    expect: [after: 3h, {notify: {title: tick}}]\n"
        #expect(problems(hourly.replacing("MISSED", with: "once"), down + one) == [])
        let all = "    expect: [after: 3h, {notify: {title: tick}}, {notify: {title: tick}}, {notify: {title: tick}}]\n"
        #expect(problems(hourly.replacing("MISSED", with: "all"), down + all) == [])
    }

    @Test func `actions below an after entry must not happen before its time`() throws {
        let given = "    given:\n" + Self.created("a") + "      - wait: 3h\n"
        #expect(
            problems(Self.urgent, given + "    expect: [after: 2h1m, {notify: {title: a}}]\n") == [
                "`notify` happened 2h after the test's begin, before `after: 2h1m`"
            ])
        #expect(problems(Self.urgent, given + "    expect: [after: 1h, after: 2h, {notify: {title: a}}]\n") == [])
    }

    @Test func `the begin and the end of a silence are events, and the end counts the deliveries kept back`() {
        let rule = """
            rule: r
            on: [silence_started, silence_ended]
            do: [{log: "${{ event.type }} ${{ event.data.silence.?kept.orValue(-1) }}"}]
            ---
            rule: n
            on: task_created
            from: my-work
            do: [{notify: {to: ops, title: "${{ task.id }}"}}]
            """
        let given =
            "    silences: [{starts: 2026-01-05T09:30:00Z, ends: 2026-01-05T10:00:00Z}]\n    given:\n      - wait: 45m\n"
            + Self.created("a") + "      - wait: 10h\n"
        let expected = "      - log: {text: silence_started -1}\n      - after: 1h\n      - log: {text: silence_ended 1}\n"
        #expect(problems(rule, given + "    expect:\n      - after: 30m\n" + expected) == [])
        // A silence that passed while the agent was away is reported when it is back.
        let away = given.replacing("      - wait: 45m\n" + Self.created("a"), with: "      - down: 2h\n")
        let late =
            "    expect:\n      - after: 2h\n      - log: {text: silence_started -1}\n      - log: {text: silence_ended 0}\n"
        #expect(problems(rule, away + late) == [])
    }

    @Test func `a test file's time zone replaces that of the configuration`() {
        let title = "${{ now.format('H:mm', zone) }}"
        let rule = "rule: r\non: {schedule: \"30 10 * * *\"}\ndo: [{notify: {to: ops, title: \"\(title)\"}}]"
        let test = "    given: [wait: 1h]\n    expect: [after: 30m, {notify: {title: \"10:30\"}}]\n"
        #expect(problems(rule, test, above: "timezone: Europe/Berlin\n") == [])
        // Nine o'clock is ten in Berlin.
        #expect(problems(rule, test) != [])
        let wrong = problems(rule, test, above: "timezone: Europe/Brlin\n")
        #expect(wrong == ["unknown-time-zone: there is no time zone `Europe/Brlin`"])
    }

    @Test func `a test file's calendars replace those of the configuration`() {
        let rule = Self.rule("for: {time: 2h, calendar: office}", on: "task_created")
        let office = "calendars: {office: {timezone: UTC, days: MON-FRI, hours: \"10:00-11:00\", holidays: [2026-01-06]}}\n"
        let given = "    given:\n" + Self.created("a") + "      - wait: 7d\n"
        // Monday and, after the holiday, Wednesday.
        let expected = "    expect: [after: 50h, {notify: {title: a}}]\n"
        #expect(problems(rule, given + expected, above: office) == [])
        // Without them, the configuration's office decides.
        #expect(problems(rule, given + expected) != [])
        #expect(
            problems(rule, given + expected, above: office.replacing("10:00-11:00", with: "10:00-10:00")).first?
                .hasPrefix("bad-hours") == true)
        #expect(
            problems(rule, given + expected, above: office.replacing("2026-01-06", with: "none.ics")).first
                == "missing-file: the file `rules/none.ics` of calendar `office` does not exist")
    }

    @Test(arguments: [
        ("    given: [restart: false]\n    expect: []\n", "wrong-value: `restart` is always `true`"),
        ("    given: [down: 0s]\n    expect: []\n", "too-small: `0s` is below the minimum of `down`"),
        ("    given: []\n    expect: [after: 1h]\n", "wrong-value: nothing follows this `after`"),
        (
            "    given: []\n    expect: [after: 2h, {notify: {}}, after: 1h, {notify: {}}]\n",
            "time-goes-on: the entries before this one are expected after 2h"
        ),
        (
            "    given: []\n    expect: [{after: 2h, notify: {}}, {notify: {}}]\n",
            "unknown-key: `after` and `notify` are separate entries"
        ),
        (
            "    given: [wait: 2h, at: 2026-01-05T10:00:00Z]\n    expect: []\n",
            "time-goes-on: the time of the test is already 2026-01-05T11:00:00Z"
        ),
    ])
    func `a mistake in a time is reported`(_ test: String, _ expected: String) {
        let found = problems(Self.urgent, test)
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }
}
