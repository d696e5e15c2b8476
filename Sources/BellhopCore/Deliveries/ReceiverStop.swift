/// Why a receiver gets no deliveries. Stored, so that it survives a restart. A receiver may have one stop of each cause.
public struct ReceiverStop: Sendable, Hashable {
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        /// It asked for a rest (429, or 503 with a time). Polls of its connection wait too.
        case rest
        /// Its latest attempts failed one after another: the circuit breaker is open.
        case failures
        /// It answered what only a person can repair: its address is gone, or its token is not accepted.
        case refusal
        /// A person paused it.
        case person

        /// Whether it lasts until a person resumes the receiver.
        public var isPause: Bool { self == .refusal || self == .person }
    }

    public var receiver: String
    public var cause: Cause
    public var since: Timestamp
    /// Nil for a pause, which lasts until a person resumes the receiver.
    public var until: Timestamp?
    /// The least time between attempts after a rest.
    public var interval: Duration
    /// What the receiver answered or why it is paused, in one sentence.
    public var reason: String

    /// No stop with an end lasts longer from now on, so that a changed clock cannot silence a receiver for ever.
    public static let longest = Duration.seconds(86_400)

    public init(
        receiver: String, cause: Cause, since: Timestamp, until: Timestamp?, interval: Duration = .zero, reason: String
    ) {
        self.receiver = receiver
        self.cause = cause
        self.since = since
        self.until = until
        self.interval = interval
        self.reason = reason
    }

    /// The reason with a full stop.
    public var sentence: String { reason.isEmpty || [".", "!", "?"].contains(reason.last) ? reason : reason + "." }

    public func lasts(at now: Timestamp) -> Bool { until.map { $0 > now } ?? true }

    /// Whether it is a circuit breaker that has not closed: one that has closed ends when it began.
    public var isUnclosedBreaker: Bool { cause == .failures && until != since }

    /// The same, corrected if its times are in the future because the clock was set back.
    func correctingFutureTimes(to now: Timestamp) -> ReceiverStop {
        guard since > now else { return self }
        var stop = self
        (stop.since, stop.until) = (now, until.map { now + ($0 - since) })
        return stop
    }
}

/// A pause of a receiver, with the event and the message to store, unless the receiver was already paused for this cause.
public struct ReceiverPause: Sendable, Hashable {
    public var stop: ReceiverStop
    /// The event `receiver_paused`.
    public var event: Event
    /// The message about it to another receiver (`on_paused`).
    public var notice: Delivery?

    /// - Parameters:
    ///   - stop: one whose cause is a pause.
    ///   - other: the receiver of a message about it; nil for no message.
    public init(_ stop: ReceiverStop, notifying other: String? = nil) {
        self.stop = stop
        event = .receiverPaused(stop)
        notice = other.map { .notice(of: stop, event: event, to: $0) }
    }
}

extension Event {
    static func receiverPaused(_ stop: ReceiverStop) -> Event {
        let cause = stop.cause.rawValue
        return Event(
            .receiverPaused(stop), facts: stop.receiver, cause, String(stop.since.microseconds), source: "bellhop",
            subject: "receiver/\(stop.receiver)", at: stop.since)
    }

    /// A person resumed a paused receiver.
    public static func receiverResumed(_ receiver: String, at now: Timestamp) -> Event {
        Event(
            .receiverResumed(receiver), facts: receiver, String(now.microseconds), source: "bellhop",
            subject: "receiver/\(receiver)", at: now)
    }
}

extension Delivery {
    /// The plain message that a receiver is paused.
    fileprivate static func notice(of stop: ReceiverStop, event: Event, to other: String) -> Delivery {
        let id = ID(occasion: Occasion.event(event.id).id, rule: "on_paused", step: StepPath(index: 0), receiver: other)
        let message = Message(
            title: [.text("The receiver "), .value(stop.receiver), .text(" is paused")],
            text: [
                .paragraph([.value(stop.sentence)]),
                .paragraph([
                    .text("Its deliveries wait. When the cause is repaired: "),
                    .code([.text("bellhop resume "), .value(stop.receiver)]),
                ]),
            ], severity: .warning)
        return Delivery(
            id: id, revision: "", action: "notify", arguments: .message(message), task: nil, lane: "on_paused/\(id.text)",
            createdAt: stop.since, expires: stop.since + .days(7), hop: event.hop)
    }
}

/// A pause of something other than a receiver. Stored, so that it survives a restart.
public struct Pause: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// The rule sees no events, and will never see those of the pause; its timers wait.
        case rule(String)
        /// Every delivery that writes to a task or creates one waits.
        case writes
    }

    public var subject: Subject
    public var since: Timestamp
    /// The reason, as the person gave it or as Bellhop found it.
    public var reason: String
    /// False if Bellhop itself paused it: a rule with too many keys.
    public var isByPerson: Bool

    public init(_ subject: Subject, since: Timestamp, reason: String, isByPerson: Bool = true) {
        (self.subject, self.since, self.reason, self.isByPerson) = (subject, since, reason, isByPerson)
    }
}
