import BellhopCore

/// Decides who may send a rate's next request: first the attempts under way, then reads and deliveries in turn, so that neither
/// starves the other.
struct RateQueue: Sendable {
    private(set) var bucket: TokenBucket
    private var lastTicket = 0
    /// Waiting requests, by their tickets: of attempts that have used up their reserved tokens, and all others.
    private var continuing: [Int] = []
    private var reading: [Int] = []
    private var served: Set<Int> = []
    /// The tokens that waiting deliveries need, and those of them that are reserved.
    private var wanted = 0
    private var granted = 0
    private var isDeliveriesTurn = true

    init(_ rate: Rate) { bucket = TokenBucket(rate) }

    mutating func restore(_ used: [RateMemory.Use], at now: Timestamp) { bucket.restore(used, at: now) }

    mutating func enter(isContinuing: Bool) -> Int {
        lastTicket += 1
        if isContinuing { continuing.append(lastTicket) } else { reading.append(lastTicket) }
        return lastTicket
    }

    /// Whether it is this request's turn; if so, the request leaves the queue.
    mutating func passes(_ ticket: Int, at now: Timestamp) -> Bool {
        serve(at: now)
        guard served.remove(ticket) != nil else { return false }
        bucket.use(at: now)
        return true
    }

    /// Removes a request that will not be sent; its turn goes to another request.
    mutating func leave(_ ticket: Int, at now: Timestamp) {
        continuing.removeAll { $0 == ticket }
        reading.removeAll { $0 == ticket }
        if served.remove(ticket) != nil { bucket.giveBack(1) }
        serve(at: now)
    }

    /// Reserves tokens for up to `attempts` attempts of `requests` requests each; returns the number of attempts.
    mutating func reserve(upTo attempts: Int, requests: Int, at now: Timestamp) -> Int {
        serve(at: now)
        let free = continuing.isEmpty && reading.isEmpty ? bucket.free(at: now) : 0
        let count = min(attempts, (granted + free) / requests)
        let mine = min(granted, count * requests)
        granted -= mine
        bucket.hold(count * requests - mine)
        return count
    }

    mutating func giveBack(_ requests: Int, at now: Timestamp) {
        bucket.giveBack(requests)
        serve(at: now)
    }

    /// Uses a reserved token.
    mutating func use(at now: Timestamp) { bucket.use(at: now) }

    /// Sets how many requests the waiting deliveries need; zero if no delivery waits.
    mutating func want(_ requests: Int, at now: Timestamp) {
        wanted = requests
        if granted > wanted {
            bucket.giveBack(granted - wanted)
            granted = wanted
        }
        serve(at: now)
    }

    private mutating func serve(at now: Timestamp) {
        var free = bucket.free(at: now)
        while free > 0 {
            let isWanted = granted < wanted
            if let ticket = continuing.first {
                continuing.removeFirst()
                served.insert(ticket)
            } else if isWanted, isDeliveriesTurn || reading.isEmpty {
                granted += 1
                isDeliveriesTurn = false
            } else if let ticket = reading.first {
                reading.removeFirst()
                served.insert(ticket)
                isDeliveriesTurn = true
            } else {
                return
            }
            bucket.hold()
            free -= 1
        }
    }
}
