public import BellhopCore
import CEL

/// A condition in the rules' language over stored events: a search.
public struct EventFilter: Sendable {
    private let condition: RuleExpression
    private let reading: SilenceBook.Reading

    /// - Throws: the mistakes in the condition.
    public init(_ when: String, context: RuleContext) throws(Diagnostics) {
        let cache = SharedNameCache(context)
        let names = SilenceBook.names(context, cache)
        condition = try SilenceBook.compile(when, names, "where", of: "a search")
        reading = SilenceBook.Reading(context, names, cache)
    }

    /// The places of the events for which the condition holds. One whose condition fails or is unknown is left out.
    ///
    /// - Parameters:
    ///   - limit: how many places at most.
    ///   - isOver: asked after each event; true to leave out the rest.
    public func matches(
        among events: [StoredEvent], at now: Timestamp, limit: Int = .max, isOver: () -> Bool = { false }
    ) -> Matched {
        let frame = RunFrame(reading.facts, events: events, now: now)
        let activation = Activation(reading.slots)
        return Matched(among: events.count, limit: limit, isOver: isOver) { place in
            frame.move(to: place)
            activation.begin(frame)
            return condition.program.verdictOfOne(activation)
        }
    }
}

/// The result of a search.
public struct Matched: Sendable {
    /// Those for which the condition holds.
    public private(set) var places: [Int] = []
    /// How many it has looked at.
    public private(set) var seen = 0
    public private(set) var failures = SearchFailures()

    init(among count: Int, limit: Int, isOver: () -> Bool, _ verdict: (Int) -> Program.Verdict) {
        for place in 0..<count {
            switch verdict(place) {
            case .yes: places.append(place)
            case .failed(let error): failures.add(error.message)
            case .no, .unknown: break
            }
            seen += 1
            if places.count == limit || isOver() { return }
        }
    }
}

/// How many items a search has left out because its condition failed for them: an empty result alone would not show this.
public struct SearchFailures: Sendable, Hashable {
    public private(set) var count = 0
    /// The first error.
    public private(set) var error = ""

    public init() {}

    mutating func add(_ error: String) {
        if count == 0 { self.error = error }
        count += 1
    }

    public static func += (one: inout SearchFailures, other: SearchFailures) {
        if one.count == 0 { one.error = other.error }
        one.count += other.count
    }

    /// From the member of an answer.
    public init(json: JSON?) {
        count = Int(json?["count"]?.asInt ?? 0)
        error = json?["error"]?.asString ?? ""
    }

    /// Null without failures.
    public var json: JSON { count == 0 ? .null : ["count": .int(Int64(count)), "error": .string(error)] }
}

extension Program {
    /// The verdict on one item of a search, with the work limit of one run of a rule.
    func verdictOfOne(_ activation: Activation) -> Verdict {
        activation.workLeft = RuleBook.workPerRun
        return verdict(activation)
    }
}

extension RuleBook {
    /// These rules from the same files, so that each part of a condition has its value: for ``judge(_:by:tasks:at:)``.
    public func explainable(_ files: [RuleFile]) throws(Diagnostics) -> RuleBook {
        try Self.loadToExplain(files, context: context)
    }
}
