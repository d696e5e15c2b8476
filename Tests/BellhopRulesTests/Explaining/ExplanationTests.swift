import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopRules

/// The explanation of an event by `bellhop explain`, from records, deliveries and the rules' text.
@Suite struct ExplanationTests {
    private func book(_ rules: String) throws -> RuleBook {
        try RuleBook.loadToExplain([RuleFile("rules/test.yaml", rules)], context: Fixture.context())
    }

    /// The explanation of a rule for one event that it has seen.
    func account(
        _ rule: String, _ event: Event = Fixture.event(), _ change: (inout ExplanationFacts) -> Void = { _ in }
    ) throws -> Explanation.Account {
        let book = try book("rule: r\n\(rule)\ndo: [{log: x, if: task.number != ''}]")
        var facts = ExplanationFacts(events: [StoredEvent(sequence: 5, event: event)])
        facts.rules = [.init(name: "r", revision: "", since: 0)]
        change(&facts)
        return try #require(Explanation(facts, by: book, rule: "r", at: Fixture.start + .seconds(3600)).events.first?.rules.first)
    }

    func record(_ verdict: DecisionRecord.Verdict, _ detail: JSON.Object = [:]) -> DecisionRecord {
        DecisionRecord(
            rule: "r", verdict: verdict, occasion: Occasion.event(Event.ID("e1")).id, at: Fixture.start, detail: detail)
    }

    /// Adds a record together with the timer that it is about.
    func add(
        _ record: DecisionRecord, due: BellhopCore.Timestamp, payload: JSON.Object = [:], to facts: inout ExplanationFacts
    ) {
        facts.decisions.append(record)
        if let id = record.timer { facts.timers[id] = RuleTimer(id, due: due, payload: payload) }
    }

    func delivery(_ state: DeliveryState, _ occasion: Occasion.ID = Occasion.event(Event.ID("e1")).id)
        -> ExplainedDelivery
    {
        ExplainedDelivery(
            id: "d", rule: "r", occasion: occasion, step: StepPath(index: 0), revision: "1", state: state, action: "log",
            receiver: "log", content: "x", created: Fixture.start)
    }

    @Test func `a generated test says of a change that a write of a rule caused it`() throws {
        let files = [RuleFile("rules/r.yaml", "rule: r\non: task_changed\nfrom: my-work\ndo: [{log: x}]")]
        var own = Fixture.changed(Fixture.task(fields: ["state": 2]), from: Fixture.task(fields: ["state": 1]), id: "e2")
        own.hop = 1
        let facts = ExplanationFacts(
            events: [StoredEvent(sequence: 1, event: Fixture.event()), StoredEvent(sequence: 2, event: own)])
        let book = try RuleBook.loadToExplain(files, context: Fixture.context())
        let test = try ExplainedTest(of: nil, in: [facts], rule: "r", by: book, files: files, context: Fixture.context())
        #expect(test.text.split(separator: "\n").count { $0.hasSuffix(" own: true") } == 1, "\(test.text)")
    }

    @Test func `the verdict says whether the type, the source, a field or a disabled rule prevented the run`() throws {
        #expect(try account("on: task_removed").verdict == .type)
        #expect(try account("on: task_created\nfrom: incidents").verdict == .source)
        #expect(try account("on: {task_changed: {state: {to: 2}}}", Fixture.event(.taskChanged)).verdict == .field)
        #expect(try account("on: task_created\nenabled: false").verdict == .off)
        let pattern = "on: {sequence: [{type: task_created, from: incidents}, {type: task_removed, from: my-work}], within: 1h}"
        #expect(try account(pattern).reason == "`from` does not name the source `my-work`")
        #expect(try account("on: task_removed").isRelevant == false)
    }

    @Test func `a condition is false, unknown or failed, with the value of each part`() throws {
        let task = Fixture.task(fields: ["priority": 3])
        let no = try account("on: task_created\nwhen: task.priority == 1", Fixture.event(.taskCreated, task))
        #expect(no.verdict == .conditionFalse && no.parts.lines == ["task.priority  3"])
        let unknown = try account("on: task_created\nfrom: my-work\nwhen: task.priority < 2")
        #expect(unknown.verdict == .conditionUnknown && unknown.parts.lines == ["task.priority  null"])
        #expect(
            try account("on: task_created\nwhen: 1 / int(task.number.size() - task.number.size()) == 1").verdict
                == .conditionFailed)
    }

    @Test func `an event that begins no absence is explained by the condition, which may read the absence's key`() throws {
        func account(when condition: String, _ fields: JSON.Object = [:]) throws -> Explanation.Account {
            let rule = "on: {none: task_commented, after: task_created, within: 1h, by: task.id}\nwhen: \(condition)"
            return try self.account(rule, Fixture.event(.taskCreated, Fixture.task("a1", fields: fields)))
        }
        let no = try account(when: "task.priority == 1", ["priority": 3])
        #expect(no.verdict == .conditionFalse && no.parts.lines == ["task.priority  3"])
        #expect(try account(when: "task.priority < 2", ["priority": .null]).verdict == .conditionUnknown)
        let key = try account(when: "key != 'a1'")
        #expect(key.verdict == .conditionFalse && key.parts.lines == ["key  \"a1\""])
    }

    @Test func `a run that was stopped is explained by its record`() throws {
        let once = try account("on: task_created\nonce: task.id") { $0.decisions = [record(.once, ["key": "a1"])] }
        #expect(once.verdict == .once && once.reason == "`once` stopped it: it ran for the key \"a1\" before")
        let throttled = try account("on: task_created\nthrottle: {every: 1h}") {
            $0.decisions = [record(.throttled, ["last": "2026-01-05T08:30:00Z"])]
        }
        #expect(throttled.verdict == .throttled && throttled.reason.contains("less than 1h before"))
    }

    @Test func `a run in shadow mode stays one if skip_empty kept back one of its messages`() throws {
        let found = try account("on: task_created\nmode: shadow") { facts in
            var empty = delivery(.done)
            empty.answer = "not sent: every list is empty"
            facts.deliveries = [empty, delivery(.shadow)]
        }
        #expect(found.verdict == .shadow && found.deliveries.count == 2)
    }

    @Test func `a wait is explained by its outcome`() throws {
        let rule = "on: task_created\nfor: 10m"
        let timer = Occasion.timer(.init(rule: "r", kind: .hold, key: "acme/a1"), due: Fixture.start, .event(5)).id
        let waiting = record(.waiting, ["key": "a1", "until": "2026-01-05T09:10:00Z"])
        #expect(try account(rule) { add(waiting, due: Fixture.start + .seconds(7200), to: &$0) }.verdict == .waiting)
        let lost = try account(rule) { $0.decisions = [waiting] }
        #expect(lost.verdict == .unknown && lost.reason.hasPrefix("`for` no longer waits, and the reason is not recorded"))
        var end = record(.notTrueWhenDue)
        end.occasion = timer
        #expect(try account(rule) { $0.decisions = [waiting, end] }.verdict == .notTrueWhenDue)
        let ran = try account(rule) { facts in
            facts.decisions = [waiting]
            facts.deliveries = [delivery(.done, timer)]
        }
        #expect(ran.verdict == .ran && ran.deliveries.count == 1)
    }

    @Test func `the explanation of a counted or waiting event says when its time was over`() throws {
        for (minutes, isOver) in [(60, true), (61, false)] {
            let until: JSON = .string((Fixture.start + .seconds(60 * minutes)).rfc3339)
            let counted = try account("on: task_created\ncount: {at_least: 3, within: 1h}") {
                $0.decisions = [record(.counting, ["counted": 1, "of": 3, "until": until])]
            }
            #expect(counted.verdict == (isOver ? .expired : .counting))
            let time = "before the time of this event was over at 2026-01-05T10:00:00Z"
            #expect(counted.reason.contains("did not reach 3 \(time)") == isOver)
            let waited = try account("on: {all: [task_created, task_changed], within: 1h}") {
                $0.decisions = [record(.waiting, ["part": "all", "come": 1, "of": 2, "until": until])]
            }
            #expect(waited.verdict == (isOver ? .expired : .waiting))
            #expect(waited.reason.contains("`all` was not complete \(time)") == isOver)
        }
        // After the end of a wait of `for` the rule must still be evaluated.
        let held = try account("on: task_created\nfor: 10m") {
            $0.decisions = [record(.waiting, ["part": "for", "until": .string((Fixture.start + .seconds(600)).rfc3339)])]
        }
        #expect(held.verdict == .waiting)
    }

    @Test func `a wait that another event began at the same moment is under way only if that event came before`() throws {
        for (place, isUnderWay) in [(4, true), (6, false)] {
            let found = try account("on: task_created\nfor: 10m") { facts in
                var began = record(.waiting, ["part": "for", "key": "my-work/a1", "place": .int(Int64(place))])
                began.occasion = Occasion.event(Event.ID("other")).id
                facts.decisions = [began]
            }
            #expect((found.verdict == .waiting) == isUnderWay, "\(found.reason)")
        }
    }

    @Test func `an absence is under way from its event on, and no longer once it is over or ended`() throws {
        func found(_ change: (inout ExplanationFacts) -> Void) throws -> Explanation.Account {
            let rule = "on: {none: task_commented, after: task_created, within: 1h}"
            return try account(rule, Fixture.event(.taskCommented)) { facts in
                facts.events.append(StoredEvent(sequence: 4, event: Fixture.event(id: "other")))
                // Routed after the event that came with it.
                var began = DecisionRecord(
                    rule: "r", verdict: .waiting, occasion: Occasion.event(Event.ID("other")).id,
                    at: Fixture.start + .seconds(5), detail: ["part": "none", "key": "", "place": 4])
                began.detail["until"] = .string((Fixture.start + .seconds(3600)).rfc3339)
                facts.decisions = [began]
                change(&facts)
            }
        }
        #expect(try found { _ in }.verdict == .waiting)
        let over = try found { facts in
            let timer = Occasion.timer(.init(rule: "r", kind: .absence, key: ""), due: Fixture.start, .event(4)).id
            facts.decisions.append(
                DecisionRecord(rule: "r", verdict: .notTrueWhenDue, occasion: timer, at: Fixture.start - .seconds(1)))
        }
        #expect(over.verdict == .conditionFalse && over.reason.hasPrefix("no absence is recorded"))
        let ended = try found { facts in
            facts.events.append(StoredEvent(sequence: 3, event: Fixture.event(id: "end")))
            facts.decisions[0].detail["place"] = 2
            facts.decisions.append(
                DecisionRecord(
                    rule: "r", verdict: .endedEarly, occasion: Occasion.event(Event.ID("other")).id, at: Fixture.start,
                    detail: ["by": "event/end"]))
        }
        #expect(ended.verdict == .conditionFalse)
    }

    @Test func `the verdict names what kept deliveries back`() throws {
        for (state, verdict) in [
            (DeliveryState.done, Explanation.Verdict.ran), (.silenced, .silenced), (.quiet, .quiet), (.shadow, .shadow),
        ] { #expect(try account("on: task_created") { $0.deliveries = [delivery(state)] }.verdict == verdict) }
        #expect(try account("on: task_created\nmode: {canary: 10%}") { $0.deliveries = [delivery(.shadow)] }.verdict == .canary)
    }

    @Test func `an event that the rule did not see is explained as unrouted or unseen`() throws {
        #expect(try account("on: task_created") { $0.unrouted = [5] }.verdict == .unrouted)
        #expect(try account("on: task_created") { $0.rules[0].since = 5 }.verdict == .unseen)
        #expect(try account("on: task_created") { $0.rules = [] }.verdict == .unseen)
        #expect(
            try account("on: task_created") { $0.pauses = [Pause(.rule("r"), since: Fixture.start, reason: "")] }.verdict
                == .unseen)
    }

    @Test func `an event is not explained by a version of the rule that came after it`() throws {
        typealias Kind = ExplanationFacts.Change.Kind
        func found(_ rule: String, _ kind: Kind, _ event: Event = Fixture.event()) throws -> Explanation.Account {
            try account(rule, event) { $0.changes = [.init(of: "r", kind, at: Fixture.start + .seconds(60), routed: 5)] }
        }
        let rule = "on: task_created\nwhen: task.priority == 1"
        let event = Fixture.event(.taskCreated, Fixture.task(fields: ["priority": 3]))
        #expect(try Kind.allCases.map { try found(rule, $0, event).verdict } == [.unseen, .conditionFalse, .unknown, .unknown])
        #expect(try Kind.allCases.map { try found("on: task_created", $0).verdict } == [.unseen, .unknown, .unknown, .unknown])
        #expect(try found("on: task_removed", .anew).verdict == .type)
        let reason = try found(rule, .anew, event).reason
        #expect(reason.contains("was changed at 2026-01-05T09:01:00Z") && reason.contains("`when` is false"))
        // The rules had seen only earlier events when it was changed.
        let later = try account(rule, event) {
            $0.changes = [.init(of: "r", .anew, at: Fixture.start + .seconds(60), routed: 4)]
        }
        #expect(later.verdict == .conditionFalse)
    }

    @Test func `a step whose condition is false is named`() throws {
        let found = try account("on: task_created", Fixture.event(.taskCreated, Fixture.task(number: "")))
        #expect(found.verdict == .ran && found.notes == ["`if` of step 0 (`log`) is false"])
    }

    @Test func `an overdue wait says whether it runs with the next poll or once its rule is resumed`() throws {
        let waits = [
            ("on: task_created\nwhen: task.priority == 1\nfor: 10m", "for", "with the agent's next poll"),
            ("on: {none: task_commented, after: task_created, within: 10m, by: task.id}", "none", "with the agent's next poll"),
            ("on: task_created\ngroup: {by: task.number, wait: 10m}", "group", "once an agent runs"),
        ]
        for (rule, part, moment) in waits {
            let waiting = record(
                part == "group" ? .gathering : .waiting,
                ["part": .string(part), "key": "my-work/a", "until": "2026-01-05T23:00:00Z"])
            let payload: JSON.Object = ["source": "my-work"]
            let overdue = try account(rule) { add(waiting, due: Fixture.start + .seconds(600), payload: payload, to: &$0) }
            #expect(overdue.verdict == (part == "group" ? .gathering : .waiting))
            #expect(overdue.reason == "`\(part)` was due at 2026-01-05T09:10:00Z, and comes \(moment)")
            let paused = try account(rule) {
                add(waiting, due: Fixture.start + .seconds(600), to: &$0)
                $0.pauses = [Pause(.rule("r"), since: Fixture.start, reason: "x")]
            }
            #expect(paused.reason.hasSuffix(", and comes once the rule is resumed"))
            // A calendar that has changed since has moved the timer.
            let moved = try account(rule) { add(waiting, due: Fixture.start + .seconds(7200), to: &$0) }
            #expect(moved.reason.hasSuffix("until 2026-01-05T11:00:00Z"))
            let recomputed = try account(rule) { add(waiting, due: Fixture.start, payload: ["again": true], to: &$0) }
            #expect(recomputed.reason.hasSuffix("its end is computed again, because a calendar has changed"))
            let lost = try account(rule) { $0.decisions = [waiting] }
            #expect(lost.verdict == .unknown && lost.reason.hasPrefix("`\(part)` no longer waits"))
            // Another wait under the same key began later.
            let later: JSON = .int((Fixture.start + .seconds(1)).microseconds)
            let other = try account(rule) {
                add(waiting, due: Fixture.start + .seconds(7200), payload: ["begun": later], to: &$0)
            }
            #expect(other.verdict == .unknown)
        }
    }

    @Test func `an event that is unrouted or came during a pause is not shown as part of a wait`() throws {
        let began = DecisionRecord(
            rule: "r", verdict: .waiting, occasion: Occasion.event(Event.ID("e0")).id, at: Fixture.start,
            detail: ["part": "for", "key": "my-work/a1", "place": 1])
        func account(_ change: (inout ExplanationFacts) -> Void) throws -> Explanation.Account {
            try self.account("on: task_created\nfor: 10m") { facts in
                add(began, due: Fixture.start + .seconds(7200), to: &facts)
                change(&facts)
            }
        }
        #expect(try account { _ in }.verdict == .waiting)
        #expect(try account { $0.unrouted = [5] }.verdict == .unrouted)
        #expect(try account { $0.turns = [.init(of: "r", isPause: false, at: Fixture.start + .seconds(60))] }.verdict == .unseen)
    }

    @Test func `only the tasks that conditions for the event read are needed to explain it`() throws {
        let book = try book(
            """
            rule: full
            on: task_created
            from: my-work
            when: size(tasks) > 2
            do: [{log: x}]
            ---
            rule: numbered
            on: [task_created, task_removed]
            when: task.number != ''
            do: [{log: x}]
            """)
        func scopes(_ type: EventType, by rule: String? = nil) -> Set<Scope.ID> {
            book.scopesRead(toJudge: [StoredEvent(sequence: 5, event: Fixture.event(type))], by: rule)
        }
        #expect(scopes(.taskCreated) == [Fixture.scope] && scopes(.taskCreated, by: "full") == [Fixture.scope])
        #expect(scopes(.taskCreated, by: "numbered").isEmpty && scopes(.taskRemoved).isEmpty)
        let facts = ExplanationFacts(events: [StoredEvent(sequence: 5, event: Fixture.event())])
        let explanation = Explanation(facts, by: book, rule: "full", tasks: [Fixture.scope: []], at: Fixture.start)
        #expect(explanation.events.first?.rules.first?.verdict == .conditionFalse)
    }

    @Test func `a run without a step is noted, and does not hide other elements that still wait`() throws {
        let noStep = record(.noStep, ["left_out": ["`if` of step 0 (`log`) is false"]])
        let waiting = record(.waiting, ["part": "for", "key": "b", "until": .string((Fixture.start + .seconds(600)).rfc3339)])
        let rule = "on: {every: 5m}\neach: tasks\nfor: 10m"
        let both = try account(rule) { facts in
            add(waiting, due: Fixture.start + .seconds(7200), to: &facts)
            facts.decisions.append(noStep)
        }
        #expect(both.verdict == .waiting && both.notes == ["no step had anything to do: `if` of step 0 (`log`) is false"])
        let alone = try account(rule) { $0.decisions = [noStep] }
        #expect(alone.verdict == .ran && alone.reason.hasPrefix("no step had anything to do"))
        let gathered = try account("on: task_created\ngroup: {wait: 30s}") {
            $0.decisions = [record(.gathering, ["gathered": 1]), noStep]
        }
        #expect(gathered.verdict == .ran && gathered.reason.hasPrefix("no step had anything to do"))
    }

    @Test func `without rules, an explanation has only recorded facts`() throws {
        var facts = ExplanationFacts(events: [StoredEvent(sequence: 5, event: Fixture.event())])
        facts.deliveries = [delivery(.done)]
        let explanation = Explanation(facts, by: nil, at: Fixture.start)
        #expect(explanation.events[0].rules.map(\.verdict) == [.ran])
    }
}
