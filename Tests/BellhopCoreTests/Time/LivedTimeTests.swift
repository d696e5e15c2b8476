import BellhopCore
import Testing

struct LivedTimeTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    @Test func `time that passes at the clock's speed counts in full`() {
        var lived = LivedTime(at: start)
        for day in 1...100 { lived.pass(to: start + .days(day), lived: .days(1)) }
        #expect(lived.stretched(Retention()) == Retention())
    }

    @Test func `setting the clock forward does not make rows older`() {
        var lived = LivedTime(at: start)
        lived.pass(to: start + .days(10), lived: .days(10))
        let isSkip = lived.pass(to: start + .days(70), lived: .seconds(60))
        #expect(isSkip)
        // At the start plus ten days of lived time, rows from the start are ten days old.
        #expect(lived.latest - lived.span(of: .days(10)) >= start)
        #expect(lived.latest - lived.span(of: .days(30)) < start)
        // Twenty days later they are thirty days old.
        lived.pass(to: start + .days(90) + .seconds(60), lived: .days(20) + .seconds(60))
        #expect(lived.latest - lived.span(of: .days(29)) > start)
        #expect(lived.latest - lived.span(of: .days(31)) < start)
        // Rows written since then are as old as the clock says.
        #expect(lived.span(of: .days(19)) == .days(19))
    }

    @Test func `every time the clock is set forward is remembered`() {
        var lived = LivedTime(at: start)
        var now = start
        for _ in 0..<300 {
            now += .days(2)
            lived.pass(to: now, lived: .days(1))
        }
        #expect(lived.latest - lived.span(of: .days(300)) <= start)
        #expect(lived.latest - lived.span(of: .days(20)) == now - .days(40))
    }

    @Test func `setting the clock back, and small corrections, change nothing`() {
        var lived = LivedTime(at: start)
        let isSkip = lived.pass(to: start - .days(5), lived: .seconds(60))
        let isSkipAgain = lived.pass(to: start - .days(5) + .seconds(80), lived: .seconds(60))
        #expect(!isSkip && !isSkipAgain)
        #expect(lived.span(of: .days(30)) == .days(30))
    }

    @Test func `time while the agent is stopped counts as at most one day`() {
        var lived = LivedTime(at: start)
        lived.resume(at: start + .seconds(3600))
        #expect(lived.span(of: .days(30)) == .days(30))
        lived.resume(at: start + .days(500))
        #expect(lived.latest - lived.span(of: .days(1)) >= start)
        #expect(lived.latest - lived.span(of: .days(2)) < start)
    }

    @Test func `lived time is equal after storing and reading`() {
        var lived = LivedTime(at: start)
        lived.pass(to: start + .days(60), lived: .seconds(60))
        lived.pass(to: start + .days(90), lived: .seconds(60))
        #expect(LivedTime(json: lived.json) == lived)
        #expect(LivedTime(json: ["latest": 1]) == nil)
    }
}
