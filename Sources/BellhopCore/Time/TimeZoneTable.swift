/// The history and the rules of one time zone: its past and future offsets from UTC.
///
/// Made from the bytes of a TZif file, as in `/usr/share/zoneinfo`; the caller reads the file.
public struct TimeZoneTable: Sendable, Hashable {
    /// The zone's name, such as `Europe/Berlin`.
    public let name: String
    /// When offsets changed, in seconds since the epoch, ascending.
    let transitions: [Int64]
    /// The type from each transition on, as an index into ``types``.
    let typeAfter: [UInt8]
    /// The zone's local time types; never empty. The first applies before the first transition.
    let types: [LocalTimeType]
    /// The rule after the last transition; nil if the offset no longer changes.
    let rule: PosixZone?

    /// Coordinated universal time, which has no transitions.
    public static let utc = TimeZoneTable(
        name: "UTC", transitions: [], typeAfter: [], types: [LocalTimeType(offset: 0, abbreviation: "UTC")], rule: nil)

    /// Seconds east of UTC at a moment.
    public func offset(at moment: Timestamp) -> Int { period(at: moment.seconds).type.offset }

    /// The abbreviation of the zone's time at a moment, such as `CEST`.
    public func abbreviation(at moment: Timestamp) -> String { period(at: moment.seconds).type.abbreviation }

    /// The local time in this zone at a moment.
    public func local(_ moment: Timestamp) -> CivilDateTime {
        let seconds = moment.seconds
        return CivilDateTime(secondsSinceEpoch: seconds + Int64(period(at: seconds).type.offset))
    }

    /// The moments with this local time in the zone: one, none, or two.
    public func resolve(_ local: CivilDateTime) -> LocalMoment {
        let wall = local.secondsSinceEpoch
        var period = period(at: wall - Self.reach)
        var found: Int64?
        while true {
            let moment = wall - Int64(period.type.offset)
            if moment < period.start {
                // The clock was put forward past this time when the period began, unless an earlier period contains it.
                guard let found else {
                    let after = Timestamp(seconds: period.start)
                    return .gap(before: after - .microseconds(1), after: after)
                }
                return .unique(Timestamp(seconds: found))
            }
            if moment < period.end {
                if let found { return .fold(first: Timestamp(seconds: found), second: Timestamp(seconds: moment)) }
                found = moment
            }
            guard period.end <= wall + Self.reach else { break }
            period = self.period(at: period.end)
        }
        // The last period within reach ended before this time only if the seconds ran out of range.
        return .unique(Timestamp(seconds: found ?? wall - Int64(period.type.offset)))
    }

    /// A little more than the largest offset in RFC 8536 (§3.2: less than 26 hours), in seconds.
    private static let reach: Int64 = 26 * 3600

    /// A time with one offset: from `start` until just before `end`, in seconds since the epoch.
    struct Period {
        var start: Int64
        var end: Int64
        var type: LocalTimeType
    }

    /// The period that contains a moment. Neighbours may have the same offset.
    func period(at seconds: Int64) -> Period {
        // The first transition after the moment.
        let next = transitions.partitioningIndex { $0 > seconds }
        let start = next == 0 ? .min : transitions[next - 1]
        let type = types[next == 0 ? 0 : Int(typeAfter[next - 1])]
        if next < transitions.count { return Period(start: start, end: transitions[next], type: type) }
        if let rule {
            var period = rule.period(at: seconds)
            period.start = max(period.start, start)
            return period
        }
        return Period(start: start, end: .max, type: type)
    }
}

/// One local time type: an offset and its abbreviation.
struct LocalTimeType: Sendable, Hashable {
    /// Seconds east of UTC.
    var offset: Int
    var abbreviation: String
}

/// The moments with one local time.
public enum LocalMoment: Sendable, Hashable {
    /// It occurs once.
    case unique(Timestamp)
    /// It is skipped when clocks are put forward: the last microsecond before that, and the first moment after.
    case gap(before: Timestamp, after: Timestamp)
    /// It occurs twice, because clocks are put back.
    case fold(first: Timestamp, second: Timestamp)

    /// The one moment, the first of two, or the first after the gap: when something due once at that time should run.
    public var earliest: Timestamp {
        switch self {
        case .unique(let moment): moment
        case .gap(_, let after): after
        case .fold(let first, _): first
        }
    }
}

extension Timestamp {
    /// The moment in RFC 3339 in a zone's local time: `2026-01-05T10:00:00+01:00`, with a fraction only if there is one.
    ///
    /// `Z` means a zero offset. An offset with seconds, as in local mean times, is rounded to whole minutes, and the time is
    /// shifted by the same amount, so that the text still means this moment.
    public func formatted(in zone: TimeZoneTable) -> String { rfc3339(offset: zone.offset(at: self)) }

    /// The moment in UTC without a fraction, as lines of text in logs begin: `2026-01-05T09:00:00Z`.
    public var rfc3339InSeconds: String { Timestamp(seconds: seconds).formatted(in: .utc) }
}
