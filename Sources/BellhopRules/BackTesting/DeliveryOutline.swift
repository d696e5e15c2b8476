public import BellhopCore

/// The identity of a delivery and its outcome.
public struct DeliveryOutline: Sendable, Hashable {
    public var rule: String
    /// The occasion without places on the bus, which may differ between two back-tests.
    public var occasion: String
    public var step: StepPath
    public var receiver: String
    public var action: String
    /// Its outcome.
    public var state: String
    /// The number of its task.
    public var task: String?
    public var time: Timestamp

    public init(_ delivery: Delivery) {
        occasion = delivery.id.occasion.withoutPlaces
        (rule, step, receiver) = (delivery.id.rule, delivery.id.step, delivery.id.receiver)
        (action, state) = (delivery.action, delivery.initial.outcome)
        (task, time) = (delivery.task?.number, delivery.createdAt)
    }

    /// The same in two back-tests that both make the delivery.
    var id: Delivery.ID { Delivery.ID(occasion: Occasion.ID(occasion), rule: rule, step: step, receiver: receiver) }

    public var json: JSON {
        [
            "rule": .string(rule), "occasion": .string(occasion), "step": .string(step.text), "action": .string(action),
            "receiver": .string(receiver), "state": .string(state), "task": task.map(JSON.string) ?? .null,
            "time": .string(time.rfc3339),
        ]
    }

    /// Reads what ``json`` wrote; nil for anything else.
    public init?(json: JSON) {
        func text(_ name: String) -> String { json[name]?.asString ?? "" }
        guard let rule = json["rule"]?.asString, let time = json["time"]?.asMoment else { return nil }
        (self.rule, self.time) = (rule, time)
        (occasion, step, receiver) = (text("occasion"), StepPath(text("step")), text("receiver"))
        (action, state, task) = (text("action"), text("state"), json["task"]?.asString)
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

    public mutating func setState(_ state: String, at place: Int) { first[place].state = state }

    public var json: JSON { .array(first.map(\.json)) }
}

extension Delivery.InitialState {
    /// What becomes of a delivery in a back-test, where everything that is sent arrives: `sent`, `empty`, or the name of the state.
    public var outcome: String {
        switch self {
        case .available: "sent"
        case .done(let receipt) where receipt.summary == Message.notSent: "empty"
        case .done, .shadow, .silenced, .quiet, .dropped, .dead: name
        }
    }
}

extension Occasion.ID {
    /// The id without the place on the bus of the event that began a timer, or that was the last before an absence.
    public var withoutPlaces: String {
        guard let timer = text.firstRange(of: "timer/")?.lowerBound else { return text }
        var parts = text[timer...].split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5 else { return text }
        // Times before 1970 begin with the sign.
        if let end = parts[3].dropFirst().firstIndex(where: { "-+".contains($0) }) { parts[3] = String(parts[3][..<end]) }
        return text[..<timer] + parts.joined(separator: "/")
    }
}
