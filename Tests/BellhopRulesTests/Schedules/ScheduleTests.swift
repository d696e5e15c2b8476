import BellhopCore
import BellhopRules
import Testing

@Suite struct ScheduleTests {
    private static func book(_ on: String) throws -> RuleBook {
        try Fixture.book("rule: r\non: {\(on)}\ndo: [{log: \"${{ event.data.due }}\"}]")
    }

    private static func at(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    /// The due times that a timer reports, each with the number of missed ones, and the next due time.
    private static func fire(_ on: String, due: String, at now: String) throws -> String {
        let firing = try book(on).fire("r", due: try at(due), at: try at(now))
        let events = firing.events.map { "\($0.data["due"]?.asString ?? "") -\($0.data["missed"]?.asInt ?? 0)" }
        return (events + ["then \(firing.next?.rfc3339 ?? "never")"]).map { $0.replacing(":00.000000Z", with: "Z") }.joined(
            separator: ", ")
    }

    @Test(arguments: [
        // On time, and late by a moment.
        (
            #"schedule: "30 8 * * *""#, "2026-01-05T08:30:00Z", "2026-01-05T08:30:00Z",
            "2026-01-05T08:30Z -0, then 2026-01-06T08:30Z"
        ),
        (
            #"schedule: "30 8 * * *", missed: skip"#, "2026-01-05T08:30:00Z", "2026-01-05T08:30:59Z",
            "2026-01-05T08:30Z -0, then 2026-01-06T08:30Z"
        ),
        // After three days.
        (
            #"schedule: "30 8 * * *""#, "2026-01-05T08:30:00Z", "2026-01-08T12:00:00Z",
            "2026-01-08T08:30Z -3, then 2026-01-09T08:30Z"
        ),
        (#"schedule: "30 8 * * *", missed: skip"#, "2026-01-05T08:30:00Z", "2026-01-08T12:00:00Z", "then 2026-01-09T08:30Z"),
        (
            #"schedule: "30 8 * * *", missed: all"#, "2026-01-05T08:30:00Z", "2026-01-07T12:00:00Z",
            "2026-01-05T08:30Z -0, 2026-01-06T08:30Z -0, 2026-01-07T08:30Z -0, then 2026-01-08T08:30Z"
        ),
        // An interval keeps its step.
        ("every: 15m", "2026-01-05T08:07:00Z", "2026-01-05T08:07:01Z", "2026-01-05T08:07Z -0, then 2026-01-05T08:22Z"),
        ("every: 15m", "2026-01-05T08:07:00Z", "2026-01-05T09:00:00Z", "2026-01-05T08:52Z -3, then 2026-01-05T09:07Z"),
        // Exactly a hundred intervals later.
        (
            "every: 113s", "2026-01-05T08:00:00Z", "2026-01-05T11:08:20Z",
            "2026-01-05T11:08:20.000000Z -100, then 2026-01-05T11:10:13.000000Z"
        ),
        ("every: 15m, missed: skip", "2026-01-05T08:07:00Z", "2026-01-05T09:00:00Z", "then 2026-01-05T09:07Z"),
        // Not due yet, as after the clock was set back.
        ("every: 15m", "2026-01-05T08:07:00Z", "2026-01-05T08:00:00Z", "then 2026-01-05T08:07Z"),
        // In the skipped hour: 02:30 does not exist, so it is due once, at 03:00 summer time.
        (
            #"schedule: "30 2 * * *", timezone: Europe/Berlin"#, "2026-03-28T01:30:00Z", "2026-03-28T01:30:00Z",
            "2026-03-28T01:30Z -0, then 2026-03-29T01:00Z"
        ),
        (
            #"schedule: "30 2 * * *", timezone: Europe/Berlin"#, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z",
            "2026-03-29T01:00Z -0, then 2026-03-30T00:30Z"
        ),
        // In the repeated hour: due the first time only.
        (
            #"schedule: "30 2 * * *", timezone: Europe/Berlin"#, "2026-10-25T00:30:00Z", "2026-10-25T01:45:00Z",
            "2026-10-25T00:30Z -0, then 2026-10-26T01:30Z"
        ),
        // The digest at 8:30 stays at 8:30 local time.
        (
            #"schedule: "30 8 * * MON-FRI", timezone: Europe/Berlin"#, "2026-03-27T07:30:00Z", "2026-03-27T07:30:00Z",
            "2026-03-27T07:30Z -0, then 2026-03-30T06:30Z"
        ),
    ])
    func `a timer reports the due times and the next due time`(_ on: String, _ due: String, _ now: String, _ expected: String)
        throws
    {
        #expect(try Self.fire(on, due: due, at: now) == expected)
    }

    @Test func `after years, at most a thousand missed times are reported one by one, and the others are counted`() throws {
        let firing = try Self.book("every: 1m, missed: all").fire(
            "r", due: try Self.at("2020-01-01T00:00:00Z"), at: Fixture.start)
        #expect(firing.events.count == 1000)
        let minutes = Int((Fixture.start - (try Self.at("2020-01-01T00:00:00Z"))) / .seconds(60))
        #expect(Self.covered(firing) == minutes + 1)
        let due = try Self.at("2025-12-01T00:00:00Z")
        let cron = try Self.book(#"schedule: "*/5 * * * *", missed: all"#).fire("r", due: due, at: Fixture.start)
        #expect(cron.events.count == 1000)
        #expect(Self.covered(cron) == 35 * 288 + 9 * 12 + 1)
    }

    /// The number of due times that a firing covers, with the counted ones.
    private static func covered(_ firing: Routing) -> Int {
        var sum = 0
        for event in firing.events { sum += 1 + Int(event.data["missed"]?.asInt ?? 0) }
        return sum
    }

    @Test func `a schedule's event goes only to its own rule, and each due time is one event`() throws {
        let book = try Fixture.book(
            "rule: a\non: {every: 1h}\ndo: [{log: \"${{ event.data.due }}\"}]\n---\nrule: b\non: {every: 1h}\ndo: [{log: b}]")
        let firing = book.fire("a", due: Fixture.start, at: Fixture.start + .seconds(5))
        let again = book.fire("a", due: Fixture.start, at: Fixture.start + .seconds(6))
        #expect(firing.events.map(\.id) == again.events.map(\.id))
        #expect(
            book.route(firing.events).deliveries.map(\.line) == [
                #"a/0 log → log: {"level":"info","text":"2026-01-05T09:00:00.000000Z"}"#
            ])
    }

    @Test func `the timer of a removed rule ends`() throws {
        let firing = try Self.book("every: 1h").fire("gone", due: Fixture.start, at: Fixture.start)
        #expect(firing.fired.count == 1 && firing.timers.isEmpty && firing.events.isEmpty)
    }

    @Test func `a timer is identified by its schedule and its zone`() throws {
        func text(_ on: String) throws -> String? { try Self.book(on).registrations(at: Fixture.start)[0].schedule?.text }
        #expect(try text(#"schedule: "30 8 * * *""#) == "30 8 * * * UTC")
        #expect(try text(#"schedule: "30 8 * * *", timezone: Europe/Berlin"#) == "30 8 * * * Europe/Berlin")
        #expect(try text("every: 90m") == "every 1h30m")
        #expect(try text("every: 90m, missed: all") == "every 1h30m")
        #expect(try Self.book("every: 90m").registrations(at: Fixture.start)[0].schedule?.next == Fixture.start + .seconds(5400))
    }
}
