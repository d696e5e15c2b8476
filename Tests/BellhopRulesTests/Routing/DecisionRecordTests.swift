import BellhopCore
import BellhopRules
import Testing

/// Each reason that stops a rule leaves a record, except a plain `when`.
@Suite struct `Decision records` {
    /// The records of a batch of these events, without the steps of the rule.
    private func records(
        _ rule: String, do steps: String = "[{log: x}]", _ events: [Event] = [Fixture.event(id: "1"), Fixture.event(id: "2")]
    ) throws -> [String] {
        let routing = try Fixture.book("rule: r\non: task_created\n\(rule)\ndo: \(steps)").route(events)
        return routing.decisions.map { record in
            #expect(record.rule == "r" && record.at == Fixture.start)
            return "\(record.occasion.text) \(record.verdict.rawValue) \(record.number) \(JSON.object(record.detail).text)"
        }
    }

    @Test func `the records of throttle and once name the previous run`() throws {
        let earlier = #""last":"2026-01-05T09:00:00.000000Z","by":"event/1""#
        #expect(try records("throttle: {every: 1h}") == ["event/2 throttled 1 {\(earlier)}"])
        #expect(try records("once: task.id") == [#"event/2 once 1 {\#(earlier),"key":"a1"}"#])
    }

    @Test func `errors are recorded both when matching and when deciding`() throws {
        let error = #"{"error":"`when` failed: division by zero"}"#
        let both = ["event/1 condition_failed 1 \(error)", "event/2 condition_failed 2 \(error)"]
        #expect(try records("when: 1 / int(task.number.size() - task.number.size()) == 1") == both)
        #expect(
            try records("when: 1 / int(task.number.size() - task.number.size()) == 1 && now > timestamp('2020-01-01T00:00:00Z')")
                == both)
        let key = try records("from: my-work\nonce: task.due_date", [Fixture.event(id: "1")])
        #expect(key == [#"event/1 key_failed 1 {"error":"`once` has no value"}"#])
        let step = try records("", do: "[{notify: {to: ops, title: \"${{ 1 / int('0') }}\"}}]", [Fixture.event(id: "1")])
        #expect(step == [#"event/1 step_failed 1 {"error":"step 0 (notify): division by zero"}"#])
        let loop = try records("", do: "[{comment: x}]", [Fixture.event(id: "1", hop: Event.lastHop)])
        #expect(loop.count == 1 && loop[0].hasPrefix("event/1 loop 1 "))
    }

    @Test func `a budget that stops a step is recorded`() throws {
        #expect(try records("limit: 1/h", do: "[{comment: x}]") == [#"event/2 budget 1 {"step":"0","task":"acme/a1"}"#])
    }

    @Test func `a plain condition, a trigger and the condition of a step leave no record`() throws {
        #expect(try records("when: task.priority == 1") == [])
        #expect(try records("when: task.priority == 1 && now > timestamp('2020-01-01T00:00:00Z')") == [])
        #expect(try records("from: incidents") == [])
        #expect(try records("", do: "[{log: x, if: task.priority == 1}]") == [])
    }

    @Test func `a run without a step leaves a record with the reasons`() throws {
        let count = "count: {at_least: 2, within: 1h}"
        let steps = "[{log: x, if: task.priority == 1}, {log: y, name: second, if: task.priority < 2}]"
        let found = try records(count, do: steps).filter { !$0.contains("counting") && !$0.contains("used_up") }
        let reasons = #""`if` of step 0 (`log`) is false","`if` of step second (`log`) is unknown, because a part of it is null""#
        #expect(found == [#"event/2 no_step 1 {"left_out":[\#(reasons)]}"#])
        #expect(try records(count, do: "[{log: x}]").allSatisfy { !$0.contains("no_step") })
    }

    @Test func `only the latest decisions of a burst are recorded, and all are counted`() throws {
        let book = try Fixture.book("rule: r\non: task_created\nthrottle: {every: 1h}\ndo: [{log: x}]")
        let routing = book.route((0...2000).map { Fixture.event(id: "\($0)") })
        #expect(routing.routed.count == 2001)
        #expect(routing.decisions.map(\.number) == Array(Int64(2001 - DecisionRecord.most)...2000))
        #expect(routing.decisions.last?.occasion.text == "event/2000")
    }
}
