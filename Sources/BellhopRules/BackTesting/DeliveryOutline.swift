public import BellhopCore

/// The identity of a delivery and its outcome.
public struct DeliveryOutline: Sendable, Hashable {
    public var rule: String
    /// The occasion without places on the bus, which may differ between two back-tests.
    public var occasion: String
    public var step: StepPath
    public var receiver: String
    public var action: String
    public var outcome: BackTestOutcome
    /// The number of its task.
    public var task: String?
    public var time: Timestamp

    public init(_ delivery: Delivery) {
        occasion = delivery.id.occasion.withoutPlaces
        (rule, step, receiver) = (delivery.id.rule, delivery.id.step, delivery.id.receiver)
        (action, outcome) = (delivery.action, BackTestOutcome(delivery))
        (task, time) = (delivery.task?.number, delivery.createdAt)
    }

    /// The same in two back-tests that both make the delivery.
    var id: Delivery.ID { Delivery.ID(occasion: Occasion.ID(occasion), rule: rule, step: step, receiver: receiver) }

    public var json: JSON {
        [
            "rule": .string(rule), "occasion": .string(occasion), "step": .string(step.text), "action": .string(action),
            "receiver": .string(receiver), "state": .string(outcome.rawValue), "task": .optional(task),
            "time": .string(time.rfc3339),
        ]
    }

    /// Reads what ``json`` wrote; nil for anything else.
    public init?(json: JSON) {
        func text(_ name: String) -> String { json[name]?.asString ?? "" }
        guard let rule = json["rule"]?.asString, let time = json["time"]?.asMoment,
            let outcome = BackTestOutcome(rawValue: text("state"))
        else { return nil }
        (self.rule, self.time, self.outcome) = (rule, time, outcome)
        (occasion, step, receiver) = (text("occasion"), StepPath(text("step")), text("receiver"))
        (action, task) = (text("action"), json["task"]?.asString)
    }
}

/// The first of many deliveries, and how many there are.
public struct DeliveryOutlines: Sendable, Hashable {
    public private(set) var first: [DeliveryOutline] = []
    public private(set) var count = 0
    /// The most that are kept.
    private let most: Int

    public init(most: Int = 100_000) { self.most = most }

    /// Reads what ``json`` wrote.
    ///
    /// - Parameter count: the number of all deliveries, including those that the list lacks.
    public init(json: JSON?, count: JSON?) {
        self.init()
        first = (json?.asArray ?? []).compactMap(DeliveryOutline.init(json:))
        self.count = max(first.count, count?.asInt.flatMap { Int(exactly: $0) } ?? 0)
    }

    /// Returns the index of the outline, or nil if it is not kept.
    @discardableResult
    public mutating func add(_ outline: DeliveryOutline) -> Int? {
        count += 1
        guard first.count < most else { return nil }
        first.append(outline)
        return first.count - 1
    }

    public mutating func setOutcome(_ outcome: BackTestOutcome, at place: Int) { first[place].outcome = outcome }

    public var json: JSON { .array(first.map(\.json)) }
}

/// What becomes of a delivery in a back-test, where everything that is sent arrives.
public enum BackTestOutcome: String, Sendable, Hashable, CaseIterable {
    case sent
    /// A message that is not sent, because all its lists are empty.
    case empty
    /// Held by a quiet time, and sent at its end.
    case released
    /// An event that was emitted.
    case done
    case shadow, silenced, quiet, dropped, dead

    public init(_ delivery: Delivery) {
        self =
            switch (delivery.initial, delivery.arguments) {
            case (.available, _): .sent
            // Of messages, only empty ones are done before they are sent.
            case (.done, .message): .empty
            case (.done, .values): .done
            case (.shadow, _): .shadow
            case (.silenced, _): .silenced
            case (.quiet, _): .quiet
            case (.dropped, _): .dropped
            case (.dead, _): .dead
            }
    }
}

extension Occasion.ID {
    /// The id without the place on the bus of the event that began a timer, or that was the last before an absence.
    public var withoutPlaces: String {
        guard let timer = text.firstRange(of: "timer/")?.lowerBound, var parts = String(text[timer...]).dividedAtSlashes(into: 5)
        else { return text }
        // Times before 1970 begin with the sign.
        if let end = parts[3].dropFirst().firstIndex(where: { "-+".contains($0) }) { parts[3] = String(parts[3][..<end]) }
        return text[..<timer] + parts.joined(separator: "/")
    }
}
