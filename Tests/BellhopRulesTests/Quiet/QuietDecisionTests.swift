import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct `Messages in quiet times` {
    /// 2026-01-05T22:00:00Z, a Monday.
    private static let evening = Fixture.start + .seconds(13 * 3600)
    private static let morning = Fixture.start + .seconds(22 * 3600)

    private static func entry(_ hours: String, then: QuietTime.Then = .hold, except: String? = nil) throws -> QuietEntry {
        QuietEntry(QuietTime(.during(WorkCalendar(zone: .utc, hours: try HoursWindow.list(hours))), then: then), except: except)
    }

    private static func book(
        _ rest: String, ops: QuietEntry? = nil, resolves: Bool = false, updates: Bool = false
    ) throws -> RuleBook {
        var context = Fixture.context()
        for place in context.connections.indices where context.connections[place].name == "ops" {
            context.connections[place].quiet = ops
            if updates { context.connections[place].messages = .init(threads: .yes, updates: .yes) }
            if resolves { context.connections[place].messages = .init(threads: .yes, resolves: .yes) }
        }
        return try Fixture.book("rule: r\non: task_created\n\(rest)", in: context)
    }

    private static let notify = "do: [{notify: {to: ops, title: \"${{ task.number }}\"}}]"
    private static let night = "quiet: {hours: \"22:00-07:00\"}\n"

    private func routing(
        _ book: RuleBook, _ task: Snapshot = Fixture.task(number: "INC1"), at now: Timestamp = evening,
        silences: SilenceBook = .empty
    ) -> Routing {
        let stored = [StoredEvent(sequence: 3, event: Fixture.event(.taskCreated, task))]
        return book.decide(stored, silences: silences, at: now)
    }

    /// The states of the deliveries, and until when they are held.
    private func states(_ book: RuleBook, at now: Timestamp = evening, priority: Int64 = 3) -> [String] {
        routing(book, Fixture.task(number: "INC1", fields: ["priority": .int(priority)]), at: now).deliveries.map { delivery in
            switch delivery.initial {
            case .quiet: "until \(delivery.runAt.rfc3339.prefix(16))"
            case .dropped: "dropped"
            default: "sent"
            }
        }
    }

    @Test func `a message is held until the end of the quiet time, exactly`() throws {
        let book = try Self.book(Self.night + Self.notify)
        #expect(states(book, at: Self.evening - .microseconds(1)) == ["sent"])
        #expect(states(book) == ["until 2026-01-06T07:00"])
        #expect(states(book, at: Self.morning - .microseconds(1)) == ["until 2026-01-06T07:00"])
        #expect(states(book, at: Self.morning) == ["sent"])
    }

    @Test func `a held message expires a day after its release, and keeps its task and its event`() throws {
        let delivery = try #require(routing(try Self.book(Self.night + Self.notify)).deliveries.first)
        #expect(delivery.expires == Self.morning + .days(1))
        #expect(delivery.initial == .quiet(Delivery.KeptBack(task: Fixture.task(number: "INC1"), event: 3)))
    }

    @Test func `only messages are kept back, and the next step does not wait`() throws {
        let book = try Self.book(
            Self.night + "once: task.id\nthrottle: {every: 1h}\n"
                + """
                do:
                  - notify: {to: ops, title: a}
                    on_error: stop
                  - comment: seen
                """)
        let routing = routing(book)
        #expect(routing.deliveries.map(\.initial).dropFirst() == [.available])
        #expect(routing.deliveries.map(\.after) == [[], []])
        #expect(Set(routing.state.map(\.key.kind)) == [.once, .throttle, .budget])
        #expect(routing.tallies.map(\.runs) == [1])
        let record = try #require(routing.decisions.first)
        #expect(record.verdict == .quiet)
        #expect(record.detail["until"] == .string(Self.morning.rfc3339))
    }

    @Test func `an exception is sent at once, and lifts only its own quiet time`() throws {
        let rule = "quiet: {hours: \"22:00-07:00\", except: task.priority == 1}\n" + Self.notify
        #expect(try states(Self.book(rule), priority: 1) == ["sent"])
        #expect(try states(Self.book(rule), priority: 2) == ["until 2026-01-06T07:00"])
        let connection = try Self.entry("22:00-08:00")
        #expect(try states(Self.book(rule, ops: connection), priority: 1) == ["until 2026-01-06T08:00"])
        let open = try Self.entry("22:00-08:00", except: "task.priority == 1")
        #expect(try states(Self.book(rule, ops: open), priority: 1) == ["sent"])
        #expect(try states(Self.book(Self.notify, ops: open), priority: 2) == ["until 2026-01-06T08:00"])
    }

    @Test func `the exception of a connection may use a field that only some sources declare`() throws {
        let book = try Self.book(Self.notify, ops: try Self.entry("22:00-08:00", except: "task.urgency == 1"))
        func isHeld(_ source: String, _ urgency: JSON) -> [Bool] {
            let task = Fixture.task(number: "INC1", fields: ["urgency": urgency])
            let stored = [StoredEvent(sequence: 3, event: Fixture.event(.taskCreated, task, source: source))]
            return book.decide(stored, silences: .empty, at: Self.evening).deliveries.map(\.isQuiet)
        }
        #expect(isHeld("my-work", 1) == [false])
        #expect(isHeld("my-work", 2) == [true])
        #expect(isHeld("incidents", .null) == [true])
    }

    @Test func `the later end of two quiet times counts, and a quiet time that drops messages comes first`() throws {
        let book = try Self.book(Self.night + Self.notify, ops: try Self.entry("21:00-06:00"))
        #expect(states(book) == ["until 2026-01-06T07:00"])
        #expect(states(book, at: Self.evening - .seconds(60)) == ["until 2026-01-06T06:00"])
        #expect(try states(Self.book(Self.night + Self.notify, ops: Self.entry("21:00-06:00", then: .drop))) == ["dropped"])
        let drop = "quiet: {hours: \"22:00-07:00\", then: drop}\n" + Self.notify
        #expect(try states(Self.book(drop, ops: Self.entry("21:00-23:00"))) == ["dropped"])
        let routing = routing(try Self.book(drop))
        #expect(
            routing.deliveries.map(\.initial) == [
                .dropped(Failure(.quiet, .giveUp, "It was made in the quiet time of rule `r`, which drops messages."))
            ])
    }

    @Test func `a silence comes before a quiet time, and shadow mode before both`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let silence = Silence(id: "s1", starts: Fixture.start, ends: Self.morning)
        #expect(routing(book, silences: book.silences([silence])).deliveries.map(\.initial) == [.silenced(by: "s1")])
        let shadow = try Self.book("mode: shadow\n" + Self.night + Self.notify)
        #expect(routing(shadow).deliveries.map(\.initial) == [.shadow])
    }

    @Test func `a failing exception keeps the message back, and is an error of the rule`() throws {
        let book = try Self.book("quiet: {hours: \"22:00-07:00\", except: \"[1][task.priority] == 1\"}\n" + Self.notify)
        let routing = routing(book, Fixture.task(number: "INC1", fields: ["priority": 7]))
        #expect(routing.deliveries.map(\.isQuiet) == [true])
        #expect(routing.tallies.first?.errors == 1)
        #expect(routing.tallies.first?.lastError?.hasPrefix("`except` of the quiet time of rule `r` failed") == true)
    }

    // MARK: Release

    private func held(_ book: RuleBook, _ tasks: [Snapshot]) -> [HeldMessage] {
        tasks.enumerated().map { place, task in
            HeldMessage(place: Int64(place), delivery: routing(book, task).deliveries[0])
        }
    }

    private func treatments(_ release: MessageRelease) -> [MessageRelease.Treatment] { release.treatments.map(\.treatment) }

    private func lines(_ release: MessageRelease) -> [String] {
        guard let message = release.joined?.arguments.message else { return [] }
        return [message.title.plainText] + (message.list?.items.map(\.plainText) ?? [])
    }

    @Test func `held messages are coalesced into one that shows the state of each task`() throws {
        let book = try Self.book(
            Self.night
                + "do: [{notify: {to: ops, title: \"${{ task.number }}\", link: \"${{ task.url }}\", severity: \"${{ task.priority == 1 ? 'critical' : 'info' }}\"}}]"
        )
        var tasks = (1...6).map { Fixture.task("k\($0)", number: "INC\($0)", fields: ["priority": 3, "state": 1]) }
        tasks[1].fields["priority"] = 1
        for place in tasks.indices { tasks[place].url = "https://acme.example/\(place + 1)" }
        let held = held(book, tasks)
        var changed = tasks[2]
        changed.fields["state"] = 6
        changed.fields["priority"] = 2
        var remembered: [TaskKey: RememberedTask] = [:]
        for (task, reason) in zip(tasks, [.closed, .leftQuery, nil, .gone, nil, nil] as [RemovalReason?]) {
            remembered[task.key] = RememberedTask(
                snapshot: task, generation: 1, removed: reason == nil ? nil : Self.morning, reason: reason)
        }
        remembered[changed.key]?.snapshot = changed
        remembered[tasks[5].key] = nil
        let release = book.release(held, ReleaseFacts(tasks: [Fixture.scope: remembered]), at: Self.morning)
        #expect(treatments(release) == Array(repeating: .joined, count: 6))
        #expect(
            lines(release) == [
                "6 messages were kept back", "INC1 (https://acme.example/1) – closed", "INC2 (https://acme.example/2) – left",
                "INC3 (https://acme.example/3) – changed: priority, state", "INC4 (https://acme.example/4) – gone",
                "INC5 (https://acme.example/5)", "INC6 (https://acme.example/6)",
            ])
        let message = try #require(release.joined?.arguments.message)
        #expect(message.severity == .critical)
        #expect(release.joined?.expires == Self.morning + .days(1))
        #expect(release.joined?.coalesces == false)
    }

    @Test func `the line of a message about a removal repeats it only if it was for another reason`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let tasks = (1...3).map { Fixture.task("k\($0)", number: "INC\($0)") }
        var held = held(book, tasks)
        var events: [Int64: StoredEvent] = [:]
        var remembered: [TaskKey: RememberedTask] = [:]
        for (place, task) in tasks.enumerated() {
            let number = Int64(place + 1)
            held[place].delivery.initial = .quiet(Delivery.KeptBack(task: task, event: number))
            // The first message is about the new task, and the others are about its removal.
            let reason: JSON.Object = place == 0 ? [:] : ["reason": .string(place == 1 ? "closed" : "left_query")]
            events[number] = StoredEvent(
                sequence: number, event: Fixture.event(place == 0 ? .taskCreated : .taskRemoved, task, data: reason))
            remembered[task.key] = RememberedTask(snapshot: task, generation: 1, removed: Self.evening, reason: .closed)
        }
        let release = book.release(held, ReleaseFacts(tasks: [Fixture.scope: remembered], events: events), at: Self.morning)
        #expect(lines(release) == ["3 messages were kept back", "INC1 – closed", "INC2", "INC3 – closed"])
    }

    @Test func `a single held message is sent unchanged`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let release = book.release(held(book, [Fixture.task()]), ReleaseFacts(), at: Self.morning)
        #expect(treatments(release) == [.sent])
        #expect(release.joined == nil)
    }

    @Test func `at the release, silences and the quiet time of the connection are checked again`() throws {
        let book = try Self.book(
            Self.night + Self.notify, ops: try Self.entry("23:00-06:00, 07:00-09:00", except: "task.priority == 2"))
        let tasks = (1...4).map { Fixture.task("k\($0)", number: "INC\($0)", fields: ["priority": .int(Int64($0))]) }
        let held = held(book, tasks)
        let silence = Silence(
            id: "s1", when: "task.number == 'INC3' && event.type == 'task_created'", starts: Self.morning,
            ends: Self.morning + .seconds(60))
        let event = StoredEvent(sequence: 3, event: Fixture.event(.taskCreated, tasks[2]))
        let release = book.release(held, ReleaseFacts(events: [3: event]), silences: book.silences([silence]), at: Self.morning)
        let later = Self.morning + .seconds(7200)
        #expect(treatments(release) == [.held(until: later), .sent, .silenced(by: "s1"), .held(until: later)])
        let dropping = try Self.book(Self.night + Self.notify, ops: try Self.entry("07:00-09:00", then: .drop))
        guard case .dropped(let failure)? = treatments(dropping.release(held, ReleaseFacts(), at: Self.morning)).first else {
            Issue.record("not dropped")
            return
        }
        #expect(failure.reason == .quiet)
    }

    @Test func `a changed quiet time keeps the ends of held messages, and a late release respects the next night`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let held = held(book, [Fixture.task()])
        let longer = try Self.book("quiet: {hours: \"22:00-09:00\"}\n" + Self.notify)
        #expect(treatments(longer.release(held, ReleaseFacts(), at: Self.morning)) == [.sent])
        // The agent was away until the next night.
        let night = Self.evening + .days(1)
        #expect(treatments(book.release(held, ReleaseFacts(), at: night)) == [.held(until: Self.morning + .days(1))])
        #expect(treatments(try Self.book(Self.notify).release(held, ReleaseFacts(), at: night)) == [.sent])
    }

    private func message(
        _ number: Int, thread: String? = nil, update: Bool = false, continues: Bool = false
    ) -> HeldMessage {
        HeldMessage(
            place: Int64(number),
            delivery: Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(Event.ID("e\(number)")).id, rule: "r", step: StepPath(index: 0), receiver: "ops"),
                revision: "", action: "notify",
                arguments: .message(
                    Message(title: [.value("m\(number)")], mentions: [.user("U\(number % 2)")], thread: thread, update: update)),
                task: nil, lane: "l", createdAt: Self.evening, runAt: Self.morning, initial: .quiet(Delivery.KeptBack())),
            continues: continues)
    }

    @Test func `messages of a thread that has begun are sent singly, and others are coalesced`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let held = [
            message(1, thread: "A", continues: true), message(2, thread: "B"), message(3),
            message(4, thread: "A", continues: true),
        ]
        let release = book.release(held, ReleaseFacts(), at: Self.morning)
        #expect(treatments(release) == [.sent, .joined, .joined, .sent])
        #expect(lines(release) == ["2 messages were kept back", "m2", "m3"])
        let message = try #require(release.joined?.arguments.message)
        #expect(message.mentions == [.user("U0"), .user("U1")])
    }

    @Test func `of the updates of one thread only the newest is listed, where the receiver replaces messages`() throws {
        let held = [
            message(1, thread: "A", update: true), message(2, thread: "B", update: true), message(3, thread: "A"),
            message(4, thread: "A", update: true), message(5),
        ]
        let book = try Self.book(Self.night + Self.notify, updates: true)
        let release = book.release(held, ReleaseFacts(), at: Self.morning)
        #expect(treatments(release) == [.dropped(.outdated), .joined, .joined, .joined, .joined])
        #expect(lines(release) == ["4 messages were kept back", "m2", "m3", "m4", "m5"])
        let plain = try Self.book(Self.night + Self.notify).release(held, ReleaseFacts(), at: Self.morning)
        #expect(treatments(plain) == [.joined, .joined, .joined, .joined, .joined])
    }

    @Test func `a coalesced message lists every message that was kept back, or says how many more there are`() throws {
        let book = try Self.book(Self.night + Self.notify)
        let release = book.release((1...300).map { message($0) }, ReleaseFacts(), at: Self.morning)
        #expect(lines(release) == ["300 messages were kept back"] + (1...300).map { "m\($0)" })
        let long = (1...1000).map { number in
            var held = message(number)
            let title = String(repeating: "x", count: 140)
            held.delivery.arguments = .message(Message(title: [.value(title)]))
            return held
        }
        let list = try #require(book.release(long, ReleaseFacts(), at: Self.morning).joined?.arguments.message?.list)
        #expect(list.items.count > 300 && list.items.count + list.more == 1000)
    }

    @Test func `at a pager no messages are coalesced`() throws {
        let book = try Self.book(Self.night + Self.notify, resolves: true)
        let release = book.release(
            [message(1, thread: "A"), message(2, thread: "B"), message(3), message(4)], ReleaseFacts(), at: Self.morning)
        #expect(treatments(release) == [.sent, .sent, .sent, .sent])
    }
}
