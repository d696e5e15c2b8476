public import BellhopCore

/// When the schedules of rules are due, and when messages are kept back, in a time to come.
public struct RuleCalendar: Sendable, Hashable {
    /// A schedule is due.
    public struct Due: Sendable, Hashable {
        public var rule: String
        public var at: Timestamp
    }

    /// A schedule that is due too often to name each time.
    public struct Frequent: Sendable, Hashable {
        public var rule: String
        /// Such as `every 5m`.
        public var schedule: String
    }

    /// A quiet time.
    public struct Quiet: Sendable, Hashable {
        public enum Owner: Sendable, Hashable {
            case rule(String)
            case connection(String)
        }

        public var owner: Owner
        public var from: Timestamp
        public var until: Timestamp
        /// Whether messages of this time are dropped; otherwise they wait for its end.
        public var drops: Bool
    }

    /// In the order of their times.
    public private(set) var due: [Due] = []
    public private(set) var frequent: [Frequent] = []
    public private(set) var quiet: [Quiet] = []

    /// A schedule that is due more often is named once.
    private static let mostDue = 30
    /// The most quiet times of one owner.
    private static let mostQuiet = 100

    fileprivate init() {}

    fileprivate mutating func add(_ schedule: RuleSchedule, of rule: String, next: Timestamp?, _ time: Range<Timestamp>) {
        var found: [Due] = []
        var moment = next ?? schedule.first(after: time.lowerBound)
        while let at = moment, at < time.upperBound {
            if found.count == Self.mostDue { return frequent.append(Frequent(rule: rule, schedule: schedule.text)) }
            if at >= time.lowerBound { found.append(Due(rule: rule, at: at)) }
            moment = schedule.first(after: at)
        }
        due += found
    }

    fileprivate mutating func add(_ time: QuietTime, of owner: Quiet.Owner, _ span: Range<Timestamp>) {
        var moment = span.lowerBound
        for _ in 0..<Self.mostQuiet where moment < span.upperBound {
            if let end = time.end(at: moment), end > moment {
                quiet.append(Quiet(owner: owner, from: moment, until: min(end, span.upperBound), drops: time.then == .drop))
                moment = end
            } else if let begin = time.begin(after: moment), begin > moment {
                moment = begin
            } else {
                return
            }
        }
    }

    fileprivate mutating func sort() {
        due.sort { ($0.at, $0.rule) < ($1.at, $1.rule) }
        quiet.sort { ($0.from, $0.until) < ($1.from, $1.until) }
    }
}

extension RuleBook {
    /// - Parameter next: when the schedules of rules are due next, as the store says.
    public func calendar(_ time: Range<Timestamp>, next: [String: Timestamp] = [:]) -> RuleCalendar {
        var calendar = RuleCalendar()
        for rule in compiled where !rule.isOff {
            if let schedule = rule.schedule { calendar.add(schedule, of: rule.name, next: next[rule.name], time) }
            if let quiet = rule.quiet { calendar.add(quiet.time, of: .rule(rule.name), time) }
        }
        for (name, quiet) in quiet.sorted(by: { $0.key < $1.key }) { calendar.add(quiet.time, of: .connection(name), time) }
        calendar.sort()
        return calendar
    }
}

extension QuietTime {
    /// The begin of the first quiet time after a moment at which none lasts.
    fileprivate func begin(after moment: Timestamp) -> Timestamp? {
        switch hours {
        case .during(let calendar): calendar.opening(after: moment)?.lowerBound
        case .outside(let calendar, _): calendar.opening(after: moment)?.upperBound
        }
    }
}
