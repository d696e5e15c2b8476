import BellhopCore
import Testing

/// Silences in the store: each begins and ends once, and counts its silenced deliveries.
@Suite struct `Stored silences` {
    private static func silence(_ reason: String, from start: Int = 0, to end: Int = 600) -> Silence {
        Silence(starts: Sample.now + .seconds(start), ends: Sample.now + .seconds(end), reason: reason, by: "ann").identified
    }

    private static func entry(_ reason: String) throws -> SilenceEntry {
        SilenceEntry(
            Silence(starts: .distantFuture, ends: .distantFuture, reason: reason),
            times: .recurring(try CronSchedule("*/10 * * * *"), .utc, zone: "UTC", lasting: .seconds(120)))
    }

    /// The events of silences: type, reason and the count of silenced deliveries.
    private func silenceEvents(_ bench: Bench) async throws -> [String] {
        try await bench.store.events(EventQuery(types: [.silenceStarted, .silenceEnded])).map { stored in
            let silence = stored.event.data["silence"]
            #expect(stored.event.source == "bellhop")
            let kept = silence?["kept"]?.asInt.map { " \($0)" } ?? ""
            return "\(stored.event.type == .silenceStarted ? "started" : "ended") \(silence?["reason"]?.asString ?? "")\(kept)"
        }
    }

    @Test(arguments: Benches())
    func `a silence begins and ends with one event each, even if it is checked more often`(_ bench: Bench) async throws {
        #expect(try await bench.store.add(Self.silence("later", from: 10, to: 20), at: bench.now))
        #expect(try await !bench.store.add(Self.silence("later", from: 10, to: 20), at: bench.now))
        var seen: [Int: [String]] = [:]
        for second in 0...25 {
            for _ in 1...2 { _ = try await bench.store.beginAndEndSilences([], at: bench.now) }
            seen[second] = try await silenceEvents(bench)
            await bench.clock.pass(1)
        }
        #expect(seen[9] == [])
        #expect(seen[10] == ["started later"])
        #expect(seen[19] == ["started later"])
        #expect(seen[20] == ["started later", "ended later 0"])
        #expect(seen[25] == ["started later", "ended later 0"])
    }

    @Test(arguments: Benches())
    func `a silence that began and ended between two checks is reported once, in order`(_ bench: Bench) async throws {
        try await bench.store.add(Self.silence("past", from: 10, to: 20), at: bench.now)
        await bench.clock.pass(3600)
        for _ in 1...2 { _ = try await bench.store.beginAndEndSilences([], at: bench.now) }
        #expect(try await silenceEvents(bench) == ["started past", "ended past 0"])
    }

    @Test(arguments: Benches())
    func `deliveries that a silence keeps back are counted, never claimed, and pruned`(_ bench: Bench) async throws {
        let silence = Self.silence("now")
        try await bench.store.add(silence, at: bench.now)
        let kept = (1...3).map { Sample.delivery($0, initial: .silenced(by: silence.id)) }
        try await bench.enqueue(kept + [Sample.delivery(4)])
        #expect(try await bench.states() == [.silenced, .silenced, .silenced, .available])
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(4).id])
        let records = try await bench.store.deliveries(DeliveryQuery(states: [.silenced]))
        #expect(records.map(\.delivery.initial) == Array(repeating: .silenced(by: silence.id), count: 3))
        #expect(try await bench.store.apply(.retry, to: kept.map(\.id), at: bench.now) == 0)
        #expect(try await bench.store.endSilence(silence.id, at: bench.now)?.kept == 3)
        #expect(try await silenceEvents(bench) == ["started now", "ended now 3"])
        await bench.clock.pass(31 * 86_400)
        try await bench.store.prune(Retention(), at: bench.now)
        #expect(try await bench.states() == [.running])
        #expect(try await bench.store.silences().isEmpty)
    }

    @Test(arguments: Benches())
    func `a batch is refused if a silence that it used has ended`(_ bench: Bench) async throws {
        let silence = Self.silence("now")
        try await bench.store.add(silence, at: bench.now)
        try await bench.store.append([Sample.event(1)])
        _ = try await bench.store.endSilence(silence.id, at: bench.now)
        let routing = Routing(routed: [1], deliveries: [Sample.delivery(1, initial: .silenced(by: silence.id))])
        #expect(try await bench.store.route(routing) == .conflict(.silence(silence.id)))
        #expect(try await bench.states().isEmpty)
        #expect(try await bench.store.silences().map(\.kept) == [0])
    }

    @Test(arguments: Benches())
    func `a recurring silence begins at each of its times, and ends when its entry is gone`(_ bench: Bench) async throws {
        let entries = [try Self.entry("cleaning")]
        for _ in 0..<25 {
            _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
            await bench.clock.pass(60)
        }
        let one = ["started cleaning", "ended cleaning 0"]
        #expect(try await silenceEvents(bench) == one + one + one)
        await bench.clock.pass(5 * 60)
        _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
        #expect(try await silenceEvents(bench).suffix(1) == ["started cleaning"])
        _ = try await bench.store.beginAndEndSilences([], at: bench.now)
        #expect(try await silenceEvents(bench).suffix(1) == ["ended cleaning 0"])
        #expect(try await bench.store.silences().allSatisfy { $0.ended != nil })
    }

    @Test(arguments: Benches())
    func `a recurring silence that a person ended does not begin again before its next time`(_ bench: Bench) async throws {
        let entries = [try Self.entry("cleaning")]
        _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
        let active = try #require(try await bench.store.silences().first { $0.silence.isActive(at: bench.now) })
        _ = try await bench.store.endSilence(active.silence.id, at: bench.now)
        await bench.clock.pass(30)
        _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
        #expect(try await silenceEvents(bench) == ["started cleaning", "ended cleaning 0"])
        await bench.clock.pass(600)
        _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
        #expect(try await silenceEvents(bench).count == 3)
    }

    @Test(arguments: Benches())
    func `an entry that is written again makes its silences again, but not one that a person ended`(_ bench: Bench) async throws {
        let entries = [try Self.entry("cleaning")]
        /// The silence that is active with these entries.
        func active(_ entries: [SilenceEntry]) async throws -> Silence? {
            _ = try await bench.store.beginAndEndSilences(entries, at: bench.now)
            return try await bench.store.silences().first { $0.ended == nil && $0.silence.isActive(at: bench.now) }?.silence
        }
        let first = try #require(try await active(entries))
        await bench.clock.pass(10)
        #expect(try await active([]) == nil)
        await bench.clock.pass(10)
        let second = try #require(try await active(entries))
        #expect(second.id != first.id && second.starts == bench.now && second.ends == first.ends)
        #expect(try await active(entries) == second)
        _ = try await bench.store.endSilence(second.id, at: bench.now)
        await bench.clock.pass(10)
        for entries in [entries, [], entries] { #expect(try await active(entries) == nil) }
        #expect(
            try await silenceEvents(bench) == [
                "started cleaning", "ended cleaning 0", "started cleaning", "ended cleaning 0",
            ])
        await bench.clock.pass(570)
        #expect(try await active(entries)?.starts == bench.now)
    }

    @Test(arguments: Benches())
    func `a clock that is set back begins and ends no silence twice`(_ bench: Bench) async throws {
        try await bench.store.add(Self.silence("once", from: 0, to: 60), at: bench.now)
        for second in [0, 61, 30, 61, 0, 90] {
            _ = try await bench.store.beginAndEndSilences([], at: Sample.now + .seconds(second))
        }
        #expect(try await silenceEvents(bench) == ["started once", "ended once 0"])
    }
}
