/// A delivery that this process alone may attempt until its lease ends (T3).
public struct Claim: Sendable, Hashable {
    public var delivery: Delivery
    public var lease: Lease
    public var attempt: Attempt

    public init(delivery: Delivery, lease: Lease, attempt: Attempt) {
        self.delivery = delivery
        self.lease = lease
        self.attempt = attempt
    }
}

/// How much of what is due for a receiver may be claimed at once.
public struct Room: Sendable, Hashable {
    public var attempts: Int
    /// How many of the deliveries that come next each claim knows the tasks of.
    public var upcoming: Int

    public init(attempts: Int, upcoming: Int = 0) {
        self.attempts = attempts
        self.upcoming = upcoming
    }
}

/// What was claimed, and for whom more is due.
public struct Claimed: Sendable, Hashable {
    public var claims: [Claim]
    /// The receivers that had less room than there is due for them.
    public var waiting: Set<String>

    public init(claims: [Claim] = [], waiting: Set<String> = []) {
        self.claims = claims
        self.waiting = waiting
    }
}

/// The right to attempt a delivery and to say how it ended.
public struct Lease: Sendable, Hashable {
    public var token: Int64
    public var until: Timestamp

    public init(token: Int64, until: Timestamp) {
        self.token = token
        self.until = until
    }
}

/// How an attempt ended, to be kept only while its lease holds (T4).
public struct Finish: Sendable {
    public var id: Delivery.ID
    public var lease: Lease
    public var at: Timestamp
    public var next: RetryPolicy.Next
    /// True when the attempt may have reached the other side without proof either way.
    public var uncertain: Bool
    /// Where it was postponed: how long its receiver rests.
    public var rest: ReceiverRest?
    /// `delivery_dead`, where it died.
    public var events: [Event]

    public init(
        id: Delivery.ID, lease: Lease, at: Timestamp, next: RetryPolicy.Next, uncertain: Bool = false, rest: ReceiverRest? = nil,
        events: [Event] = []
    ) {
        self.id = id
        self.lease = lease
        self.at = at
        self.next = next
        self.uncertain = uncertain
        self.rest = rest
        self.events = events
    }
}

/// Where a delivery is in its life.
public enum DeliveryState: String, Sendable, Hashable, CaseIterable {
    /// Waits for its time, its lane or a free hand.
    case available
    /// Waits for earlier steps of its rule to be done.
    case waiting
    case running
    case done
    /// Given up; a person may retry or drop it.
    case dead
    /// It may have been done and nothing can prove it; a person retries or drops it.
    case held
    /// A rule in shadow mode would have done it.
    case shadow
    /// A person dropped it, or an earlier step of its rule was given up (`Failure.Reason.stopped`).
    case dropped
}

/// A delivery with its history, as `bellhop deliveries` shows it.
public struct DeliveryRecord: Sendable, Hashable {
    public var delivery: Delivery
    public var state: DeliveryState
    public var attempts: Int
    public var runAt: Timestamp
    public var finishedAt: Timestamp?
    public var receipt: Receipt?
    public var failure: Failure?
    /// Where the store has it: later ones have higher places.
    public var place: Int64

    public init(
        delivery: Delivery, state: DeliveryState, attempts: Int, runAt: Timestamp, finishedAt: Timestamp? = nil,
        receipt: Receipt? = nil, failure: Failure? = nil, place: Int64 = 0
    ) {
        self.delivery = delivery
        self.state = state
        self.attempts = attempts
        self.runAt = runAt
        self.finishedAt = finishedAt
        self.receipt = receipt
        self.failure = failure
        self.place = place
    }
}
