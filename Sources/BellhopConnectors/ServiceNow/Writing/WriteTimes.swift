import BellhopCore

/// The times that writes go by.
public struct WriteTimes: Sendable, Hashable {
    /// What could not be sent so long after its attempt began is not sent by it any more.
    public var start: Duration
    /// The longest a request can be at work on the server (60 s by its quota for REST), and a margin.
    public var server: Duration
    /// By how much clocks of the server's own machines may differ.
    public var skew: Duration
    /// By how much our own clock may have been corrected between two attempts.
    public var correction: Duration
    /// How long to wait before each further look for what the server says it has written.
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

    /// The same where requests go at a rate: the one that writes may have to wait for those before it, though no longer than an attempt may
    /// take.
    func at(_ rate: Rate?, requests: Int) -> WriteTimes {
        guard let rate else { return self }
        var times = self
        let periods = (requests + rate.count - 1) / rate.count
        times.start = min(start + rate.period * periods, max(start, Self.longestStart))
        return times
    }

    /// An attempt is ended then.
    private static let longestStart = Duration.seconds(240)

    /// After so long nothing that an attempt sent is at work any more.
    var quiet: Duration { start + server }

    /// Throws while a request of an earlier attempt may still be at work.
    func waitOut(_ attempt: Attempt, _ what: String, at place: String, now: Timestamp) throws(Failure) {
        guard let uncertain = attempt.lastUncertain, uncertain + quiet > now else { return }
        throw Failure(
            .notWritten, .retry(after: (uncertain + quiet) - now),
            "An earlier attempt may still be at work on \(place); the \(what) is looked for again before it is sent.")
    }
}

extension Attempt {
    /// True when nothing of the delivery can have been sent before. A person's retry counts from 1 again.
    var isFirst: Bool { number == 1 && lastUncertain == nil }

    /// True where an earlier attempt may have done it, and a person has looked since and said: again.
    var isDecided: Bool { number == 1 && lastUncertain != nil }

    /// Ends the last attempt of a delivery as held where an earlier one may have done it: that is not dead.
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
