/// When messages are kept back, and what happens to them: the `quiet` of a rule or a connection.
public struct QuietTime: Sendable, Hashable {
    public enum Hours: Sendable, Hashable {
        /// While this calendar is open: its hours are the quiet hours.
        case during(WorkCalendar)
        /// While this calendar of bellhop.yaml is closed.
        case outside(WorkCalendar, name: String)
    }

    public enum Then: String, Sendable, Hashable, CaseIterable {
        /// Messages wait for the end of the quiet time.
        case hold
        /// Messages are recorded, and never sent.
        case drop
    }

    public var hours: Hours
    public var then: Then

    public init(_ hours: Hours, then: Then = .hold) { (self.hours, self.then) = (hours, then) }

    /// The first moment after the quiet time that lasts at a given moment; nil if the moment is not quiet.
    ///
    /// A calendar that is closed for more than ten years makes no quiet time, so that no message waits for ever.
    public func end(at moment: Timestamp) -> Timestamp? {
        switch hours {
        case .during(let calendar): calendar.opening(after: moment).flatMap { $0.contains(moment) ? $0.upperBound : nil }
        case .outside(let calendar, _): calendar.opening(after: moment).flatMap { $0.contains(moment) ? nil : $0.lowerBound }
        }
    }

    /// Whether its hours cover all the time.
    public var neverEnds: Bool {
        guard case .during(let calendar) = hours, let opening = calendar.opening(after: Timestamp(seconds: 0)) else {
            return false
        }
        return opening.upperBound - opening.lowerBound > .days(8)
    }

    /// The same quiet time with its calendar, and so its holidays, taken from these; unchanged if they lack it.
    public func resolved(_ calendars: [String: WorkCalendar]) -> QuietTime {
        guard case .outside(_, let name) = hours, let calendar = calendars[name] else { return self }
        return QuietTime(.outside(calendar, name: name), then: then)
    }

    /// The settings of a `quiet`.
    /// - Parameter except: the type of its condition.
    public static func settings(except: SettingType) -> [Setting] {
        [
            Setting(
                "hours", .text,
                "The quiet hours, separated by commas: `22:00-07:00`, or with weekdays: `FRI 18:00-24:00`; by default the whole day."
            ),
            Setting(
                "days", .text, default: "*",
                "The weekdays on which the quiet hours begin, as in a cron expression: `MON-FRI`; hours may name their own."),
            Setting("timezone", .name, "The time zone of the hours, such as `Europe/Berlin`; by default the file's."),
            Setting("outside", .name, "A calendar of bellhop.yaml: the time in which it is closed is quiet. Instead of `hours`."),
            Setting(
                "then", .oneOf(Then.allCases.map(\.rawValue)), default: "hold",
                "`hold` sends what was kept back as one message at the end of the quiet time; `drop` never sends it."),
            Setting("except", except, "A condition: a message for which it is true is sent at once."),
        ]
    }
}

/// The `quiet` of a connection of bellhop.yaml.
public struct QuietEntry: Sendable, Hashable {
    public var time: QuietTime
    /// A condition over the names of a rule's `when`.
    public var except: String?
    public var exceptPlace: Diagnostic.Place?

    public init(_ time: QuietTime, except: String? = nil, exceptPlace: Diagnostic.Place? = nil) {
        (self.time, self.except, self.exceptPlace) = (time, except, exceptPlace)
    }
}
