import BellhopCore
import BellhopRules
import Testing

@Suite struct `Quiet times in tests` {
    private static let rule = """
        rule: r
        on: task_created
        from: my-work
        quiet: {hours: "22:00-07:00", except: task.priority == 1}
        do: [{notify: {to: ops, title: "${{ task.number }}"}}]
        """

    private func problems(_ test: String) -> [String] {
        Fixture.problems("tests:\n  - name: t\n    at: 2026-01-05T21:59:59Z\n    given:\n\(test)", of: Self.rule)
    }

    private static func event(_ id: String, priority: Int = 3) -> String {
        "      - task_created: {task: {id: \(id), number: \(id), priority: \(priority)}}\n"
    }

    @Test func `held messages are expected at the time of their release, several as one message`() {
        let given =
            Self.event("a") + "      - wait: 1s\n" + Self.event("b") + Self.event("c") + Self.event("d", priority: 1)
            + "      - task_removed: {task: {id: b, number: b}, reason: closed}\n"
        let before = "      - notify: {title: a}\n      - notify: {title: d}\n"
        #expect(problems(given + "      - at: 2026-01-06T06:59:59Z\n    expect:\n" + before) == [])
        let after =
            before + "      - notify: {to: ops, title: 2 messages were kept back, list: [b – closed, c]}\n"
            + "      - notify: {title: e}\n"
        #expect(problems(given + "      - at: 2026-01-06T07:00:00Z\n" + Self.event("e") + "    expect:\n" + after) == [])
        #expect(
            problems(given + "      - at: 2026-01-06T07:00:00Z\n    expect:\n" + before)
                == ["`notify` happened but was not expected"])
    }

    @Test func `for a test, a held message is kept back when it is made, and sent at the end of the quiet time`() {
        let given = "      - wait: 1s\n" + Self.event("a") + "      - wait: 24h\n    expect:\n"
        let sent = "      - after: 9h1s\n      - notify: {title: a}\n"
        #expect(problems(given + sent) == [])
        #expect(problems(given + "      - notify: {title: a}\n        quiet: true\n" + sent) == [])
        #expect(problems(given + "      - after: 2s\n      - notify: {title: a}\n        quiet: true\n").count == 1)
        #expect(problems(given + "      - after: 9h2s\n      - notify: {title: a}\n").count == 1)
    }

    @Test func `a held update of a thread is not sent after a newer one`() {
        let given = "      - wait: 1s\n" + Self.event("a") + Self.event("b", priority: 1) + "      - wait: 24h\n    expect:\n"
        let test = "tests:\n  - name: t\n    at: 2026-01-05T21:59:59Z\n    given:\n" + given
        let b = "      - notify: {title: b}\n"
        let update = Self.rule.replacing("title:", with: "thread: board, update: true, title:")
        #expect(Fixture.problems(test + b, of: update) == [])
        let a = "      - after: 9h1s\n      - notify: {title: a}\n"
        #expect(Fixture.problems(test + b + a, of: update.replacing(", update: true", with: "")) == [])
    }

    @Test(arguments: [("board", true), ("pager", false)])
    func `a message of a conversation is sent by itself only where the receiver shows conversations`(
        _ receiver: String, _ areJoined: Bool
    ) {
        let given = ["a", "b"].map { Self.event($0) }.joined()
        let changes = ["a", "b"].map { "      - task_commented: {task: {id: \($0), number: \($0)}, comment: {text: x}}\n" }
            .joined()
        let rule = """
            rule: r
            on: [task_created, task_commented]
            from: my-work
            quiet: {hours: "22:00-07:00"}
            do: [{notify: {to: \(receiver), thread: "${{ task.id }}", title: "${{ task.number }}", resolve: true}}]
            """
        let sent = "      - notify: {title: a}\n      - notify: {title: b}\n"
        let released = areJoined ? "      - notify: {title: 2 messages were kept back}\n" : sent
        #expect(
            Fixture.problems(
                "tests:\n  - name: t\n    at: 2026-01-05T21:59:59Z\n    given:\n\(given)      - wait: 1s\n\(changes)      - wait: 24h\n"
                    + "    expect:\n\(sent)\(released)", of: rule) == [])
    }

    @Test func `each thousand of more than a thousand held messages is one message`() throws {
        var test = BackTest(try Fixture.book(Self.rule), from: Fixture.start)
        let night = Fixture.start + .seconds(14 * 3600)
        let events = (1...1500).map { number in
            var event = Fixture.event(.taskCreated, Fixture.task("t\(number)"), id: "e\(number)")
            event.time = night
            return StoredEvent(sequence: Int64(number), event: event)
        }
        let made = test.feed(events).deliveries + test.finish(at: night + .days(1)).deliveries
        #expect(
            made.filter { $0.initial == .available }.compactMap(\.arguments.message?.title.plainText) == [
                "1000 messages were kept back", "500 messages were kept back",
            ])
    }

    @Test func `a back-test says that a held update was dropped because a newer one was sent`() throws {
        let update = Self.rule.replacing("title:", with: "thread: board, update: true, title:")
        var test = BackTest(try Fixture.book(update), from: Fixture.start)
        let events = [3, 1].enumerated().map { place, priority in
            var event = Fixture.event(
                .taskCreated, Fixture.task("t\(place)", fields: ["priority": .int(Int64(priority))]), id: "e\(place)")
            event.time = Fixture.start + .seconds(14 * 3600 + place)
            return StoredEvent(sequence: Int64(place + 1), event: event)
        }
        let released = test.feed(events).released + test.finish(at: Fixture.start + .days(1)).released
        #expect(released.map { DeliveryOutline($0).outcome } == [.dropped])
        #expect(released.map(\.initial) == [.dropped(.outdated)])
        #expect(test.tally.rules["r"]?.deliveries == [.quiet: 1, .sent: 1, .dropped: 1])
    }

    @Test func `an update that is held for longer is sent after an earlier one of its thread`() {
        func rule(_ name: String, _ end: String) -> String {
            """
            rule: \(name)
            on: task_created
            from: my-work
            quiet: {hours: "22:00-\(end)"}
            do: [{notify: {to: ops, thread: board, update: true, title: \(name)}}]
            """
        }
        let given = Self.event("a") + "      - wait: 24h\n    expect:\n"
        let sent = "      - after: 9h\n      - notify: {title: early}\n      - after: 10h\n      - notify: {title: late}\n"
        let test = "tests:\n  - name: t\n    at: 2026-01-05T22:00:00Z\n    given:\n" + given + sent
        #expect(Fixture.problems(test, of: rule("early", "07:00") + "\n---\n" + rule("late", "08:00")) == [])
    }

    @Test func `a test can demand that a message is kept back`() {
        let given = Self.event("a") + "      - wait: 1s\n" + Self.event("b")
        let a = "    expect:\n      - notify: {title: a}\n"
        let b = "      - notify: {title: b}\n"
        #expect(problems(given + a + b + "        quiet: true\n") == [])
        #expect(problems(given + a + b) == ["`notify` was expected but did not happen"])
        #expect(
            problems(given + "    expect:\n      - notify: {title: a}\n        quiet: true\n") == [
                "no quiet time keeps `notify` back"
            ])
        let sent = given + "      - wait: 24h\n" + a + b + "        quiet: true\n" + b
        #expect(problems(sent) == [])
    }
}
