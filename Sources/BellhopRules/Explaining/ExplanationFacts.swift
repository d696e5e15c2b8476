public import BellhopCore

/// The facts that the store has kept about the events to explain.
public struct ExplanationFacts: Sendable {
    /// The oldest first.
    public var events: [StoredEvent]
    public var isCut = false
    /// The silences of the time, for a test made of these facts.
    public var silences: [SilenceRecord] = []
    /// Reads the silences from an agent's answer.
    public mutating func takeSilences(_ answer: JSON) {
        silences = (answer["silences"]?.asArray ?? []).compactMap(SilenceRecord.init(json:))
    }

    /// Whether there are more deliveries than were read.
    var lacksDeliveries: Bool { deliveries.count + earlier.count >= HistoryQuery.most }
    public var unrouted: Set<Int64> = []
    public var deliveries: [ExplainedDelivery] = []
    /// The deliveries after waits that began before these events and were under way when they came.
    public var earlier: [ExplainedDelivery] = []
    public var decisions: [DecisionRecord] = []
    public var caused: [StoredEvent] = []
    /// The current timers of the waits, groups and escalations that the decisions are about, and of absences without `after`.
    public var timers: [RuleTimer.ID: RuleTimer] = [:]
    public var rules: [StoredHistory.RegisteredRule] = []
    public var pauses: [Pause] = []
    /// When people paused and resumed rules, from the audit; the oldest first.
    public var turns: [Turn] = []
    /// The changes of rules, from the audit.
    public var changes: [Change] = []

    public init(events: [StoredEvent]) { self.events = events }

    public init(_ history: StoredHistory) {
        events = history.events
        (isCut, unrouted) = (history.isCut, history.unrouted)
        (decisions, caused) = (history.decisions, history.caused)
        (rules, pauses) = (history.rules, history.pauses)
        timers = Dictionary(history.timers.map { ($0.id, $0) }) { first, _ in first }
        var attempts: [String: [ExplainedDelivery.Attempt]] = [:]
        for row in history.audit {
            guard let entry = try? JSON.parse(row.entry) else { continue }
            if entry["act"] == "reload" {
                func names(_ list: String) -> [String] { (entry[list]?.asArray ?? []).compactMap(\.asString) }
                let routed = entry["routed"]?.asInt ?? 0
                for kind in Change.Kind.allCases {
                    changes += names(kind.rawValue).map { Change(of: $0, kind, at: row.at, routed: routed) }
                }
            } else if let act = entry["act"]?.asString, act == "pause" || act == "resume" {
                guard let rule = entry["rule"]?.asString else { continue }
                turns.append(Turn(of: rule, isPause: act == "pause", at: row.at))
            } else if entry["kind"] == "attempt", let id = entry["delivery"]?.asString {
                attempts[id, default: []].append(
                    ExplainedDelivery.Attempt(
                        number: entry["attempt"]?.asInt ?? 0, at: row.at, outcome: entry["outcome"]?.asString ?? "",
                        detail: entry["detail"]?.asString ?? ""))
            }
        }
        earlier = history.earlier.map(ExplainedDelivery.init)
        deliveries = history.deliveries.map { record in
            var delivery = ExplainedDelivery(record)
            delivery.attempts = attempts[delivery.id] ?? []
            return delivery
        }
    }

    /// The deliveries for each event, also by timers that it began.
    public var deliveriesByEvent: [Event.ID: [ExplainedDelivery]] { byEvent(deliveries) { $0.occasion } }

    /// Groups values by the event of their occasion. The run of an absence without `after` belongs to the last event
    /// before the absence.
    func byEvent<Value>(_ values: [Value], _ occasion: (Value) -> Occasion.ID) -> [Event.ID: [Value]] {
        let places = Dictionary(events.map { ($0.sequence, $0.event.id) }) { first, _ in first }
        var result: [Event.ID: [Value]] = [:]
        for value in values {
            let occasion = occasion(value)
            let place = occasion.begun ?? occasion.lastBefore
            guard let event = occasion.event ?? place.flatMap({ places[$0] }) else { continue }
            result[event, default: []].append(value)
        }
        return result
    }

    /// A pause of a rule, or its end.
    public struct Turn: Sendable, Hashable {
        public var rule: String
        public var isPause: Bool
        public var at: Timestamp

        public init(of rule: String, isPause: Bool, at: Timestamp) {
            (self.rule, self.isPause, self.at) = (rule, isPause, at)
        }
    }

    /// Whether the rule was paused at this moment, and not now.
    func wasPaused(_ rule: String, at moment: Timestamp) -> Bool {
        turns.first { $0.rule == rule && $0.at >= moment }.map { !$0.isPause } ?? false
    }

    func wasResumed(_ rule: String, after moment: Timestamp) -> Bool {
        turns.contains { $0.rule == rule && !$0.isPause && $0.at >= moment }
    }

    /// A change of a rule by a reload.
    public struct Change: Sendable, Hashable {
        /// As the audit names it.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case added, changed, removed
            /// It may decide differently than before, for example because of another `when`.
            case anew
        }

        public var rule: String
        public var kind: Kind
        public var at: Timestamp
        /// The place of the last event that the rules had seen by then.
        public var routed: Int64

        public init(of rule: String, _ kind: Kind, at: Timestamp, routed: Int64) {
            (self.rule, self.kind, self.at, self.routed) = (rule, kind, at, routed)
        }
    }

    /// When the rule was changed last, if that was after it had seen this event.
    func change(of rule: String, since event: StoredEvent) -> Timestamp? {
        changes.last { $0.rule == rule && $0.kind != .removed && event.sequence <= $0.routed }?.at
    }

    /// The first change after this event that added, removed or replaced the rule; nil if there was no such change.
    func replacement(of rule: String, since event: StoredEvent) -> Change? {
        changes.first { $0.rule == rule && $0.kind != .changed && event.sequence <= $0.routed }
    }

    /// The timer of the record, if it still runs. A timer that was begun later belongs to another wait under the same key.
    func timer(of record: DecisionRecord) -> RuleTimer? {
        guard let timer = record.timer.flatMap({ timers[$0] }), record.at >= timer.begun ?? .distantPast else { return nil }
        // Another event of the same moment may have ended the escalation and begun one.
        if let run = timer.payload["run"]?.asString, run != record.detail["by"]?.asString ?? record.occasion.text { return nil }
        return timer
    }

    /// Since when the rule was paused at this moment, if it was.
    func pause(of rule: String, at moment: Timestamp) -> Timestamp? {
        pauses.first { $0.subject == .rule(rule) && $0.since <= moment }?.since
    }
}

/// A delivery with its attempts, as an explanation shows them.
public struct ExplainedDelivery: Sendable, Hashable {
    public var id: String
    public var rule: String
    public var occasion: Occasion.ID
    public var step: StepPath
    public var revision: String
    public var state: DeliveryState
    public var action: String
    public var receiver: String
    /// The argument that `content` shows; nil if it shows all of them.
    public var argument: String?
    /// The title of its message, its text, or its arguments.
    public var content: String
    /// Whether its message closes what its thread opened.
    public var resolves = false
    public var created: Timestamp
    /// When it is tried next, if it is not over.
    public var next: Timestamp?
    /// The receiver's answer, or the reason of the failure.
    public var answer: String?
    /// The delivery that has its message as a line.
    public var joined: JoinedDelivery?
    /// The silence that kept it back.
    public var silence: String?
    /// The pause of all writes or the stop of the receiver for which it waits, as `bellhop deliveries --json` prints it.
    public var stop: JSON?
    public var attempts: [Attempt] = []

    /// An attempt that ended.
    public struct Attempt: Sendable, Hashable {
        /// A retry by a person continues the numbers.
        public var number: Int64
        public var at: Timestamp
        public var outcome: String
        public var detail: String
    }
}

extension ExplainedDelivery {
    public init(_ record: DeliveryRecord) {
        let delivery = record.delivery
        let content: String
        var argument: String?
        switch delivery.arguments {
        case .message(let message): (argument, content) = ("title", message.title.plainText)
        case .values(let values):
            let text = values["text"]?.asString
            (argument, content) = (text.map { _ in "text" }, text ?? JSON.object(values).text)
        }
        self.init(
            id: delivery.id.text, rule: delivery.id.rule, occasion: delivery.id.occasion, step: delivery.id.step,
            revision: delivery.revision,
            state: record.state, action: delivery.action, receiver: delivery.id.receiver, content: content,
            created: delivery.createdAt)
        if [.available, .waiting, .quiet].contains(record.state) { next = record.runAt }
        self.argument = argument
        if case .message(let message) = delivery.arguments { resolves = message.resolve }
        joined = record.joined
        answer = joined?.summary ?? record.receipt?.summary ?? record.failure?.message
        if case .silenced(let silence) = delivery.initial { self.silence = silence }
    }
}
