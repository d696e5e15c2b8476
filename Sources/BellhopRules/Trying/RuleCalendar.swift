public import BellhopCore

/// The times in a future period when the schedules of rules are due and when messages are kept back.
public struct RuleCalendar: Sendable, Hashable {
    /// A time at which a rule's schedule is due.
    public struct Due: Sendable, Hashable {
        public var rule: String
        public var at: Timestamp
    }

    /// A schedule that is due too often for a list of all its times.
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

    /// The most due times of one rule. A schedule with more is listed as frequent.
    private static let maxDue = 30
    private static let maxQuiet = 100

    fileprivate init() {}

    fileprivate mutating func add(_ schedule: RuleSchedule, of rule: String, next: Timestamp?, _ time: Range<Timestamp>) {
        var found: [Due] = []
        var moment = next ?? schedule.first(after: time.lowerBound)
        while let at = moment, at < time.upperBound {
            if found.count == Self.maxDue { return frequent.append(Frequent(rule: rule, schedule: schedule.text)) }
            if at >= time.lowerBound { found.append(Due(rule: rule, at: at)) }
            moment = schedule.first(after: at)
        }
        due += found
    }

    fileprivate mutating func add(_ time: QuietTime, of owner: Quiet.Owner, _ span: Range<Timestamp>) {
        var moment = span.lowerBound
        for _ in 0..<Self.maxQuiet where moment < span.upperBound {
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
    /// - Parameter next: the next due times of the rules' schedules, from the store.
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
    /// The beginning of the first quiet time after a moment that is not in a quiet time.
    fileprivate func begin(after moment: Timestamp) -> Timestamp? {
        switch hours {
        case .during(let calendar): calendar.opening(after: moment)?.lowerBound
        case .outside(let calendar, _): calendar.opening(after: moment)?.upperBound
        }
    }
}
