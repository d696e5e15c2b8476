import BellhopCore
import Testing

@testable import BellhopStore

/// The work of SQLite's machine beside many rows that do not matter to it.
@Suite struct `The work beside many other rows` {
    /// The steps for checking 20 silences of bellhop.yaml beside so many that have ended.
    private func check(besideEnded count: Int) async throws -> Int {
        let bench = try SQLiteUnderTest()
        let schedule = try CronSchedule("*/10 * * * *")
        let entries = (0..<20).map { number in
            SilenceEntry(
                Silence(starts: .distantFuture, ends: .distantFuture, reason: "\(number)"),
                times: .recurring(schedule, .utc, zone: "UTC", lasting: .seconds(120)))
        }
        return try await bench.sqlite.write { session in
            _ = try session.beginAndEndSilences(entries, at: Sample.now)
            try session.database.execute(
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                INSERT INTO silence (id, entry, starts, ends, body, started, ended)
                SELECT 'old ' || n, 'entry ' || n, 0, 1, 'a body that is not read', 0, 1 FROM number
                """)
            _ = session.takeWork()
            #expect(try session.beginAndEndSilences(entries, at: Sample.now).isEmpty)
            #expect(try session.silences(includingEnded: false).count == 40)
            return session.takeWork().steps
        }
    }

    @Test func `checking silences reads none that has ended`() async throws {
        let (few, many) = (try await check(besideEnded: 1), try await check(besideEnded: 5000))
        #expect(many - few < 5000 * 20 && few > 100, "\(few) \(many)")
    }

    /// The steps for reading the waits that so many events may end, of 50 rules with three waits each.
    private func waits(endedBy events: Int) async throws -> Int {
        let bench = try SQLiteUnderTest()
        let rules = (0..<50).map { "rule \($0)" }
        try await bench.store.route(
            Routing(
                state: rules.flatMap { rule in
                    (1...3).map { StateWrite(StateKey(rule: rule, kind: .hold, key: "\($0)"), .set(true, expires: nil)) }
                }))
        let keys = (1...events).map { "\($0)" }
        return try await bench.sqlite.write { session in
            _ = session.takeWork()
            let found = try session.waits(for: Dictionary(uniqueKeysWithValues: rules.map { ($0, keys) }))
            #expect(found.all.count == 150)
            return session.takeWork().steps
        }
    }

    @Test func `the waits that a burst may end are not looked for one by one`() async throws {
        let (few, many) = (try await waits(endedBy: 3), try await waits(endedBy: 1000))
        #expect(many == few && few > 100, "\(few) \(many)")
    }
}
