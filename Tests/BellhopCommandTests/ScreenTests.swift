import BellhopCore
import Testing

@testable import BellhopRules
@testable import bellhop

/// Text and tables on a screen of 80 columns.
@Suite struct ScreenTests {
    @Test func `an event with a title of a megabyte is one short line`() {
        let task: JSON = [
            "id": "a", "number": "INC1", "title": .string(String(repeating: "long ", count: 200_000)), "fields": [:],
        ]
        let event = Event(
            id: Event.ID("e"), type: .taskCreated, source: "s", subject: "a", time: Timestamp(seconds: 0), data: ["task": task])
        #expect(Events.summary(event, in: .utc).count <= 500)
    }

    @Test func `an event without a task is shown with whole values, and the names of those that have no room`() {
        let data: JSON.Object = [
            "number": 7, "lines": .array(Array(repeating: ["item": "bed", "count": 2], count: 20)), "to": ["city": "Bonn"],
            "note": .string(String(repeating: "long ", count: 20)), "due": "2026-01-05T09:00:00Z", "more": [],
        ]
        let event = Event(
            id: Event.ID("e"), type: EventType("order"), source: "shop", subject: "7", time: Timestamp(seconds: 0), data: data)
        #expect(
            Events.summary(event, in: .utc)
                == "number: 7, to: {\"city\":\"Bonn\"}, note: \(String(repeating: "long ", count: 11))long…, "
                + "due: 2026-01-05 09:00:00, more: []; not shown: lines")
    }

    @Test func `times in the words about an event or a delivery are those of the zone`() {
        let zone = TimeZoneTable(name: "Europe/Berlin", posix: "CET-1CEST,M3.5.0,M10.5.0/3") ?? .utc
        func words(_ type: EventType, _ data: JSON.Object) -> String {
            Events.summary(
                Event(id: Event.ID("e"), type: type, source: "s", subject: "a", time: Timestamp(seconds: 0), data: data), in: zone
            )
        }
        let task = Snapshot(key: "a1", number: "INC0010001", title: "Printer on fire", fields: [:]).json(source: "s")
        let changes: JSON = ["due_date": ["from": .null, "to": "2026-01-05T09:00:00.000000Z"]]
        #expect(
            words(.taskChanged, ["task": task, "changes": changes]) == "INC0010001 due_date: null → 2026-01-05 10:00:00")
        let message = "It could not be sent before 2026-01-05T09:00:00.25Z, so it expired."
        let dead: JSON.Object = [
            "delivery": ["action": "notify", "receiver": "ops", "rule": "tell"], "error": ["message": .string(message)],
        ]
        let localMessage = "It could not be sent before 2026-01-05 10:00:00, so it expired."
        #expect(words(.deliveryDead, dead) == "notify to ops (rule tell) is dead: \(localMessage)")
        var delivery = ExplainedDelivery(
            id: String(repeating: "f", count: 32), rule: "tell", occasion: Occasion.ID("event/e"), step: StepPath(index: 0),
            revision: "1", state: .dead, action: "notify", receiver: "ops", content: "x", created: Timestamp(seconds: 0))
        delivery.answer = message
        #expect(ExplanationPage(zone: zone, isWhole: false).lines(delivery, rule: nil)[0].contains(localMessage))
    }

    @Test func `the explanation of an event that no rule matches shows the command that says why`() {
        func lines(_ data: JSON.Object) -> [String] {
            let event = Event(
                id: Event.ID(String(repeating: "f", count: 32)), type: .taskCreated, source: "work", subject: "a",
                time: Timestamp(seconds: 0), data: data)
            let facts = ExplanationFacts(events: [StoredEvent(sequence: 1, event: event)])
            let explanation = Explanation(facts, by: nil, at: Timestamp(seconds: 0))
            return ExplanationPage(zone: .utc, isWhole: false).lines(explanation)
        }
        let task: JSON = ["id": "a", "number": "INC0010001", "title": "Printer", "fields": [:]]
        #expect(lines(["task": task]).last == "  No rule matches it: `bellhop explain INC0010001 --rule RULE` says why.")
        #expect(lines([:]).last == "  No rule matches it: `bellhop explain ffffffffffff --rule RULE` says why.")
    }

    @Test func `an explanation says why a delivery is dead that ended after its last attempt`() {
        var delivery = ExplainedDelivery(
            id: String(repeating: "f", count: 32), rule: "tell", occasion: Occasion.ID("event/e"), step: StepPath(index: 0),
            revision: "1", state: .dead, action: "log", receiver: "log", content: "x", created: Timestamp(seconds: 0))
        delivery.answer = "It expired."
        let page = ExplanationPage(zone: .utc, isWhole: false)
        for (outcome, isShown) in [("retry", true), ("dead", false)] {
            delivery.attempts = [.init(number: 1, at: Timestamp(seconds: 0), outcome: outcome, detail: "No connection.")]
            let lines = page.lines(delivery, rule: nil)
            #expect(lines.count == 2 && lines[0].contains("dead: It expired.") == isShown, "\(lines)")
        }
    }

    @Test func `lines are broken only between words, and an id that is too wide stays whole`() {
        let id = String(repeating: "f", count: 50)
        #expect("one two three".wrapped(to: 8, indent: 2) == "one two\n  three")
        #expect("see \(id) now".wrapped(to: 40, indent: 4) == "see\n    \(id)\n    now")
        #expect("one two".wrapped(to: nil) == "one two")
        #expect("\u{1B}[31mone\u{1B}[0m two".wrapped(to: 7) == "\u{1B}[31mone\u{1B}[0m two", "colours have no width")
    }

    @Test func `a table with wide characters and emoji is aligned`() {
        var table = Table([.init("TITLE"), .init("STATE")])
        for title in ["印刷機が燃えています", "🔥 fire", "e\u{301}te\u{301}"] { table.add([title, "new"]) }
        let states = table.lines(width: nil).map { line in
            line.shownWidth - (line.split(separator: " ").last?.shownWidth ?? 0)
        }
        #expect(states == [22, 22, 22, 22], "\(table.lines(width: nil))")
        #expect("印刷機が燃えています".cut(to: 8) == "印刷機…" && "🔥🔥".cut(to: 4) == "🔥🔥" && "abcd".cut(to: 3) == "ab…")
    }

    @Test func `a text that is always shown is cut, too, if its table is wider than the screen`() {
        var table = Table([.init("RULE"), .init("DELIVERIES", isText: true), .init("WAITED", rank: 1, isText: true)])
        table.add(["acknowledge-new-incidents", "12 available, 3 dead, 40 silenced", "7 throttled, 3 waiting"])
        #expect(
            table.lines(width: 50) == [
                "RULE                       DELIVERIES", "acknowledge-new-incidents  12 available, 3 dead,…",
            ])
    }

    @Test func `a text that is too long is cut after a word`() {
        #expect("No connection to host".cutBetweenWords(to: 16) == "No connection…")
        #expect("short".cutBetweenWords(to: 16) == "short")
    }

    private static func delivery(_ state: String, rule: String = "acknowledge-new-incidents") -> JSON {
        [
            "id": "0123456789abcdef0123456789abcdef", "state": .string(state), "rule": .string(rule), "action": "comment",
            "receiver": "snow", "task": ["number": "INC0010001"], "attempts": 3, "created": "2026-01-05T07:30:00Z",
            "next": "2026-01-05T07:40:00Z",
            "error": ["reason": "unreachable", "message": "No connection to acme.service-now.com:443: connection refused."],
        ]
    }

    private static func lines(_ deliveries: [JSON], width: Int?) -> [String] {
        var lines: [String] = []
        var table = PagedTable(DeliveryList.columns, width: width) { lines.append($0) }
        for delivery in deliveries {
            let row = DeliveryList.row(delivery, in: .utc)
            table.add(row.cells, paints: row.paints)
        }
        table.end()
        return lines
    }

    @Test func `a delivery is one row of at most 80 columns, with its id and state in full`() {
        for state in DeliveryState.allCases {
            let lines = Self.lines([Self.delivery(state.rawValue)], width: 80)
            #expect(lines.count == 2)
            #expect(lines.allSatisfy { $0.shownWidth <= 80 }, "\(lines)")
            #expect(lines[1].hasPrefix("0123456789ab  \(state.rawValue)"))
            #expect(lines[1].contains("acknowledge-new-incidents") && lines[1].contains("INC0010001"))
            #expect(lines[0].hasSuffix("WHAT") && lines[1].contains("  No connection"))
        }
    }

    @Test func `a wide screen shows every column and the whole text`() {
        let lines = Self.lines([Self.delivery("available", rule: "tell")], width: nil)
        #expect(
            lines[0].split(separator: " ").joined(separator: " ")
                == "ID STATE RULE ACTION RECEIVER TASK TRIES CREATED NEXT TRY WHAT")
        #expect(lines[1].hasSuffix("01-05 07:30  01-05 07:40  No connection to acme.service-now.com:443: connection refused."))
    }

    @Test func `a delivery without an attempt shows its content, a message with its title and text`() {
        var comment = Self.delivery("shadow").asObject ?? [:]
        comment["error"] = nil
        var (message, update) = (comment, comment)
        comment["arguments"] = ["text": "Seen:\nINC0010001"]
        message["message"] = ["title": "New", "text": "New\n\nA printer is on fire"]
        update["arguments"] = ["fields": ["priority": 2]]
        let lines = Self.lines([.object(comment), .object(message), .object(update)], width: nil)
        #expect(lines[1].hasSuffix("Seen: INC0010001"))
        #expect(lines[2].hasSuffix("New  A printer is on fire"))
        #expect(lines[3].hasSuffix("{\"fields\":{\"priority\":2}}"))
    }

    @Test func `a silenced delivery has no next try, and names its silence before its content`() {
        var delivery = Self.delivery("silenced").asObject ?? [:]
        delivery["error"] = nil
        delivery["silence"] = "0123456789ab"
        delivery["message"] = ["title": "New", "text": "New"]
        let cells = DeliveryList.row(.object(delivery), in: .utc).cells
        #expect(cells.suffix(2) == ["-", "kept back by silence 0123456789ab: New"])
    }

    @Test func `a delivery that joined others says what became of them, and waits for nobody by itself`() {
        var delivery = Self.delivery("joined").asObject ?? [:]
        delivery["error"] = nil
        let joined = JoinedDelivery(id: "abcdef", state: .dead, error: "It says no.")
        delivery["receipt"] = .string(joined.summary)
        delivery["joined"] = joined.json
        let row = DeliveryList.row(.object(delivery), in: .utc)
        #expect(row.cells[1] == "joined" && row.cells.last == "joined delivery abcdef, which failed: It says no.")
        #expect(!row.needsPerson)
        let page = DeliveryPage(delivery: .object(delivery), zone: .utc).lines
        #expect(page[0].hasSuffix("  joined"))
        #expect(page.contains { $0.hasSuffix("receipt     joined delivery abcdef, which failed: It says no.") })
        #expect(page.contains { $0.hasPrefix("By itself it would send") } && !page.contains { $0.hasPrefix("It sent") })
        #expect(JoinedDelivery(json: joined.json) == joined && JoinedDelivery(json: ["state": "done"]) == nil)
    }

    @Test func `a delivery that waits for its receiver says whether this rests, keeps failing or is paused`() {
        func next(_ cause: ReceiverStop.Cause, until: JSON, state: String = "available", reason: String = "It says no.") -> String
        {
            var delivery = Self.delivery(state).asObject ?? [:]
            delivery["receiver"] = "chat"
            delivery["stopped"] = [
                "cause": .string(cause.rawValue), "since": "2026-01-05T08:00:00Z", "until": until, "reason": .string(reason),
            ]
            let lines = DeliveryPage(delivery: .object(delivery), zone: .utc).lines
            return lines.first { $0.hasPrefix("  next try ") } ?? ""
        }
        let until: JSON = "2026-01-05T08:30:00Z"
        #expect(next(.rest, until: until).hasSuffix(", because chat rests: It says no."))
        #expect(next(.failures, until: until).hasSuffix(", because chat keeps failing (circuit breaker open): It says no."))
        let paused = next(.refusal, until: .null)
        #expect(paused.contains("after `bellhop resume chat`; it has been paused since "))
        #expect(next(.refusal, until: .null, state: "joined") == paused)
        #expect(
            !next(.person, until: .null, reason: "").hasSuffix(":") && !next(.person, until: .null, reason: "").hasSuffix(": "))
    }

    @Test func `all pages of a long table have the columns of the first, and no column is lost`() {
        var first = Self.delivery("done").asObject ?? [:]
        first["task"] = nil
        var rows = Array(repeating: JSON.object(first), count: PagedTable.page + 1)
        rows += Array(repeating: Self.delivery("done"), count: PagedTable.page)
        var lines: [String] = []
        var maxHeld = 0
        var table = PagedTable(DeliveryList.columns, width: 80) { lines.append($0) }
        for (place, delivery) in rows.enumerated() {
            table.add(DeliveryList.row(delivery, in: .utc).cells)
            maxHeld = max(maxHeld, place + 1 - lines.count)
        }
        table.end()
        #expect(maxHeld < PagedTable.page)
        let headings = lines.indices.filter { lines[$0].hasPrefix("ID") }
        #expect(headings.count == 2 && lines.count == rows.count + 2)
        #expect(!lines[0].contains("TASK") && lines[headings[1]].contains("TASK"))
        #expect(lines.filter { $0.contains("INC0010001") }.count == PagedTable.page)
    }

    @Test func `the list of silences shows when a silence really ended, and that one whose time is over has ended`() {
        let now = Timestamp(seconds: 1_767_603_600)
        func row(_ ended: Duration?, _ ends: Duration, isActive: Bool = false) -> [String] {
            let silence = Silence(starts: now - .days(1), ends: now + ends, reason: "", by: "ann")
            var json = SilenceRecord(silence, ended: ended.map { now + $0 }).json
            json["active"] = .bool(isActive)
            return Array(SilenceList.row(.object(json), in: .utc, at: now)[1...3])
        }
        let start = "2026-01-04 09:00:00"
        #expect(row(nil, .seconds(60), isActive: true) == ["active", start, "2026-01-05 09:01:00"])
        #expect(row(.seconds(-60), .seconds(60)) == ["ended", start, "2026-01-05 08:59:00"])
        #expect(row(.seconds(-10), .seconds(-60)) == ["ended", start, "2026-01-05 08:59:00"])
        #expect(row(nil, .seconds(-60)) == ["ended", start, "2026-01-05 08:59:00"])
    }

    @Test func `the events of a silence say what it covers, and what it kept back`() {
        let now = Timestamp(seconds: 1_767_603_600)
        let silence = Silence(
            id: "0123456789ab", when: nil, rules: ["tell"], receivers: ["ops"], starts: now, ends: now + .seconds(60),
            reason: "switch update", by: "ann")
        let covers = "covers messages of rule tell to ops (switch update)"
        #expect(
            Events.summary(.silenceStarted(silence, at: now), in: .utc)
                == "silence 0123456789ab lasts until 2026-01-05 09:01:00, and \(covers)")
        #expect(
            Events.summary(.silenceEnded(SilenceRecord(silence, kept: 3), at: now), in: .utc)
                == "silence 0123456789ab kept back 3 deliveries, and \(covers)")
    }

    @Test func `the pause of a receiver is told in words, with who paused it and why`() {
        func event(_ type: EventType, by cause: ReceiverStop.Cause, _ reason: String) -> Event {
            let data: JSON.Object = ["receiver": "ops", "reason": .string(reason), "by": .string(cause.rawValue)]
            return Event(
                id: Event.ID("e"), type: type, source: "bellhop", subject: "receiver/ops", time: Timestamp(seconds: 0), data: data
            )
        }
        let byPerson = event(.receiverPaused, by: .person, "maintenance")
        #expect(Events.summary(byPerson, in: .utc) == "a person paused ops: maintenance")
        #expect(Events.summary(event(.receiverPaused, by: .person, ""), in: .utc) == "a person paused ops")
        let byBellhop = event(.receiverPaused, by: .refusal, "It says no.")
        #expect(Events.summary(byBellhop, in: .utc) == "ops is paused: It says no.")
        #expect(Events.summary(event(.receiverResumed, by: .person, ""), in: .utc) == "a person resumed ops")
    }

    @Test func `moments in a text are shown in the local time of the zone`() {
        let zone = TimeZoneTable(name: "Europe/Berlin", posix: "CET-1CEST,M3.5.0,M10.5.0/3") ?? .utc
        #expect("not before 2026-01-05T07:30:05.25Z.".withLocalTimes(in: zone) == "not before 2026-01-05 08:30:05.")
        let ofRule = "waits until 2026-01-05T16:30:05.25+09:00"
        #expect(ofRule.withLocalTimes(in: zone) == ofRule)
        #expect(ofRule.withLocalTimes(in: zone, ofAnyOffset: true) == "waits until 2026-01-05 08:30:05")
        let json: JSON = ["created": "2026-01-05T07:30:00Z", "text": "A to Z"]
        #expect(json.withLocalTimes(in: zone) == ["created": "2026-01-05T08:30:00+01:00", "text": "A to Z"])
    }
}
