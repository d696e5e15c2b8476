import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite struct RateTests {
    let now = Timestamp(seconds: 1_767_603_600)

    @Test func `no period has more requests than the rate allows, wherever it begins`() {
        var bucket = TokenBucket(Rate(count: 2, per: .seconds(60)))
        #expect(bucket.free(at: now) == 2)
        bucket.hold(2)
        #expect(bucket.free(at: now) == 0)
        bucket.use(at: now)
        bucket.use(at: now + .seconds(50))
        #expect(bucket.free(at: now + .seconds(59)) == 0)
        #expect(bucket.next == now + .seconds(60))
        #expect(bucket.free(at: now + .seconds(60)) == 1)
        #expect(bucket.free(at: now + .seconds(110)) == 2)
    }

    @Test func `reserved tokens that are not used return to the bucket`() {
        var bucket = TokenBucket(Rate(count: 2, per: .seconds(60)))
        bucket.hold(2)
        bucket.use(at: now)
        bucket.giveBack(1)
        #expect(bucket.free(at: now) == 1)
    }

    @Test func `setting the clock back makes no request wait for ever`() {
        var bucket = TokenBucket(Rate(count: 1, per: .seconds(60)))
        bucket.hold()
        bucket.use(at: now)
        let earlier = now - .days(1)
        #expect(bucket.free(at: earlier) == 0)
        #expect(bucket.next == earlier + .seconds(60))
    }

    @Test func `a cancelled wait passes its turn on`() async throws {
        let clock = TestClock()
        let start = clock.now
        let limiter = RateLimiter(Rate(count: 1, per: .seconds(10)), clock: clock)
        try await limiter.wait()
        let brokenOff = Task { try await limiter.wait() }
        try await clock.waitForSleepers(1)
        async let other: Void = limiter.wait()
        try await clock.waitForSleepers(2)
        brokenOff.cancel()
        _ = await brokenOff.result
        await clock.advance(by: .seconds(10))
        try await other
        #expect(clock.now - start == .seconds(10))
    }

    @Test func `polls and deliveries of one connection share its rate`() {
        var queue = RateQueue(Rate(count: 20, per: .seconds(60)))
        var polls = 0
        var comments = 0
        var waiting: [Int] = []
        // For ten minutes a poller makes three requests every second, far more than allowed, and comments always wait.
        for second in 0..<600 {
            let moment = now + .seconds(second)
            for _ in 0..<3 { waiting.append(queue.enter(isContinuing: false)) }
            let passed = waiting.filter { queue.passes($0, at: moment) }
            polls += passed.count
            waiting.removeAll { passed.contains($0) }
            let begun = queue.reserve(upTo: 1, requests: 3, at: moment)
            for _ in 0..<(begun * 3) { queue.use(at: moment) }
            comments += begun
            queue.want(3, at: moment)
        }
        #expect(comments >= 30, "\(comments) comments of three requests")
        #expect(polls >= 90, "\(polls) requests of polls")
        #expect(polls + comments * 3 <= 220)
    }

    @Test func `a request of an attempt under way is sent before a request of a poll`() {
        var queue = RateQueue(Rate(count: 1, per: .seconds(10)))
        #expect(queue.reserve(upTo: 1, requests: 1, at: now) == 1)
        queue.use(at: now)
        let poll = queue.enter(isContinuing: false)
        let attempt = queue.enter(isContinuing: true)
        var order: [Int] = []
        for second in [10, 20] { order += [poll, attempt].filter { queue.passes($0, at: now + .seconds(second)) } }
        #expect(order == [attempt, poll])
    }

    @Test(arguments: [(1, 60, 720), (5, 5, 15), (60, 60, 60), (1, 86_400, 86_400)])
    func `four requests get the time that they and as many others need at the rate, at most a day`(
        _ count: Int, _ period: Int, _ seconds: Int
    ) { #expect(Rate(count: count, per: .seconds(period)).wait(for: 4) == .seconds(seconds)) }

    @Test func `whatever requests and deliveries do, no period exceeds the rate, and no token is lost`() {
        for number in 0..<RandomRuns.count(200) { checkHistory(seed: RandomRuns.seed(UInt64(number))) }
    }

    private func checkHistory(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let rate = Rate(count: Int.random(in: 1...6, using: &random), per: .seconds(10))
        let requests = min(rate.count, Int.random(in: 1...3, using: &random))
        var queue = RateQueue(rate)
        var (now, used, waiting, reserved) = (self.now, [Timestamp](), [Int](), 0)
        for _ in 0..<150 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: waiting.append(queue.enter(isContinuing: random.oneIn(2)))
            case 1:
                let passed = waiting.filter { queue.passes($0, at: now) }
                used += passed.map { _ in now }
                waiting.removeAll { passed.contains($0) }
            case 2:
                // A request is cancelled, perhaps when its turn has come.
                guard let ticket = waiting.randomElement(using: &random) else { break }
                queue.leave(ticket, at: now)
                waiting.removeAll { $0 == ticket }
            case 3:
                let attempts = Int.random(in: 1...4, using: &random)
                reserved += queue.reserve(upTo: attempts, requests: requests, at: now) * requests
            case 4 where reserved > 0:
                queue.use(at: now)
                used.append(now)
                reserved -= 1
            case 5:
                queue.giveBack(reserved, at: now)
                reserved = 0
            case 6: queue.want(random.oneIn(2) ? requests : 0, at: now)
            default: now = now + .seconds(Int.random(in: 0...4, using: &random))
            }
        }
        let early = used.indices.dropFirst(rate.count).filter { used[$0] - used[$0 - rate.count] < rate.period }
        #expect(early.isEmpty, "history \(seed): requests that were sent too early")
        for ticket in waiting { queue.leave(ticket, at: now) }
        queue.giveBack(reserved, at: now)
        queue.want(0, at: now)
        #expect(queue.reserve(upTo: 100, requests: 1, at: now + rate.period) == rate.count, "history \(seed)")
    }
}

@Suite struct RetryAfterTests {
    let now = Timestamp(seconds: 1_767_603_600)

    static let answers: [(HeaderFields, Duration)] = [
        (["Retry-After": "2"], .seconds(2)),
        (["Retry-After": " 3600 "], .seconds(3600)),
        (["Retry-After": "Mon, 05 Jan 2026 09:01:00 GMT"], .seconds(60)),
        // The server's clock is an hour behind; only the difference counts.
        (["Retry-After": "Mon, 05 Jan 2026 08:01:00 GMT", "Date": "Mon, 05 Jan 2026 08:00:00 GMT"], .seconds(60)),
        (["X-RateLimit-Reset": "1767603630"], .seconds(30)), (["X-RateLimit-Reset": "45"], .seconds(45)),
        (["Retry-After": "soon", "X-RateLimit-Reset": "7"], .seconds(7)),
        (["Retry-After": "1.5"], .milliseconds(1500)), (["Retry-After": "0.0001"], .milliseconds(1)),
        (["Retry-After": "999999999999999999999999999999"], RetryAfter.longest),
        (["Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"], RetryAfter.longest),
        (["Retry-After": "Fri, 01 Jan 2010 00:00:00 GMT"], .zero),
        // The time of the reset in milliseconds, with a fraction, and in other fields in use.
        (["X-RateLimit-Reset": "1767603630000"], .seconds(30)), (["X-RateLimit-Reset": "1767603630.5"], .milliseconds(30_500)),
        (["X-RateLimit-Reset": "1767603570"], .zero), (["X-RateLimit-Reset": "-3"], .zero),
        (["X-RateLimit-Reset": "1767603630", "X-RateLimit-Reset-After": "0.25"], .milliseconds(250)),
        (["RateLimit-Reset": "9"], .seconds(9)), (["RateLimit": #""default";r=0;t=30"#], .seconds(30)),
        (["X-RateLimit-Reset": "99999999999999999999999999999999"], RetryAfter.longest),
        (["Retry-After": "-5"], .zero), (["Retry-After": "99999999"], RetryAfter.longest),
    ]

    @Test(arguments: answers) func `the wait is read from an answer's fields`(_ headers: HeaderFields, _ wait: Duration) {
        #expect(RetryAfter.read(headers, at: now) == wait)
    }

    @Test func `an answer without usable fields has no wait`() {
        for text in ["soon", "", ".", "-", "1-2", "1e3", "0x10", "nan", "inf"] {
            #expect(RetryAfter.read(["Retry-After": text], at: now) == nil, "\(text)")
        }
        #expect(RetryAfter.read([:], at: now) == nil)
    }
}

@Suite struct RedactionTests {
    @Test(arguments: [
        ("s&cret", "GET /x?k=s%26cret and s&cret", "GET /x?k=••• and •••"), ("two words", "two+words, two%20words", "•••, •••"),
        (#"a"b\c/d"#, #"{"a": "a\"b\\c/d", "b": "a\"b\\c\/d"}"#, #"{"a": "•••", "b": "•••"}"#), ("abc", "abc", "abc"),
    ])
    func `a secret is removed from a text in each form in which an answer may repeat it, unless it is very short`(
        _ secret: String, _ text: String, _ expected: String
    ) { #expect(Redaction.scrub(text, of: [secret]) == expected) }

    @Test func `a secret that contains another is removed completely`() {
        #expect(Redaction.scrub("abcdef", of: ["abcd", "abcdef", "cdef"]) == "•••")
        // With the accent, the last letter of the secret is another character for Swift.
        #expect(Redaction.scrub("s&cret\u{301}", of: ["s&cret"]).utf8.elementsEqual("•••\u{301}".utf8))
    }

    @Test func `names of secrets are recognized, and remote texts are cut to one line`() {
        for name in ["pwd", "Pass", "X-Sig", "sig", "db_password", "passwd"] {
            #expect(Redaction.suggestsSecret(name), "\(name)")
        }
        for name in ["assigned_to", "state", "signal"] { #expect(!Redaction.suggestsSecret(name), "\(name)") }
        #expect(Redaction.excerpt("one\n two\u{7}  three", length: 9) == "one two t…")
    }
}
