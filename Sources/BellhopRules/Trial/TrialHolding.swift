import BellhopCore

/// The messages that quiet times hold in a trial.
struct TrialHolding {
    private var held = TrialHeldMessages()
    /// The messages that are no longer held and will never be sent, because a later one closed or replaced what they would show; each
    /// with the reason that the agent gives.
    private var dropped: [Delivery] = []
    private var place: Int64 = 0
    /// The latest conversations in which a message was sent, each with its receiver.
    private(set) var conversations = RecentSet<[String]>(most: Self.maxConversations)

    static let maxConversations = 10_000

    var messages: some Collection<HeldMessage> { held.all }

    /// When the next quiet time ends that holds a message.
    var next: Timestamp? { held.next }

    /// The messages that are held until a moment, in the order in which they were made.
    func messages(until end: Timestamp) -> [HeldMessage] { held.messages(until: end) }

    /// Records deliveries, and returns those that are made. A message that only closes held messages is not made, and these are
    /// dropped.
    mutating func keep(_ deliveries: [Delivery], by book: RuleBook) -> [Delivery] {
        var made: [Delivery] = []
        for delivery in deliveries {
            if let closing = delivery.closes {
                let closed = held.messages(named: closing.held)
                drop(closed, .escalationEnded)
                if !closing.isOpen, closed.count == closing.held.count { continue }
            }
            if delivery.settles {
                let settled = held.messages(inLane: delivery.lane).filter { earlier in
                    !earlier.delivery.settles
                        && earlier.delivery.arguments.conversation == delivery.arguments.conversation
                }
                drop(settled, .settled)
            }
            made.append(delivery)
            place += 1
            if case .quiet = delivery.initial {
                held.add(HeldMessage(place: place, delivery: delivery))
            } else if delivery.initial == .available {
                send(delivery, place, by: book)
            }
        }
        return made
    }

    private mutating func drop(_ messages: [HeldMessage], _ why: Failure) {
        for message in messages {
            held.remove(message)
            var delivery = message.delivery
            delivery.initial = .dropped(why)
            dropped.append(delivery)
        }
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
        let undone = held.messages(inLane: delivery.lane).filter { earlier in
            earlier.place < place
                && (earlier.delivery.settles || earlier.delivery.arguments.updatesConversation && (message.update || isFirst))
        }
        drop(undone, .outdated)
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
        let due = held.messages(until: end)
        for message in due { held.remove(message) }
        for receiver in Set(due.map(\.delivery.id.receiver)).sorted() {
            var group = due.filter { $0.delivery.id.receiver == receiver }
            if book.showsConversations(receiver) {
                for place in group.indices {
                    let conversation = group[place].delivery.arguments.message?.conversation
                    group[place].continues = conversation.map { conversations.contains([receiver, $0]) } ?? false
                }
            }
            for start in stride(from: 0, to: group.count, by: HeldMessage.most) {
                let part = Array(group[start..<min(start + HeldMessage.most, group.count)])
                released += apply(book.release(part, facts, silences: silences, at: now), by: book)
            }
        }
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
                held.add(message)
                continue
            case .joined: continue
            }
            released.append(message.delivery)
        }
        if let joined = release.joined { released.append(joined) }
        return released
    }
}
