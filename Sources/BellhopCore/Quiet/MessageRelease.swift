/// A message that was held by a quiet time which has ended.
public struct HeldMessage: Sendable, Hashable {
    /// Its position in the store: messages that were made later have higher ones.
    public var place: Int64
    /// Its `runAt` is the end of the quiet time.
    public var delivery: Delivery
    /// Whether a message of its conversation was sent before.
    public var continues: Bool
    /// Whether it still waits for earlier steps of its run.
    public var waits: Bool

    public init(place: Int64, delivery: Delivery, continues: Bool = false, waits: Bool = false) {
        (self.place, self.delivery, self.continues, self.waits) = (place, delivery, continues, waits)
    }

    /// The most messages that are released together.
    public static let most = 1000
}

/// What happens to the messages that were held for one receiver until the same moment, stored in one transaction.
public struct MessageRelease: Sendable, Hashable {
    public enum Treatment: Sendable, Hashable {
        /// It is sent unchanged.
        case sent
        /// It becomes a line of a coalesced message.
        case joined
        case silenced(by: String)
        case dropped(Failure)
        /// Another quiet time holds it.
        case held(until: Timestamp)
    }

    /// The messages, in the order in which they were made, and what happens to each.
    public var treatments: [(message: HeldMessage, treatment: Treatment)]
    /// The coalesced message that replaces the joined ones; nil if none are joined.
    public var joined: Delivery?
    public var at: Timestamp

    public init(_ treatments: [(HeldMessage, Treatment)], joined: Delivery? = nil, at: Timestamp) {
        self.treatments = treatments.map { (message: $0, treatment: $1) }
        self.joined = joined
        self.at = at
    }

    public static func == (one: MessageRelease, other: MessageRelease) -> Bool {
        one.joined == other.joined && one.at == other.at && one.treatments.elementsEqual(other.treatments, by: ==)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(joined)
        hasher.combine(treatments.map(\.treatment))
    }
}
