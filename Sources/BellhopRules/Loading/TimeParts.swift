import BellhopCore

/// A length of time, of which only the working time of a calendar counts if it has one.
struct Span: Sendable {
    var time: Duration
    var calendar: WorkCalendar?
    var calendarName: String?

    /// When a span that begins at this moment ends: the first moment that is no longer in it. Nil if the calendar does not open
    /// for so long within ten years.
    func end(from start: Timestamp) -> Timestamp? {
        guard let calendar else { return start + time }
        return calendar.adding(time, to: start)
    }

    /// The error of a span without an end.
    var neverEnds: String { "calendar `\(calendarName ?? "")` does not open for \(DurationText.format(time)) within ten years" }
}

/// The parts of a rule that wait, count or gather, in the order in which a run passes them.
struct TimeParts: Sendable {
    /// `on: {all}`, `{sequence}` or `{none}`.
    var pattern: Pattern?
    /// `each`: the list that a due schedule runs through.
    var each: RuleExpression?
    var hold: Hold?
    var count: Count?
    var group: Group?

    /// `for`: the condition must hold for this time.
    struct Hold: Sendable {
        var span: Span
        /// Nil for the task's id.
        var by: RuleExpression?
        /// Whether a task that leaves may have begun a wait under another key than its id.
        var needsBegun = false
        /// Whether it also begins for tasks that are known already when the rule is loaded.
        var existing: Bool
    }

    /// `count`: lets a run through once there were enough runs within the time.
    struct Count: Sendable {
        var atLeast: Int
        var within: Span
        /// The key that is counted separately; nil to count all runs together.
        var by: RuleExpression?
        /// An expression of which each value counts once.
        var distinct: RuleExpression?
    }

    /// `group`: gathers runs into one.
    struct Group: Sendable {
        var by: RuleExpression?
        /// How long the first event waits for others.
        var wait: Duration
        /// The least time between two flushes.
        var every: Duration
        /// The number of events that flushes the group at once.
        var max: Int

        /// The most events that one flush can have.
        static let most = 1000
    }

    /// The calendars of its spans, as one text; nil without any.
    var calendars: String? {
        let all = [hold?.span, count?.within, pattern?.within].compactMap { $0?.calendar?.fingerprint.hex }
        return all.isEmpty ? nil : all.joined(separator: " ")
    }

    /// Whether a run may be delayed, so that its other keys are computed later.
    var isEmpty: Bool { !delays && each == nil }

    /// Whether a run may come later than its event, or be for several events.
    var delays: Bool { pattern != nil || hold != nil || count != nil || group != nil }
}
