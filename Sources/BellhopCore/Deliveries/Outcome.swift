/// How an attempt ended.
public enum Outcome: Sendable, Hashable {
    case delivered(Receipt)
    case failed(Failure)
    /// The process ended or lost its lease during the attempt, so the delivery may have been done.
    case interrupted
}

/// The proof of a delivery: the other side's answer.
public struct Receipt: Sendable, Hashable {
    /// One line for people, without secrets: `201, work note 7f3a…`.
    public var summary: String
    /// The id of the created object, such as a comment, so that no other delivery takes this object for its own.
    public var reference: String?
    /// How the conversation of a message changed; nil if it did not.
    public var conversation: ConversationChange?
    /// False if another host than the receiver's answered, so that the receipt says nothing about the receiver.
    public var concernsReceiver = true

    public init(_ summary: String, reference: String? = nil, conversation: ConversationChange? = nil) {
        (self.summary, self.reference, self.conversation) = (summary, reference, conversation)
    }

    /// The receipt of the receiver's own host, or of another: that one does not close the receiver's circuit breaker.
    public func from(ownHost isOwn: Bool) -> Receipt {
        var receipt = self
        receipt.concernsReceiver = isOwn
        return receipt
    }
}

/// The beginning or the end of a conversation at a receiver.
public struct ConversationChange: Sendable, Hashable {
    /// The key of the conversation (``Message/conversation``).
    public var conversation: String
    /// The receiver's own reference to the first message, needed to answer or replace that message; nil if the conversation
    /// ended.
    public var firstMessage: JSON?

    public init(_ conversation: String, firstMessage: JSON?) {
        (self.conversation, self.firstMessage) = (conversation, firstMessage)
    }
}

/// The facts about earlier attempts that an attempt needs.
public struct Attempt: Sendable, Hashable {
    /// Counted from 1 for the retry policy: after a rest or a pause the number is the same, and after a person's retry it is 1 again.
    public var number: Int
    public var now: Timestamp
    /// When the first attempt started; nil for the first.
    public var firstStarted: Timestamp?
    /// When the latest attempt that may have reached the other side started; nil if none has.
    public var lastUncertain: Timestamp?
    /// The references of other deliveries (``Receipt/reference``). An attempt that looks for its own result ignores these objects.
    public var othersReferences: Set<String>
    /// A period that is missing in the store, because the store was restored from a copy: the delivery may have been done then.
    public var mayRepeat: Range<Timestamp>?
    /// For a replay: when the event happened. Content that was written since then is not written again.
    public var replayOf: Timestamp?
    /// The subjects of the tasks that the receiver's next deliveries write to, so that one request can check them all.
    public var upcoming: [String]
    /// The first message of the conversation at this receiver that a message belongs to (``ConversationChange/firstMessage``).
    public var firstMessage: JSON?

    public init(
        number: Int, now: Timestamp, firstStarted: Timestamp? = nil, lastUncertain: Timestamp? = nil,
        othersReferences: Set<String> = [], mayRepeat: Range<Timestamp>? = nil, upcoming: [String] = [], firstMessage: JSON? = nil
    ) {
        self.number = number
        self.now = now
        self.firstStarted = firstStarted
        self.lastUncertain = lastUncertain
        self.othersReferences = othersReferences
        self.mayRepeat = mayRepeat
        self.upcoming = upcoming
        self.firstMessage = firstMessage
    }
}
