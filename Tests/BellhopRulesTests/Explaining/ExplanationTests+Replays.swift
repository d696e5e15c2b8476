import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

/// Replays, and the escalations that they begin.
extension ExplanationTests {
    @Test func `a replay counts as a run if it did something that the event itself did not`() throws {
        let replay = Occasion.replay(of: Event.ID("e1"), at: Fixture.start + .seconds(60)).id
        for (first, again, counts) in [
            (DeliveryState.silenced, DeliveryState.done, true), (.quiet, .available, true), (.silenced, .silenced, false),
            (.done, .done, false),
        ] {
            let account = try account("on: task_created") { $0.deliveries = [delivery(first), delivery(again, replay)] }
            #expect(account.ranWhenReplayed == counts, "\(first), then \(again)")
        }
    }

    @Test func `the note about an escalation names its next step only while it runs, and says if it has ended`() throws {
        let rule = "on: task_created\nescalate: [{after: 10m, do: [{log: late}]}]"
        var record = record(.escalating, ["key": "my-work/a1", "until": "2026-01-05T23:00:00Z"])
        func note(begun: Int64, due: Int64, _ others: DecisionRecord...) throws -> [String] {
            try account(rule) { facts in
                facts.deliveries = [delivery(.done)]
                let payload: JSON.Object = ["begun": .int((Fixture.start + .seconds(begun)).microseconds)]
                add(record, due: Fixture.start + .seconds(due), payload: payload, to: &facts)
                facts.decisions += others
            }.notes.filter { $0.contains("escalation") }
        }
        #expect(try note(begun: 0, due: 7200) == ["the next step of the escalation waits until 2026-01-05T11:00:00Z"])
        let overdue = "the next step of the escalation was due at 2026-01-05T09:10:00Z, and comes with the agent's next poll"
        #expect(try note(begun: 0, due: 600) == [overdue])
        #expect(try note(begun: 1, due: 7200) == ["the escalation has ended"])
        var ended = self.record(.ended, ["key": "my-work/a1", "reason": "the task has left"])
        ended.occasion = Occasion.escalation(of: ended.occasion, step: 0, repetition: 0).id
        #expect(try note(begun: 1, due: 7200, ended) == ["the escalation has ended: the task has left"])
        record.detail["by"] = "event/0123456789abcdef"
        #expect(try note(begun: 0, due: 7200)[0].hasPrefix("the next step of the escalation of event 0123456789ab waits"))
    }

    @Test func `the note about an escalation that has ended says what ended it`() throws {
        let began = record(.escalating, ["key": "my-work/a1"])
        func notes(_ later: DecisionRecord..., steps: [ExplainedDelivery] = []) throws -> [String] {
            try account("on: task_created\nescalate: [{after: 10m, do: [{log: late}]}]") { facts in
                facts.deliveries = [delivery(.done)] + steps
                facts.decisions = [began] + later
            }.notes.filter { $0.contains("escalation") }
        }
        func later(_ verdict: DecisionRecord.Verdict, _ key: String = "my-work/a1", facts: JSON.Object = [:]) -> DecisionRecord {
            var detail = facts
            detail["key"] = .string(key)
            return DecisionRecord(
                rule: "r", verdict: verdict, occasion: Occasion.event(Event.ID("0123456789abcdef")).id,
                at: Fixture.start + .seconds(60), detail: detail)
        }
        let answered = ["the escalation has ended: event 0123456789ab answered the task at 2026-01-05T09:01:00Z"]
        #expect(try notes(later(.answered)) == answered)
        #expect(try notes(later(.escalating, facts: ["by": "event/e1"]), later(.answered)) == answered)
        let left = try notes(later(.ended, facts: ["reason": "the task has left"]))
        #expect(left == ["the escalation has ended: the task has left"])
        // The end of another escalation: of another task, or begun by a later run.
        #expect(try notes(later(.answered, "my-work/a2")) == ["the escalation has ended"])
        let step = delivery(.done, Occasion.escalation(of: began.occasion, step: 0, repetition: 0).id)
        #expect(
            try notes(later(.escalating), later(.answered), steps: [step])
                == ["the escalation has ended: its last step came at 2026-01-05T09:00:00Z"])
    }

    @Test func `the note about a replay names the next step of the escalation that the replay began`() throws {
        let first = record(.escalating, ["key": "my-work/a1"])
        var again = first
        again.occasion = Occasion.replay(of: Event.ID("e1"), at: Fixture.start + .seconds(1800)).id
        again.at = Fixture.start + .seconds(1800)
        let payload: JSON.Object = ["begun": .int(again.at.microseconds), "run": .string(again.occasion.text)]
        let found = try account("on: task_created\nescalate: [{after: 2h, do: [{log: late}]}]") { facts in
            facts.deliveries = [delivery(.done), delivery(.done, again.occasion)]
            facts.decisions = [first]
            add(again, due: Fixture.start + .seconds(9000), payload: payload, to: &facts)
        }
        let replayed =
            "replayed at 2026-01-05T09:30:00Z: it ran; the next step of the escalation waits until 2026-01-05T11:30:00Z"
        #expect(found.notes.filter { $0.contains("escalation") } == ["the escalation has ended", replayed])
    }
}
