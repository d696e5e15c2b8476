public import BellhopCore
public import BellhopRules

/// The deliveries that rules would have made in a span of time, and the reasons why this is uncertain.
public struct BackTestReport: Sendable {
    public var since: Timestamp
    public var until: Timestamp
    /// The time of the first event; nil without events.
    public var first: Timestamp?
    /// How many events went through the rules.
    public var events = 0
    public var unreadable = 0
    /// How many events were left out because they are later than the end, though they were stored before others that are not.
    public var ahead = 0
    /// Whether the store has events before this time.
    public var hasEarlier = false
    public var tally = BackTestTally(rules: nil)
    /// The latest delivery of each rule that made any.
    public var samples: [String: BackTestSample] = [:]
    /// Nil without a comparison.
    public var difference: DeliveryDifference?
    /// The facts that the history lacks, as sentences.
    public var gaps: [String] = []
    /// The deliveries in their order: for programs.
    public internal(set) var deliveries = DeliveryOutlines()
    /// The indexes in `deliveries` of the messages that quiet times hold.
    private var held: [Delivery.ID: Int] = [:]

    init(since: Timestamp, until: Timestamp) { (self.since, self.until) = (since, until) }

    /// A message that a quiet time held is one delivery: its outcome changes if it is not sent at the end.
    mutating func add(_ made: BackTest.MadeDeliveries, _ isCounted: (String) -> Bool) {
        for delivery in made.deliveries where isCounted(delivery.id.rule) {
            let place = deliveries.add(DeliveryOutline(delivery))
            if case .quiet = delivery.initial { held[delivery.id] = place }
        }
        for delivery in made.released {
            guard let place = held.removeValue(forKey: delivery.id), delivery.initial != .available else { continue }
            deliveries.setOutcome(BackTestOutcome(delivery), at: place)
        }
    }
}
