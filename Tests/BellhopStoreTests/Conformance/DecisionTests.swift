import BellhopCore
import BellhopStore
import Testing

@Suite struct `Records of decisions` {
    private func record(
        _ verdict: DecisionRecord.Verdict, rule: String = "a", _ event: Int = 1, at time: Timestamp, number: Int64 = 1,
        detail: JSON.Object = [:]
    ) -> DecisionRecord {
        DecisionRecord(
            rule: rule, verdict: verdict, occasion: Occasion.event(Sample.event(event).id).id, at: time, number: number,
            detail: detail)
    }

    @Test(arguments: Benches())
    func `records are found by occasion, rule, verdict and time`(_ bench: Bench) async throws {
        let records = [
            record(.throttled, at: bench.now, detail: ["last": "2026-01-05T09:00:00Z"]),
            record(.once, rule: "b", 2, at: bench.after(1), detail: ["key": "k"]),
            record(.keyFailed, 2, at: bench.after(2), detail: ["error": "`by` has no value"]),
        ]
        try await bench.store.route(Routing(decisions: records))
        func found(_ query: DecisionQuery) async throws -> [DecisionRecord] { try await bench.store.decisions(query) }
        #expect(try await found(DecisionQuery()) == records)
        #expect(try await found(DecisionQuery(occasion: records[1].occasion)) == Array(records[1...]))
        #expect(try await found(DecisionQuery(occasion: records[1].occasion, rule: "a")) == [records[2]])
        #expect(try await found(DecisionQuery(rule: "b")) == [records[1]])
        #expect(try await found(DecisionQuery(verdicts: [.throttled, .keyFailed])) == [records[0], records[2]])
        #expect(try await found(DecisionQuery(since: bench.after(1))) == Array(records[1...]))
        #expect(try await found(DecisionQuery(limit: 1)) == [records[2]])
    }

    @Test(arguments: Benches())
    func `an escalation that is forgotten, or ends with its rule, leaves a record at its run`(_ bench: Bench) async throws {
        let names = ["gone", "off", "forgotten", "over", "kept"]
        func rules(_ names: [String], off: String? = nil) -> [RuleRegistration] {
            names.map { RuleRegistration(name: $0, revision: "1", isOff: $0 == off) }
        }
        _ = try await bench.store.register(rules(names), at: bench.now)
        let state = names.enumerated().map { number, name -> StateWrite in
            var value: JSON.Object = [
                "run": .string(Occasion.event(Sample.event(number).id).id.text), "event": .int(Int64(number)), "at": 0,
                "subject": .string(name == "forgotten" ? Sample.subject(1) : Sample.subject(2)),
            ]
            // All its steps are done; an answer only closes its pages.
            if name == "over" { value["closes"] = 9 }
            let key = StateKey(rule: "", kind: .escalation, key: "s/\(number)", element: name)
            return StateWrite(key, .set(.object(value), expires: nil))
        }
        try await bench.store.route(Routing(state: state))
        _ = try await bench.store.register(rules(["off", "forgotten", "kept"], off: "off"), at: bench.after(1))
        let task = NamedTask(subject: Sample.subject(1), key: Sample.key(1), number: "", title: "")
        _ = try await bench.store.forget(task, at: bench.after(2))
        func record(_ rule: String, _ event: Int, _ ending: DecisionRecord.Ending, after seconds: Int) -> DecisionRecord {
            self.record(
                .ended, rule: rule, event, at: bench.after(seconds),
                detail: ["ending": .string(ending.rawValue), "key": .string("s/\(event)")])
        }
        let found = try await bench.store.decisions(DecisionQuery())
        #expect(
            found.sorted { $0.rule < $1.rule } == [
                record("forgotten", 2, .forgotten, after: 2), record("gone", 0, .removed, after: 1),
                record("off", 1, .off, after: 1),
            ])
    }

    @Test(arguments: Benches())
    func `records of one verdict beyond the limit are deleted, the oldest first, and no others`(_ bench: Bench) async throws {
        let most = Int64(DecisionRecord.most)
        try await bench.store.route(Routing(decisions: [record(.budget, at: bench.now)]))
        for batch in 0..<4 {
            // Each batch counts a thousand, and has the latest of them.
            let records = (1001 - most...1000).map { number in
                record(.throttled, Int(number), at: bench.after(batch), number: number)
            }
            try await bench.store.route(Routing(decisions: records + [record(.once, at: bench.after(batch))]))
        }
        let kept = try await bench.store.decisions(DecisionQuery(verdicts: [.throttled], limit: .max))
        #expect(kept.map(\.number) == Array(4001 - most...4000))
        #expect(try await bench.store.decisions(DecisionQuery(verdicts: [.once])).map(\.number) == [1, 2, 3, 4])
        #expect(try await bench.store.decisions(DecisionQuery(verdicts: [.budget])).count == 1)
    }

    @Test(arguments: Benches())
    func `common records are kept for a shorter time than rare ones`(_ bench: Bench) async throws {
        let records = DecisionRecord.Verdict.allCases.flatMap { verdict in
            (1...5).flatMap { rule in
                (1...Int64(DecisionRecord.most)).map { record(verdict, rule: "\(rule)", at: bench.now, number: $0) }
            }
        }
        try await bench.store.route(Routing(decisions: records))
        let retention = Retention(events: .days(30), commonDecisions: .days(7))
        let common = records.filter(\.verdict.isCommon).count
        #expect(try await bench.store.prune(retention, at: bench.now + .days(7)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.now + .days(7) + .seconds(1)) == common)
        #expect(try await bench.store.prune(retention, at: bench.now + .days(30) + .seconds(1)) == records.count - common)
        #expect(try await bench.store.decisions(DecisionQuery()).isEmpty)
    }

    @Test(arguments: Benches())
    func `a routing that is refused leaves no record`(_ bench: Bench) async throws {
        try await bench.store.append([Sample.event(1)])
        try await bench.store.route(Routing(routed: [1], decisions: [record(.once, at: bench.now)]))
        #expect(try await bench.store.route(Routing(routed: [1], decisions: [record(.loop, at: bench.now)])) == .alreadyRouted)
        #expect(try await bench.store.decisions(DecisionQuery()).map(\.verdict) == [.once])
    }
}
