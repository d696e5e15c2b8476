import BellhopCore

/// Combines the waiting messages of a receiver into one.
extension Session {
    private typealias Waiting = (id: Int64, delivery: Delivery)

    /// The most deliveries that become one, so that no transaction lasts long.
    static let maxCombined = 1000

    /// How many deliveries that cannot be combined are skipped in each rule.
    private static let maxSkipped = 200

    /// Replaces the due messages of a receiver by one if there are more than `above`: they become `joined`, and the new delivery waits in
    /// their place. Later deliveries of their rules and lanes wait for it. Returns how many it replaced.
    func coalesce(receiver: String, above: Int, at now: Timestamp) throws -> Int {
        guard try hasMessages(for: receiver, moreThan: above, at: now) else { return 0 }
        let replaced = try combinable(of: receiver, at: now)
        guard replaced.count > 1, let first = replaced.first?.delivery else { return 0 }
        let receipt = Delivery.receipt(joining: Delivery.coalescing(first))
        var messages: [Message] = []
        var last = first
        for (id, delivery) in replaced {
            if case .message(let message) = delivery.arguments { messages.append(message) }
            last.expires = last.expires.flatMap { one in delivery.expires.map { max($0, one) } }
            last.hop = max(last.hop, delivery.hop)
            try join(id, receipt, at: now)
        }
        try run(SQL.Coalescing.bar, (":carrier", receipt.reference))
        for lane in Self.distinct(replaced.map(\.delivery.lane)) { try promote(lane) }
        try insert([
            .coalescing(
                Message.coalesced(messages), insteadOf: first, expires: last.expires, hop: last.hop, at: now)
        ])
        return replaced.count
    }

    /// Leaves the messages that have expired out of the message that has them, unless all have; they are then dead. Returns the delivery
    /// to send.
    func withoutExpired(
        _ carrier: Delivery, _ id: Int64, _ claimed: inout Claimed, at now: Timestamp
    ) throws -> Delivery {
        guard let coalescing = carrier.coalescing, case .message(let whole) = carrier.arguments,
            try exists(SQL.Coalescing.anyExpired, (":carrier", carrier.id.text), (":now", now))
        else { return carrier }
        var statement = try prepare(SQL.Coalescing.joined, (":carrier", carrier.id.text))
        var expired: [(id: Int64, delivery: Delivery, failure: Failure)] = []
        var (messages, notes): ([Message], [[Message.Inline]]) = ([], [])
        var notesLeft = whole.coalescedNotes[...]
        while let (id, delivery) = try waiting(&statement) {
            let note = notesLeft.popFirst() ?? []
            if let expires = delivery.expires, expires < now {
                expired.append((id, delivery, .notSent(before: expires)))
            } else if case .message(let message) = delivery.arguments {
                messages.append(message)
                notes.append(note)
            }
        }
        guard let first = messages.first else { return carrier }
        for (id, delivery, failure) in expired {
            try endUnattempted(id, failure, at: now)
            try reorder(delivery.lane)
            claimed.mayHaveMore = true
            try report(Claimed.Dead(delivery, failure), in: &claimed, at: now)
        }
        var carrier = carrier
        carrier.arguments = .message(
            messages.count == 1 ? first : Message.coalesced(messages, as: coalescing, notes: notes))
        try run(
            SQL.Deliveries.edit, (":body", DeliveryBody(carrier).stored.encoded()), (":coalesces", carrier.coalesces), (":id", id)
        )
        return carrier
    }

    /// Lets the deliveries go on that waited for a coalesced message, once that is sent or given up, or waits for a person.
    func release(behind id: Delivery.ID) throws {
        guard id.step.isCoalesced else { return }
        let lanes = try rows(SQL.Coalescing.release, (":carrier", id.text)) { row in row.text(0) }
        for lane in Self.distinct(lanes) { try reorder(lane) }
    }

    /// Whether more messages than this wait for a receiver, first in their lanes or behind others.
    private func hasMessages(for receiver: String, moreThan above: Int, at now: Timestamp) throws -> Bool {
        var count = 0
        for head: Int64 in [1, 0] {
            var rule = ""
            while let next = try waitingRule(of: receiver, head: head, after: rule) {
                rule = next
                var statement = try prepare(
                    SQL.Coalescing.count, (":head", head), (":receiver", receiver), (":rule", rule), (":now", now),
                    (":limit", above + 1 - count + Self.maxSkipped))
                if try statement.next() { count += Int(statement.int(0)) }
                if count > above { return true }
            }
        }
        return false
    }

    private func waitingRule(of receiver: String, head: Int64, after rule: String) throws -> String? {
        var statement = try prepare(SQL.Coalescing.nextRule, (":head", head), (":receiver", receiver), (":rule", rule))
        return try statement.next() ? statement.optionalText(0) : nil
    }

    /// The messages that can become one, oldest first: of each lane those before the first delivery that must stay separate.
    private func combinable(of receiver: String, at now: Timestamp) throws -> [Waiting] {
        var found: [Waiting] = []
        var rule = ""
        while found.count < Self.maxCombined, let next = try waitingRule(of: receiver, head: 1, after: rule) {
            rule = next
            var statement = try prepare(
                SQL.Coalescing.heads, (":receiver", receiver), (":rule", rule), (":now", now),
                (":limit", Self.maxCombined - found.count + Self.maxSkipped))
            while found.count < Self.maxCombined, let head = try waiting(&statement) { found.append(head) }
        }
        for head in found where found.count < Self.maxCombined {
            var last = head
            while found.count < Self.maxCombined, let next = try next(after: last, at: now) {
                found.append(next)
                last = next
            }
        }
        return found.sorted { $0.id < $1.id }
    }

    private func next(after last: Waiting, at now: Timestamp) throws -> Waiting? {
        var statement = try prepare(SQL.Coalescing.nextOfLane)
        try statement.bind(lane: last.delivery.lane)
        try statement.bind(":id", last.id)
        try statement.bind(":receiver", last.delivery.id.receiver)
        try statement.bind(":now", now)
        return try waiting(&statement)
    }

    /// The next row whose body can be read.
    private func waiting(_ statement: inout Prepared) throws -> Waiting? {
        while try statement.next() {
            let row = DeliveryRow(statement)
            if row.problem == nil { return (statement.int(DeliveryRow.width), row.delivery) }
        }
        return nil
    }
}

extension SQL {
    /// The waiting messages of a receiver that may be combined into one. Each statement reads a limited number of deliveries of a rule,
    /// however many wait.
    enum Coalescing {
        static let nextRule = """
            SELECT min(rule) FROM delivery
            WHERE \(Deliveries.isAvailable) AND head = :head AND receiver = :receiver AND rule > :rule
            """

        /// Reads no bodies.
        static let count = """
            SELECT coalesce(sum(coalesces), 0) FROM (
                SELECT coalesces FROM delivery
                WHERE \(Deliveries.isAvailable) AND head = :head AND receiver = :receiver AND rule = :rule
                    AND run_at <= :now
                LIMIT :limit)
            """

        static let heads = """
            SELECT \(Deliveries.identity), id
            FROM (
                SELECT id, coalesces AS joins FROM delivery
                WHERE \(Deliveries.isAvailable) AND head = 1 AND receiver = :receiver AND rule = :rule
                    AND run_at <= :now
                LIMIT :limit) AS waiting
            CROSS JOIN delivery USING (id)
            WHERE joins = 1 AND \(isReady)
            """

        /// The next delivery of a lane, if it is a message that may join those before it.
        static let nextOfLane = """
            SELECT \(Deliveries.identity), id FROM delivery
            WHERE id = (
                    SELECT id FROM delivery
                    WHERE \(Deliveries.isOpenInLane) AND state IN ('available', 'running') AND id > :id
                        AND \(Deliveries.isNotBarred)
                    ORDER BY id
                    LIMIT 1)
                AND state = 'available' AND receiver = :receiver AND run_at <= :now AND coalesces = 1 AND \(isReady)
            """

        static let anyExpired = "SELECT 1 FROM delivery WHERE \(isJoined) AND expires < :now LIMIT 1"

        /// The deliveries whose messages are lines of another's.
        static let joined = "SELECT \(Deliveries.identity), id FROM delivery WHERE \(isJoined) ORDER BY id"

        /// A manual retry sends all messages, as it sends a single one that has expired.
        static let keepJoined = "UPDATE delivery SET expires = NULL WHERE \(isJoined)"

        /// Lets later deliveries of the messages' rules and lanes wait.
        static let bar = "UPDATE delivery SET bars = 1 WHERE \(isJoined)"

        /// Ends the wait of these later deliveries.
        static let release = "UPDATE delivery SET bars = 0 WHERE \(isJoined) AND +bars = 1 RETURNING lane"

        private static let isJoined = "state = 'joined' AND reference = :carrier"

        /// True for a delivery that was never tried, has not expired, and has no later step waiting for it.
        private static let isReady = """
            first_started IS NULL AND (expires IS NULL OR expires >= :now)
                AND NOT EXISTS (SELECT 1 FROM delivery_wait WHERE delivery_wait.after = delivery.id)
            """
    }
}
