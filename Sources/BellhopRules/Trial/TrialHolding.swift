import BellhopCore

/// The messages that quiet times hold in a trial.
struct TrialHolding {
    private(set) var messages: [HeldMessage] = []
    /// The messages that are no longer held and will never be sent, because a later one closed or replaced what they would show; each
    /// with the reason that the agent gives.
    private var dropped: [Delivery] = []
    private var place: Int64 = 0
    /// The latest conversations in which a message was sent, each with its receiver.
    private(set) var conversations = RecentSet<[String]>(most: Self.maxConversations)

    static let maxConversations = 10_000

    /// When the next quiet time ends that holds a message.
    var next: Timestamp? { messages.map(\.delivery.runAt).min() }

    /// Records deliveries, and returns those that are made. A message that only closes held messages is not made, and these are
    /// dropped.
    mutating func keep(_ deliveries: [Delivery], by book: RuleBook) -> [Delivery] {
        var made: [Delivery] = []
        for delivery in deliveries {
            if let closing = delivery.closes {
                let before = messages.count
                drop(.escalationEnded) { closing.held.contains($0.delivery.id.text) }
                if !closing.isOpen, before - messages.count == closing.held.count { continue }
            }
            if delivery.settles {
                drop(.settled) { held in
                    held.delivery.lane == delivery.lane && !held.delivery.settles
                        && held.delivery.arguments.conversation == delivery.arguments.conversation
                }
            }
            made.append(delivery)
            place += 1
            if case .quiet = delivery.initial {
                messages.append(HeldMessage(place: place, delivery: delivery))
            } else if delivery.initial == .available {
                send(delivery, place, by: book)
            }
        }
        return made
    }

    private mutating func drop(_ why: Failure, where isDropped: (HeldMessage) -> Bool) {
        for message in messages where isDropped(message) {
            var delivery = message.delivery
            delivery.initial = .dropped(why)
            dropped.append(delivery)
        }
        messages.removeAll(where: isDropped)
    }

    /// Takes the messages that were dropped since the last time.
    mutating func takeDropped() -> [Delivery] {
        defer { dropped = [] }
        return dropped
    }

    private mutating func send(_ delivery: Delivery, _ place: Int64, by book: RuleBook) {
        guard case .message(let message) = delivery.arguments, let conversation = message.conversation else { return }
        let key = [delivery.id.receiver, conversation]
        let isFirst = !conversations.contains(key)
        // Earlier ones that are held would undo what this one did.
        drop(.outdated) { held in
            held.place < place && held.delivery.lane == delivery.lane
                && (held.delivery.settles || held.delivery.arguments.updatesConversation && (message.update || isFirst))
        }
        if message.resolve, book.facts.isPager(delivery.id.receiver) {
            conversations.remove(key)
        } else {
            conversations.insert(key)
        }
    }

    /// Releases the messages that were held until a moment. Returns, in order, those that are sent, silenced or dropped.
    mutating func release(
        until end: Timestamp, by book: RuleBook, _ facts: ReleaseFacts, silences: SilenceBook, at now: Timestamp
    ) -> [Delivery] {
        var released: [Delivery] = []
        let due = messages.filter { $0.delivery.runAt == end }
        messages.removeAll { $0.delivery.runAt == end }
        for receiver in Set(due.map(\.delivery.id.receiver)).sorted() {
            var held = due.filter { $0.delivery.id.receiver == receiver }
            if book.showsConversations(receiver) {
                for place in held.indices {
                    let conversation = held[place].delivery.arguments.message?.conversation
                    held[place].continues = conversation.map { conversations.contains([receiver, $0]) } ?? false
                }
            }
            for start in stride(from: 0, to: held.count, by: HeldMessage.most) {
                let part = Array(held[start..<min(start + HeldMessage.most, held.count)])
                released += apply(book.release(part, facts, silences: silences, at: now), by: book)
            }
        }
        messages.sort { $0.place < $1.place }
        return released
    }

    private mutating func apply(_ release: MessageRelease, by book: RuleBook) -> [Delivery] {
        var released: [Delivery] = []
        for (message, treatment) in release.treatments {
            var message = message
            switch treatment {
            case .sent:
                message.delivery.initial = .available
                send(message.delivery, message.place, by: book)
            case .silenced(let silence): message.delivery.initial = .silenced(by: silence)
            case .dropped(let why): message.delivery.initial = .dropped(why)
            case .held(let until):
                message.delivery.runAt = until
                messages.append(message)
                continue
            case .joined: continue
            }
            released.append(message.delivery)
        }
        if let joined = release.joined { released.append(joined) }
        return released
    }
}
