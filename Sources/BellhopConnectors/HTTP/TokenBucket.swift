import BellhopCore

/// A bucket with as many tokens as a rate's count; a token returns one period after its use.
///
/// So no period, wherever it begins, has more requests than the count, and a burst of that many may be sent at once. A token can
/// be reserved first; its period begins when it is used.
struct TokenBucket: Sendable {
    let rate: Rate
    /// When each missing token was used, the oldest first.
    private var used: [Timestamp] = []
    /// The number of reserved tokens.
    private(set) var held = 0
    private var latest = Timestamp.distantPast

    init(_ rate: Rate) { self.rate = rate }

    /// The number of available tokens.
    @discardableResult
    mutating func free(at now: Timestamp) -> Int {
        if now < latest {  // the clock was set back: move the times of use too
            let jump = latest - now
            for index in used.indices { used[index] -= jump }
        }
        latest = now
        let past = used.prefix { $0 + rate.period <= now }.count
        if past > 0 { used.removeFirst(past) }
        return rate.count - used.count - held
    }

    /// Counts the tokens that an earlier run used.
    mutating func restore(_ uses: [RateMemory.Use], at now: Timestamp) {
        let times = uses.flatMap { Array(repeating: $0.time, count: min($0.count, rate.count)) } + used
        used = times.sorted().suffix(rate.count)
        free(at: now)
    }

    mutating func hold(_ count: Int = 1) { held += count }

    mutating func use(at now: Timestamp) {
        free(at: now)
        held -= 1
        used.append(now)
    }

    mutating func giveBack(_ count: Int) { held -= count }

    /// When the next token returns; nil if all missing tokens are reserved.
    var next: Timestamp? { used.first.map { $0 + rate.period } }
}
