import BellhopCore
import Testing

struct ReceiverPaceTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    @Test func `a pace restored after a restart waits its interval before the first attempt`() {
        var pace = ReceiverPace(most: 4)
        let rest = ReceiverStop(
            receiver: "ops", cause: .rest, since: start - .seconds(10), until: start - .seconds(9), interval: .seconds(1),
            reason: "Slow down.")
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
        pace.ended(wasAccepted: true, began: start, at: start + .milliseconds(10))
        pace.began(at: start + .milliseconds(10))
        let refusal = pace.refused(began: start + .milliseconds(10), wait: .seconds(1), at: start + .milliseconds(20))
        #expect(refusal.isNew && refusal.rest == .seconds(1))
        let after = pace.room(inFlight: 0, at: start + .milliseconds(1100))
        #expect(after.attempts == 1)
        #expect(pace.interval > .seconds(1) && pace.interval < .milliseconds(1100))
    }

    /// The interval after a number of accepted attempts, 20 ms apart, and then a refusal.
    private func refuse(_ pace: inout ReceiverPace, after accepted: Int, from begin: Timestamp, wait: Duration) -> Duration {
        for count in 0...accepted {
            let now = begin + .milliseconds(20) * count
            pace.began(at: now)
            if count < accepted {
                pace.ended(wasAccepted: true, began: now, at: now + .milliseconds(10))
            } else {
                pace.refused(began: now, wait: wait, at: now + .milliseconds(10))
            }
        }
        return pace.interval
    }

    @Test func `a refusal after an idle period slows a receiver no more than one without it`() {
        for accepted in [0, 1, 5, 20] {
            var busy = ReceiverPace(most: 4)
            let expected = refuse(&busy, after: accepted, from: start, wait: .seconds(2))
            var pace = ReceiverPace(most: 4)
            for count in 0..<10 {
                let now = start + .seconds(300) * count
                pace.began(at: now)
                pace.ended(wasAccepted: true, began: now, at: now + .milliseconds(10))
            }
            let interval = refuse(&pace, after: accepted, from: start + .seconds(3600), wait: .seconds(2))
            #expect(interval == expected, "after \(accepted)")
            #expect(interval <= .milliseconds(1021), "after \(accepted)")
        }
    }

    @Test func `an idle period after a rest does not slow a receiver`() {
        var pace = ReceiverPace(most: 4)
        let first = refuse(&pace, after: 4, from: start, wait: .seconds(1))
        let later = start + .seconds(2)
        pace.began(at: later)
        pace.ended(wasAccepted: true, began: later, at: later + .milliseconds(10))
        let second = refuse(&pace, after: 0, from: start + .seconds(600), wait: .seconds(1))
        #expect(second <= first * 1.11)
    }

    @Test func `the first long wait after few messages slows a receiver to one message a second, the second to its own length`() {
        var pace = ReceiverPace(most: 4)
        #expect(refuse(&pace, after: 1, from: start, wait: .seconds(30)) <= .milliseconds(1021))
        let again = refuse(&pace, after: 1, from: start + .seconds(31), wait: .seconds(30))
        #expect(again > .seconds(30) && again < .seconds(31))
    }

    @Test func `a refusal of a burst also counts the messages before the burst if they came too fast`() {
        // 30 a minute are allowed: 20 come slowly, 10 at once.
        var pace = ReceiverPace(most: 4)
        for count in 0..<20 {
            let now = start + .milliseconds(1500) * count
            pace.began(at: now)
            pace.ended(wasAccepted: true, began: now, at: now + .milliseconds(10))
        }
        let interval = refuse(&pace, after: 10, from: start + .seconds(30), wait: .seconds(29))
        #expect(interval > .milliseconds(1900) && interval < .milliseconds(2100))
    }
}
