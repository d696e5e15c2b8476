/// The history and the rules of one time zone: which offset from UTC held when, and what will.
///
/// Made from the bytes of a TZif file, as `/usr/share/zoneinfo` holds them; reading the file is for others.
public struct TimeZoneTable: Sendable, Hashable {
    /// The name the zone goes by, such as `Europe/Berlin`.
    public let name: String
    /// When offsets changed, in seconds since the epoch, ascending.
    let transitions: [Int64]
    /// What held from each transition on, as places in ``types``.
    let typeAfter: [UInt8]
    /// The kinds of local time the zone has had; never empty. The first held before the first transition.
    let types: [LocalTimeType]
    /// What holds after the last transition; nil when that is what the last transition brought.
    let rule: PosixZone?

    /// Coordinated universal time, which has no transitions.
    public static let utc = TimeZoneTable(
        name: "UTC", transitions: [], typeAfter: [], types: [LocalTimeType(offset: 0, isDaylight: false, abbreviation: "UTC")],
        rule: nil)

    /// Seconds east of UTC at a moment.
    public func offset(at moment: Timestamp) -> Int {
        period(at: moment.seconds).type.offset
    }

    /// What the zone's time is called at a moment, such as `CEST`.
    public func abbreviation(at moment: Timestamp) -> String {
        period(at: moment.seconds).type.abbreviation
    }

    /// Whether daylight saving time holds at a moment.
    public func isDaylight(at moment: Timestamp) -> Bool {
        period(at: moment.seconds).type.isDaylight
    }

    /// What a clock in this zone shows at a moment.
    public func local(_ moment: Timestamp) -> CivilDateTime {
        let seconds = moment.seconds
        return CivilDateTime(secondsSinceEpoch: seconds + Int64(period(at: seconds).type.offset))
    }

    /// The moments at which a clock in this zone shows a date and time: one, none, or two.
    public func resolve(_ local: CivilDateTime) -> LocalMoment {
        let wall = local.secondsSinceEpoch
        var period = period(at: wall - Self.reach)
        var found: Int64?
        while true {
            let moment = wall - Int64(period.type.offset)
            if moment < period.start {
                // The clock was put forward past this time when the period began, unless it showed it before.
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
        // The last period within reach ended before its own reading of the time only if the seconds ran out of range.
        return .unique(Timestamp(seconds: found ?? wall - Int64(period.type.offset)))
    }

    /// A little more than the largest offset RFC 8536 lets a file hold (§3.2: less than 26 hours), in seconds.
    private static let reach: Int64 = 26 * 3600

    /// A time during which one offset holds: from `start`, until just before `end`, in seconds since the epoch.
    struct Period {
        var start: Int64
        var end: Int64
        var type: LocalTimeType
    }

    /// The period that holds a moment. Neighbours may have the same offset.
    func period(at seconds: Int64) -> Period {
        // The first transition after the moment.
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        let start = low == 0 ? .min : transitions[low - 1]
        if low < transitions.count {
            return Period(start: start, end: transitions[low], type: types[low == 0 ? 0 : Int(typeAfter[low - 1])])
        }
        if let rule {
            var period = rule.period(at: seconds)
            period.start = max(period.start, start)
            return period
        }
        return Period(start: start, end: .max, type: types[low == 0 ? 0 : Int(typeAfter[low - 1])])
    }
}

/// One kind of local time: an offset and what it is called.
struct LocalTimeType: Sendable, Hashable {
    /// Seconds east of UTC.
    var offset: Int
    var isDaylight: Bool
    var abbreviation: String
}

/// The moments at which a clock on the wall shows one date and time.
public enum LocalMoment: Sendable, Hashable {
    /// It shows it once.
    case unique(Timestamp)
    /// It never shows it, being put forward over it: the last microsecond before that, and the first moment after.
    case gap(before: Timestamp, after: Timestamp)
    /// It shows it twice, being put back.
    case fold(first: Timestamp, second: Timestamp)

    /// The one moment, the first of two, or the first after the gap: what something due once at that time should take.
    public var earliest: Timestamp {
        switch self {
        case .unique(let moment): moment
        case .gap(_, let after): after
        case .fold(let first, _): first
        }
    }
}

extension Timestamp {
    /// The moment in RFC 3339 as a zone's clocks show it: `2026-01-05T10:00:00+01:00`, with a fraction only where there is one.
    ///
    /// `Z` stands for an offset of nothing. An offset with odd seconds, as local mean times had, is rounded to whole minutes and the
    /// time with it, so that the text still means this moment.
    public func formatted(in zone: TimeZoneTable) -> String {
        rfc3339(offset: zone.offset(at: self))
    }
}
