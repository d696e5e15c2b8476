import BellhopCore
import Testing

struct `Backoff delays` {
    let backoff = Backoff(base: .seconds(5), factor: 2, cap: .seconds(60))

    @Test func `the ceiling of the wait doubles up to the cap`() {
        #expect((1...6).map { backoff.ceiling(attempt: $0) } == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
        #expect(backoff.ceiling(attempt: .max) == .seconds(60))
        #expect(backoff.ceiling(attempt: .min) == .seconds(5))
        #expect(Backoff(base: .seconds(1), factor: 1, cap: .seconds(60)).ceiling(attempt: .max) == .seconds(1))
        #expect(Backoff(base: .zero, cap: .seconds(60)).ceiling(attempt: 9) == .zero)
        let endless = Backoff(base: .seconds(1), factor: .infinity, cap: .seconds(Int64.max))
        #expect(endless.ceiling(attempt: 3) == .microseconds(Int64.max))
    }

    @Test func `the jitter chooses a wait between zero and the ceiling`() {
        #expect(backoff.delay(attempt: 3, jitter: 0) == .zero)
        #expect(backoff.delay(attempt: 3, jitter: 0.5) == .seconds(10))
        #expect(backoff.delay(attempt: 3, jitter: 7) == .seconds(20))
        #expect(backoff.delay(attempt: 3, jitter: -1) == .zero)
    }
}
