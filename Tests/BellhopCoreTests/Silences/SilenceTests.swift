import Testing

@testable import BellhopCore

@Suite struct `Silences and canaries` {
    private static let start = Timestamp(seconds: 1_767_600_000)  // 2026-01-05T08:00:00Z, a Monday
    private static let silence = Silence(id: "s", starts: start, ends: start + .seconds(3600))

    @Test(arguments: [(-1, false), (0, true), (3_599_999_999, true), (3_600_000_000, false)])
    func `a silence includes its start and excludes its end`(_ microseconds: Int64, _ isActive: Bool) {
        let moment = Self.start + .microseconds(microseconds)
        #expect(Self.silence.isActive(at: moment) == isActive)
        #expect(Self.silence.covers(.message, of: "r", to: "ops", at: moment) == isActive)
    }

    @Test func `a silence covers a delivery only if it names both its rule and its receiver`() {
        var silence = Self.silence
        (silence.rules, silence.receivers) = (["a", "b"], ["ops"])
        let covered = [("a", "ops"), ("b", "ops"), ("c", "ops"), ("a", "mail")].map {
            silence.covers(.message, of: $0, to: $1, at: Self.start)
        }
        #expect(covered == [true, true, false, false])
    }

    @Test func `a silence covers messages, writes only on request, and no other actions`() {
        var silence = Self.silence
        func covered() -> [Bool] {
            [Silence.Content.message, .write, .other].map { silence.covers($0, of: "r", to: "ops", at: Self.start) }
        }
        #expect(covered() == [true, false, false])
        silence.writes = true
        #expect(covered() == [true, true, false])
    }

    private static func entry(_ reason: String = "", lasting: Duration = .seconds(4 * 3600)) throws -> SilenceEntry {
        SilenceEntry(
            Silence(starts: .distantFuture, ends: .distantFuture, reason: reason),
            times: .recurring(try CronSchedule("0 22 * * *"), .utc, zone: "UTC", lasting: lasting))
    }

    @Test func `a recurring silence begins at each scheduled time and lasts for its duration`() throws {
        let entry = try Self.entry()
        let due = Self.start + .seconds(14 * 3600)
        for (moment, expected) in [
            (due - .microseconds(1), [due]), (due, [due, due + .days(1)]),
            (due + .seconds(4 * 3600) - .microseconds(1), [due, due + .days(1)]), (due + .seconds(4 * 3600), [due + .days(1)]),
        ] { #expect(entry.silences(at: moment).map(\.starts) == expected) }
        #expect(entry.silences(at: due)[0].ends == due + .seconds(4 * 3600))
    }

    @Test func `each occurrence of a recurring silence has its own stable id`() throws {
        let due = Self.start + .seconds(14 * 3600)
        let first = try Self.entry().silences(at: due)
        #expect(Set(first.map(\.id)).count == 2)
        #expect(try Self.entry().silences(at: due + .seconds(1)) == first)
        #expect(try Self.entry("other").silences(at: due)[0].id != first[0].id)
        #expect(first.allSatisfy { $0.id.count == Silence.idLength })
    }

    @Test func `an entry whose time is over makes no silence`() {
        let entry = SilenceEntry(Self.silence, times: .once(starts: Self.start, ends: Self.start + .seconds(60)))
        #expect(entry.silences(at: Self.start + .seconds(59)).count == 1)
        #expect(entry.silences(at: Self.start + .seconds(60)).isEmpty)
    }

    @Test func `a silence is equal after writing and reading`() {
        var silence = Self.silence
        (silence.when, silence.rules, silence.receivers) = ("task.priority == 1", ["a"], ["ops"])
        (silence.reason, silence.by, silence.writes) = ("a \"reason\"", "ann", true)
        #expect(Silence(json: .object(silence.json)) == silence)
    }

    @Test(arguments: [1, 10, 50, 99])
    func `a canary includes its share of the tasks, and a larger share keeps them`(_ percent: Int) {
        let canary = Canary(percent: percent)
        let tasks = (1...10_000).map { "INC\($0)" }
        let taken = tasks.filter { canary.includes($0, of: "r") }
        #expect(abs(taken.count - percent * 100) < 250)
        #expect(tasks.filter { canary.includes($0, of: "r") } == taken)
        let wider = tasks.filter { Canary(percent: min(percent + 1, 100)).includes($0, of: "r") }
        #expect(Set(taken).isSubset(of: wider))
    }

    @Test func `the canaries of two rules include different tasks`() {
        let canary = Canary(percent: 10)
        let both = (1...10_000).filter { canary.includes("INC\($0)", of: "a") && canary.includes("INC\($0)", of: "b") }
        #expect((50...150).contains(both.count))
    }
}
