import BellhopCore
import Testing

struct RunningTimeTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    @Test func `time that passes at the clock's speed counts in full`() {
        var running = RunningTime(at: start)
        for day in 1...100 { running.pass(to: start + .days(day), elapsed: .days(1)) }
        #expect(running.inClockTime(Retention()) == Retention())
    }

    @Test func `setting the clock forward does not make rows older`() {
        var running = RunningTime(at: start)
        running.pass(to: start + .days(10), elapsed: .days(10))
        let isSkip = running.pass(to: start + .days(70), elapsed: .seconds(60))
        #expect(isSkip)
        // At the start plus ten days of running time, rows from the start are ten days old.
        #expect(running.latest - running.span(of: .days(10)) >= start)
        #expect(running.latest - running.span(of: .days(30)) < start)
        // Twenty days later they are thirty days old.
        running.pass(to: start + .days(90) + .seconds(60), elapsed: .days(20) + .seconds(60))
        #expect(running.latest - running.span(of: .days(29)) > start)
        #expect(running.latest - running.span(of: .days(31)) < start)
        // Rows written since then are as old as the clock says.
        #expect(running.span(of: .days(19)) == .days(19))
    }

    @Test func `every time the clock is set forward is remembered`() {
        var running = RunningTime(at: start)
        var now = start
        for _ in 0..<300 {
            now += .days(2)
            running.pass(to: now, elapsed: .days(1))
        }
        #expect(running.latest - running.span(of: .days(300)) <= start)
        #expect(running.latest - running.span(of: .days(20)) == now - .days(40))
    }

    @Test func `setting the clock back, and small corrections, change nothing`() {
        var running = RunningTime(at: start)
        let isSkip = running.pass(to: start - .days(5), elapsed: .seconds(60))
        let isSkipAgain = running.pass(to: start - .days(5) + .seconds(80), elapsed: .seconds(60))
        #expect(!isSkip && !isSkipAgain)
        #expect(running.span(of: .days(30)) == .days(30))
    }

    @Test func `time while the agent is stopped counts as at most one day`() {
        var running = RunningTime(at: start)
        running.resume(at: start + .seconds(3600))
        #expect(running.span(of: .days(30)) == .days(30))
        running.resume(at: start + .days(500))
        #expect(running.latest - running.span(of: .days(1)) >= start)
        #expect(running.latest - running.span(of: .days(2)) < start)
    }

    @Test func `running time is equal after storing and reading`() {
        var running = RunningTime(at: start)
        running.pass(to: start + .days(60), elapsed: .seconds(60))
        running.pass(to: start + .days(90), elapsed: .seconds(60))
        #expect(RunningTime(json: running.json) == running)
        #expect(RunningTime(json: ["latest": 1]) == nil)
    }
}
