/// A delivery that only this process may attempt until its lease ends (T3).
///
/// A class, because an attempt hands its claim from task to task, and each copy of a delivery takes dozens of references.
public final class Claim: Sendable, Hashable {
    public let delivery: Delivery
    public let lease: Lease
    public let attempt: Attempt

    public init(delivery: Delivery, lease: Lease, attempt: Attempt) {
        (self.delivery, self.lease, self.attempt) = (delivery, lease, attempt)
    }

    /// The number of the attempt among all of the delivery, as in the list and the audit. ``Attempt/number`` is the retry policy's.
    public var number: Int { Int(lease.token) }

    public static func == (one: Claim, other: Claim) -> Bool {
        one.delivery == other.delivery && one.lease == other.lease && one.attempt == other.attempt
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(lease) }
}

/// How many due deliveries of a receiver one claim may take, and which come first.
public struct ClaimQuota: Sendable, Hashable {
    public var attempts: Int
    /// The claim also lists the tasks of this many deliveries that come after the claimed ones (``Attempt/upcoming``).
    public var upcoming: Int
    /// The time added to the limit of an attempt and to its lease, because its requests wait for a rate limit.
    public var extraTime: Duration
    /// The rule of the delivery that was claimed last: the rules after it have their turn first.
    public var lastRule: String
    /// If more messages than this wait, the claim coalesces them first; nil for never.
    public var coalescesAbove: Int?

    public init(
        attempts: Int, upcoming: Int = 0, extraTime: Duration = .zero, lastRule: String = "", coalescesAbove: Int? = nil
    ) {
        (self.attempts, self.lastRule, self.upcoming, self.extraTime) = (attempts, lastRule, upcoming, extraTime)
        self.coalescesAbove = coalescesAbove
    }
}

/// Which deliveries to claim, and for how long (T3).
public struct ClaimRequest: Sendable, Hashable {
    public var limit: Int
    public var quotas: [String: ClaimQuota]
    /// The most claims for each receiver that is not in `quotas`.
    public var others: Int
    public var node: NodeID
    /// When the leases end.
    public var until: Timestamp
    public var now: Timestamp

    public init(limit: Int, quotas: [String: ClaimQuota], others: Int, by node: NodeID, until: Timestamp, at now: Timestamp) {
        self.limit = limit
        self.quotas = quotas
        self.others = others
        self.node = node
        self.until = until
        self.now = now
    }
}

/// The claimed deliveries, and the receivers with further due deliveries.
public struct Claimed: Sendable, Hashable {
    public var claims: [Claim] = []
    /// The receivers with more due deliveries than could be claimed.
    public var waiting: Set<String> = []
    /// The rule whose delivery was claimed last, for each receiver with claims.
    public var lastRules: [String: String] = [:]
    /// How many messages became one, by receiver.
    public var coalesced: [String: Int] = [:]
    /// Whether an immediate second claim may find more: the limit was reached while receivers had room, a delivery ended without an
    /// attempt, or more messages may wait than become one at once.
    public var mayHaveMore = false
    /// Those that ended without an attempt: they cannot be read, or have expired, also in a message that has them. Each may have an event.
    public var dead: [Dead] = []
    /// Those that were dropped without an attempt, because they would undo what a newer one of their conversation did.
    public var outdated: [Delivery] = []

    public struct Dead: Sendable, Hashable {
        public var delivery: Delivery
        public var failure: Failure

        public init(_ delivery: Delivery, _ failure: Failure) { (self.delivery, self.failure) = (delivery, failure) }
    }

    public init() {}
}

/// The name of an agent; several agents may share a store.
public struct NodeID: Sendable, Hashable {
    public var name: String

    public init(_ name: String) { self.name = name }

    /// The name of the agent of a store that only one agent can open.
    public static let only = NodeID("only")
}

/// The right of a node to attempt a delivery and to record its outcome.
public struct Lease: Sendable, Hashable {
    public var token: Int64
    public var node: NodeID
    public var until: Timestamp
    /// The delivery's row in the store.
    public var row: Int64
    /// The delivery's short name (``Delivery/ID/text``), by which the store sees that the row is still this delivery's.
    public var name: String

    public init(token: Int64, node: NodeID = .only, until: Timestamp, row: Int64, name: String) {
        (self.token, self.node, self.until, self.row, self.name) = (token, node, until, row, name)
    }
}

/// How an attempt ended, stored only while its lease holds (T4).
public struct Finish: Sendable {
    public var claim: Claim
    public var at: Timestamp
    public var next: RetryPolicy.Next
    /// True if it is unknown whether the attempt reached the other side.
    public var uncertain: Bool
    /// The receiver's stops that began or ended with this attempt.
    public var stops: [ReceiverStop]
    /// The pause that the receiver's answer calls for. Stored even if the lease is lost.
    public var pause: ReceiverPause?
    /// True if the receiver is back after it failed for long: its deliveries that wait for their next attempt become due. Stored even if
    /// the lease is lost.
    public var isReceiverBack: Bool
    /// The event `delivery_dead`, if the delivery is dead now.
    public var events: [Event]

    public init(
        _ claim: Claim, at: Timestamp, next: RetryPolicy.Next, uncertain: Bool = false, stops: [ReceiverStop] = [],
        pause: ReceiverPause? = nil, isReceiverBack: Bool = false, events: [Event] = []
    ) {
        self.claim = claim
        self.at = at
        self.next = next
        self.uncertain = uncertain
        self.stops = stops
        self.pause = pause
        self.isReceiverBack = isReceiverBack
        self.events = events
    }
}

public enum DeliveryState: String, Sendable, Hashable, CaseIterable {
    /// Waits for its time, its lane or free capacity.
    case available
    /// Waits for earlier steps of its rule.
    case waiting
    case running
    case done
    /// Part of another delivery's message (``DeliveryRecord/joined``).
    case joined
    /// Given up; a person may retry or drop it.
    case dead
    /// It may or may not have been done, and Bellhop cannot find out which; a person retries or drops it.
    case held
    /// A rule in shadow mode would have done it.
    case shadow
    /// A silence kept it back; it is never sent.
    case silenced
    /// A quiet time holds it until that time ends.
    case quiet
    /// A person, a quiet time or a later message of its conversation dropped it, or an earlier step of its rule was given up
    /// (`Failure.Reason.stopped`).
    case dropped

    /// The state in a few words for users, and what to do.
    public var summary: String {
        switch self {
        case .available: "to be done now, or at its next attempt"
        case .waiting: "follows a step with `on_error: stop` that is not done yet"
        case .running: "in progress"
        case .done: "done"
        case .joined: "part of another delivery's message, which `show` names: retry or drop that one"
        case .dead: "failed permanently, or too often: fix the cause, then retry or drop it"
        case .held: "may or may not have been done: look at the task, then retry or drop it"
        case .shadow: "its rule is in shadow mode: recorded, not done"
        case .silenced: "a silence kept it back: recorded, never sent"
        case .quiet: "a quiet time keeps it back until it ends; a retry sends it now"
        case .dropped: "dropped by a person, a quiet time or a later message of its thread, or the step it waited for is dead"
        }
    }
}

/// A delivery with its history, as shown by `bellhop deliveries`.
public struct DeliveryRecord: Sendable, Hashable {
    public var delivery: Delivery
    public var state: DeliveryState
    /// All attempts that began, with those that ended with a rest or a pause, and those before a person's retry.
    public var attempts: Int
    public var runAt: Timestamp
    public var finishedAt: Timestamp?
    public var receipt: Receipt?
    public var failure: Failure?
    /// What became of the message that this one is part of; nil unless it is `joined`.
    public var joined: JoinedDelivery?
    /// When its first and its latest attempt started.
    public var firstStarted: Timestamp?
    public var lastStarted: Timestamp?
    /// Its position in the store: newer deliveries have higher ones.
    public var place: Int64

    public init(
        delivery: Delivery, state: DeliveryState, attempts: Int, runAt: Timestamp, finishedAt: Timestamp? = nil,
        receipt: Receipt? = nil, failure: Failure? = nil, firstStarted: Timestamp? = nil, lastStarted: Timestamp? = nil,
        place: Int64 = 0
    ) {
        self.delivery = delivery
        self.state = state
        self.attempts = attempts
        self.runAt = runAt
        self.finishedAt = finishedAt
        self.receipt = receipt
        self.failure = failure
        self.firstStarted = firstStarted
        self.lastStarted = lastStarted
        self.place = place
    }
}
