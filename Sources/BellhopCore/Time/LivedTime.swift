/// How much of the time that the clock shows was lived through. A clock that is set forward makes nothing older, and neither do months in
/// which nobody ran: what is forgotten after thirty days was there for thirty days to be looked at.
///
/// It knows where the clock went forward further than time did. A clock that is set back is passed over: things are then kept longer.
public struct LivedTime: Sendable, Hashable {
    /// The clock came to `end`, `by` further than time had gone.
    struct Skip: Sendable, Hashable {
        var end: Timestamp
        var by: Duration
    }

    /// The moment up to which it knows.
    public private(set) var latest: Timestamp
    private(set) var skips: [Skip] = []

    /// So much may the clock and the time differ between two looks: it is read twice, and clocks are corrected a little at a time.
    private static let tolerance = Duration.seconds(30)
    /// So many skips are known one by one; of more the two oldest count as one.
    private static let most = 100

    /// All time up to now was lived through.
    public init(at now: Timestamp) { latest = now }

    /// Goes on to `now`; `lived` is how much time has really passed. True when the clock went further.
    @discardableResult
    public mutating func pass(to now: Timestamp, lived: Duration) -> Bool {
        let by = now - latest - lived
        latest = now
        guard by > Self.tolerance else { return false }
        skips.append(Skip(end: now, by: by))
        if skips.count > Self.most {
            skips[1].by += skips[0].by
            skips.removeFirst()
        }
        return true
    }

    /// Goes on to `now` after a stop. Nobody knows how much time has passed; at most a day counts.
    public mutating func resume(at now: Timestamp) { pass(to: now, lived: min(max(now - latest, .zero), .days(1))) }

    /// How long ago, by the clock, something was stamped that was there for so much lived time.
    public func span(of lived: Duration) -> Duration {
        var span = lived
        for skip in skips.reversed() where skip.end > latest - span { span += skip.by }
        return span
    }

    /// The retention, in time by the clock.
    public func stretched(_ retention: Retention) -> Retention {
        Retention(
            events: span(of: retention.events), deliveries: span(of: retention.deliveries),
            forgotten: span(of: retention.forgotten))
    }
}

extension LivedTime {
    /// Under which the store keeps it.
    public static let note = "time/lived"

    public var json: JSON {
        [
            "latest": .int(latest.microseconds),
            "skips": .array(skips.map { [.int($0.end.microseconds), .int($0.by.wholeMicroseconds)] }),
        ]
    }

    /// Reads what `json` wrote; nil for anything else.
    public init?(json: JSON) {
        guard let latest = json["latest"]?.asInt, let skips = json["skips"]?.asArray else { return nil }
        self.init(at: Timestamp(microseconds: latest))
        for skip in skips {
            guard let pair = skip.asArray, pair.count == 2, let end = pair[0].asInt, let by = pair[1].asInt else { return nil }
            self.skips.append(Skip(end: Timestamp(microseconds: end), by: .microseconds(by)))
        }
    }
}
