import BellhopCore

/// A bucket of as many tokens as a rate's count, in which a token lies again one period after it was used.
///
/// So there are never more requests than the count in any period, wherever one begins to measure, while a burst of that many may go at
/// once. A token can be set aside first: its period begins when it is used.
struct TokenBucket: Sendable {
    let rate: Rate
    /// When each token was used that does not lie in the bucket again, the oldest first.
    private var used: [Timestamp] = []
    /// How many are set aside.
    private(set) var held = 0
    private var latest = Timestamp.distantPast

    init(_ rate: Rate) { self.rate = rate }

    /// How many tokens there are.
    @discardableResult
    mutating func free(at now: Timestamp) -> Int {
        if now < latest {  // the clock was set back: what was used moves with it
            let jump = latest - now
            for index in used.indices { used[index] -= jump }
        }
        latest = now
        let past = used.prefix { $0 + rate.period <= now }.count
        if past > 0 { used.removeFirst(past) }
        return rate.count - used.count - held
    }

    /// Takes up what was used before.
    mutating func restore(_ uses: [RateMemory.Use], at now: Timestamp) {
        let times = uses.flatMap { Array(repeating: $0.time, count: min($0.count, rate.count)) } + used
        used = times.sorted().suffix(rate.count)
        free(at: now)
    }

    /// Sets tokens aside.
    mutating func hold(_ count: Int = 1) { held += count }

    /// Uses one that was set aside.
    mutating func use(at now: Timestamp) {
        free(at: now)
        held -= 1
        used.append(now)
    }

    /// Puts back what was set aside.
    mutating func giveBack(_ count: Int) { held -= count }

    /// When the next token lies in the bucket again; nil when all that are missing are set aside.
    var next: Timestamp? { used.first.map { $0 + rate.period } }
}
