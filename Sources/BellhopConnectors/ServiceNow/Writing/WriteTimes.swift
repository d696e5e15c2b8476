import BellhopCore

/// The time limits of writes.
public struct WriteTimes: Sendable, Hashable {
    /// An attempt sends nothing this long after its start.
    public var start: Duration
    /// The longest a request can run on the server (60 s by its REST quota), and a margin.
    public var server: Duration
    /// The possible clock difference between the server's machines.
    public var skew: Duration
    /// How far the local clock may be corrected between two attempts.
    public var correction: Duration
    /// The wait before each further check for a confirmed write.
    public var looks: [Duration]

    public init(
        start: Duration = .seconds(30), server: Duration = .seconds(90), skew: Duration = .seconds(30),
        correction: Duration = .seconds(900), looks: [Duration] = [.seconds(1), .seconds(3)]
    ) {
        self.start = start
        self.server = server
        self.skew = skew
        self.correction = correction
        self.looks = looks
    }

    /// The same where requests wait for a rate, for so long at most.
    func waiting(_ wait: Duration?) -> WriteTimes {
        var times = self
        times.start += wait ?? .zero
        return times
    }

    /// After this time, nothing an attempt sent is still running.
    var quiet: Duration { start + server }

    /// Throws while an earlier request may still be running.
    func waitOut(_ attempt: Attempt, _ what: String, at place: String, now: Timestamp) throws(Failure) {
        guard let uncertain = attempt.lastUncertain, uncertain + quiet > now else { return }
        throw Failure(
            .notWritten, .retry(after: (uncertain + quiet) - now),
            "An earlier attempt may still be running on \(place); Bellhop looks for the \(what) again before sending it.")
    }
}

extension Attempt {
    /// True if nothing of the delivery can have been sent. A person's retry restarts the count at 1.
    var isFirst: Bool { number == 1 && lastUncertain == nil }

    /// True if an earlier attempt may have done it, and a person has decided to repeat it.
    var isDecided: Bool { number == 1 && lastUncertain != nil }

    /// If an earlier attempt may have succeeded, the last attempt ends as held, not dead.
    func holding(
        _ delivery: Delivery, _ what: String, _ work: () async throws(Failure) -> Receipt
    ) async throws(Failure) -> Receipt {
        do throws(Failure) {
            return try await work()
        } catch {
            guard case .retry = error.remedy, lastUncertain != nil, number >= delivery.retry.attempts else { throw error }
            throw Failure(
                error.reason, .hold,
                error.message + " An earlier attempt may have written the \(what): look there, then retry or drop the delivery.")
        }
    }
}
