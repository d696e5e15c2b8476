import BellhopCore
import CEL

/// Decides which deliveries of a batch are kept back by silences, although their rules ran.
struct SilenceFilter {
    /// The silences that are active.
    private let entries: [SilenceBook.Entry]
    private let now: Timestamp
    private let frame: RunFrame?
    private let activation: Activation?
    /// The latest run, and the results of the conditions for it, by the place of the silence.
    private var run: Int?
    private var answers: [Int: Bool] = [:]

    /// Nil if no silence is active at this moment.
    init?(_ book: SilenceBook, events: [StoredEvent], at now: Timestamp) {
        if book.entries.isEmpty { return nil }
        entries = book.entries.filter { $0.silence.isActive(at: now) }
        if entries.isEmpty { return nil }
        self.now = now
        if let reading = book.reading, entries.contains(where: { $0.condition != nil }) {
            frame = RunFrame(reading.facts, events: events, now: now)
            activation = Activation(reading.slots)
        } else {
            (frame, activation) = (nil, nil)
        }
    }

    /// The state of a delivery that is kept back; nil for one that may be sent.
    ///
    /// - Parameters:
    ///   - run: the number of the run in the batch.
    ///   - place: the frame whose current run makes the delivery.
    mutating func state(
        of action: ActionManifest, for run: Int, of rule: String, to receiver: String, at place: RunFrame
    ) -> Delivery.InitialState? {
        let content: Silence.Content = action.isMessage ? .message : action.effect != nil ? .write : .other
        if content == .other { return nil }
        for (number, entry) in entries.enumerated()
        where entry.silence.covers(content, of: rule, to: receiver, at: now) && !Self.isAbout(place.event, entry.silence)
            && holds(number, for: run, at: place)
        {
            return .silenced(by: entry.silence.id)
        }
        return nil
    }

    /// Whether the event is about the silence itself, which never keeps it back.
    private static func isAbout(_ event: Event?, _ silence: Silence) -> Bool {
        guard let event, event.type == .silenceStarted || event.type == .silenceEnded else { return false }
        return event.data[.silence]?["id"]?.asString == silence.id
    }

    /// Whether the condition holds; an unknown one, or one that fails, does not.
    private mutating func holds(_ number: Int, for run: Int, at place: RunFrame) -> Bool {
        guard let condition = entries[number].condition, let frame, let activation else { return true }
        if self.run != run {
            self.run = run
            answers = [:]
            frame.move(to: place)
            activation.begin(frame)
            activation.workLeft = RuleBook.workPerRun
        }
        if let answer = answers[number] { return answer }
        let answer = if case .yes = condition.program.verdict(activation) { true } else { false }
        answers[number] = answer
        return answer
    }
}
