import BellhopCore
import Testing

struct ReceiverPaceTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    @Test func `a pace restored after a restart waits its interval before the first attempt`() {
        var pace = ReceiverPace(most: 4)
        let rest = ReceiverStop(
            receiver: "ops", cause: .rest, since: start - .seconds(10), until: start - .seconds(9), interval: .seconds(1),
            why: "Slow down.")
        pace.restore(rest, at: start)
        let now = pace.room(inFlight: 0, at: start)
        #expect(now.attempts == 0)
        #expect(now.next == start + .seconds(1))
        let later = pace.room(inFlight: 0, at: start + .seconds(1))
        #expect(later.attempts == 1)
    }

    @Test func `a receiver that refused gets one attempt at a time, at the pace it accepted before`() {
        var pace = ReceiverPace(most: 8)
        // One attempt a second is accepted, and the second of two within a second is refused.
        pace.began(at: start)
        pace.ended(wasTaken: true, began: start, at: start + .milliseconds(10))
        pace.began(at: start + .milliseconds(10))
        let refusal = pace.refused(began: start + .milliseconds(10), wait: .seconds(1), at: start + .milliseconds(20))
        #expect(refusal.isNew && refusal.rest == .seconds(1))
        let after = pace.room(inFlight: 0, at: start + .milliseconds(1100))
        #expect(after.attempts == 1)
        #expect(pace.interval > .seconds(1) && pace.interval < .milliseconds(1100))
    }
}
