import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite struct RateTests {
    let now = Timestamp(seconds: 1_767_603_600)

    @Test func `no more than the count go in any period`() {
        var bucket = TokenBucket(Rate(count: 2, per: .seconds(60)))
        #expect(bucket.take(at: now) == now)
        #expect(bucket.take(at: now + .seconds(50)) == now + .seconds(50))
        #expect(bucket.take(at: now + .seconds(51)) == now + .seconds(60))
        #expect(bucket.take(at: now + .seconds(52)) == now + .seconds(110))
        #expect(bucket.take(at: now + .seconds(500)) == now + .seconds(500))
    }

    @Test func `a clock that is set back makes nobody wait for ever`() {
        var bucket = TokenBucket(Rate(count: 1, per: .seconds(60)))
        #expect(bucket.take(at: now) == now)
        let earlier = now - .days(1)
        #expect(bucket.take(at: earlier) == earlier + .seconds(60))
    }

    @Test func `who must wait sleeps on the agent's clock`() async throws {
        let clock = TestClock()
        let start = clock.now
        let limiter = RateLimiter(Rate(count: 1, per: .seconds(10)), clock: clock)
        try await limiter.wait()
        async let second: Void = limiter.wait()
        try await clock.waitForSleepers(1)
        await clock.advance(by: .seconds(10))
        try await second
        #expect(clock.now - start == .seconds(10))
    }

    static let answers: [(HeaderFields, Duration)] = [
        (["Retry-After": "2"], .seconds(2)),
        (["Retry-After": " 3600 "], .seconds(3600)),
        (["Retry-After": "Mon, 05 Jan 2026 09:01:00 GMT"], .seconds(60)),
        // The server's clock is an hour behind; what counts is the difference it means.
        (["Retry-After": "Mon, 05 Jan 2026 08:01:00 GMT", "Date": "Mon, 05 Jan 2026 08:00:00 GMT"], .seconds(60)),
        (["X-RateLimit-Reset": "1767603630"], .seconds(30)), (["X-RateLimit-Reset": "45"], .seconds(45)),
        (["Retry-After": "soon", "X-RateLimit-Reset": "7"], .seconds(7)),
        (["Retry-After": "-5"], .zero), (["Retry-After": "99999999"], RetryAfter.longest),
    ]

    @Test(arguments: answers)
    func `an answer says when to come back`(_ headers: HeaderFields, _ wait: Duration) {
        #expect(RetryAfter.read(headers, at: now) == wait)
    }

    @Test func `an answer that does not say when to come back says nothing`() {
        #expect(RetryAfter.read(["Retry-After": "soon"], at: now) == nil)
        #expect(RetryAfter.read([:], at: now) == nil)
    }

    @Test func `secrets are taken out of texts, as they are and as addresses have them`() {
        let text = Redaction.scrub("GET /x?k=s%26cret and s&cret, not abc", of: ["s&cret", "abc"])
        #expect(text == "GET /x?k=••• and •••, not abc")
        for name in ["pwd", "Pass", "X-Sig", "sig", "db_password", "passwd"] { #expect(Redaction.isTelling(name), "\(name)") }
        for name in ["assigned_to", "state", "signal"] { #expect(!Redaction.isTelling(name), "\(name)") }
        #expect(Redaction.excerpt("one\n two\u{7}  three", length: 9) == "one two t…")
    }
}
