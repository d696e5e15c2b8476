/// Measures how long the agent has actually run. Neither setting the clock forward nor months without running make
/// stored data older: data that is deleted after thirty days was available for thirty days.
///
/// It records where the clock advanced more than time did. Setting the clock back is ignored: data is then kept longer.
public struct RunningTime: Sendable, Hashable {
    /// The clock reached `end` after advancing `by` more than time did.
    struct Skip: Sendable, Hashable {
        var end: Timestamp
        var by: Duration
    }

    /// The moment up to which it has recorded.
    public private(set) var latest: Timestamp
    private(set) var skips: [Skip] = []

    /// The tolerated difference per interval, because the clock is read twice, and a time service corrects it in small steps.
    private static let tolerance = Duration.seconds(30)
    /// How many skips are stored; beyond that the two oldest are merged.
    private static let most = 100

    /// Starts with all time up to now counted as running time.
    public init(at now: Timestamp) { latest = now }

    /// Advances to `now`; `elapsed` is how much time really passed. True if the clock advanced more.
    @discardableResult
    public mutating func pass(to now: Timestamp, elapsed: Duration) -> Bool {
        let by = now - latest - elapsed
        latest = now
        guard by > Self.tolerance else { return false }
        skips.append(Skip(end: now, by: by))
        if skips.count > Self.most {
            skips[1].by += skips[0].by
            skips.removeFirst()
        }
        return true
    }

    /// Advances to `now` after a stop of unknown length; at most a day counts.
    public mutating func resume(at now: Timestamp) { pass(to: now, elapsed: min(max(now - latest, .zero), .days(1))) }

    /// The clock time for an age in running time, up to now.
    public func span(of age: Duration) -> Duration {
        var span = age
        for skip in skips.reversed() where skip.end > latest - span { span += skip.by }
        return span
    }

    public func inClockTime(_ retention: Retention) -> Retention {
        Retention(
            events: span(of: retention.events), deliveries: span(of: retention.deliveries),
            commonDecisions: span(of: retention.commonDecisions), forgotten: span(of: retention.forgotten),
            audit: span(of: retention.audit))
    }

    /// The key of its note in the store.
    public static let note = "time/lived"

    public var json: JSON {
        [
            "latest": .int(latest.microseconds),
            "skips": .array(skips.map { [.int($0.end.microseconds), .int($0.by.wholeMicroseconds)] }),
        ]
    }

    /// Reads the form of `json`; nil for anything else.
    public init?(json: JSON) {
        guard let latest = json["latest"]?.asInt, let skips = json["skips"]?.asArray else { return nil }
        self.init(at: Timestamp(microseconds: latest))
        for skip in skips {
            guard let pair = skip.asArray, pair.count == 2, let end = pair[0].asInt, let by = pair[1].asInt else { return nil }
            self.skips.append(Skip(end: Timestamp(microseconds: end), by: .microseconds(by)))
        }
    }
}
