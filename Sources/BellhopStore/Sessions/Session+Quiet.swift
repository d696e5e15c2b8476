import BellhopCore

/// Messages that quiet times hold, and their release.
extension Session {
    /// The most bytes of messages that are released together; at least one is.
    private static let maxHeld = 32 << 20

    func nextRelease() throws -> Timestamp? { try rows(SQL.Quiet.next) { row in row.optionalTime(0) }.first }

    func released(at now: Timestamp) throws -> [HeldMessage] {
        var first = try prepare(SQL.Quiet.first, (":now", now))
        guard try first.next() else { return [] }
        var statement = try prepare(
            SQL.Quiet.held, (":end", first.time(0)), (":receiver", first.text(1)), (":limit", HeldMessage.most))
        var messages: [HeldMessage] = []
        var bytes = 0
        while bytes < Self.maxHeld, try statement.next() {
            bytes += statement.size(DeliveryRow.body)
            let delivery = DeliveryRow(statement).delivery
            let place = statement.int(DeliveryRow.width)
            messages.append(
                HeldMessage(
                    place: place, delivery: delivery, continues: try continues(delivery), waits: try waits(place, delivery)))
        }
        return messages
    }

    /// Throws ``ReleaseConflict`` or ``RouteConflict`` if a fact that the release was decided on has changed.
    func release(_ release: MessageRelease) throws {
        var check = try prepare(SQL.Quiet.isHeld)
        for (message, _) in release.treatments {
            try check.bind(":id", message.place)
            try check.bind(":end", message.delivery.runAt)
            guard try check.exists() else { throw ReleaseConflict() }
        }
        var silenced: [String: Int] = [:]
        let receipt = release.joined.map { Delivery.receipt(joining: $0.id) }
        for (message, treatment) in release.treatments {
            let id = message.place
            switch treatment {
            case .sent: try send(id, message.delivery.lane, at: release.at)
            case .joined:
                guard let receipt else { throw ReleaseConflict() }
                // It expires later by as much as the release is late, like a message that is sent by itself.
                try run(SQL.Quiet.send, (":now", release.at), (":id", id))
                try join(id, receipt, at: release.at)
                try forgetWaits(of: id)
            case .silenced(let silence):
                try run(SQL.Quiet.silence, (":silence", silence), (":now", release.at), (":id", id))
                try forgetWaits(of: id)
                silenced[silence, default: 0] += 1
            case .dropped(let failure):
                // A newer message tells what a replaced one would have, so the later steps of its run go on.
                if failure == .outdated { try run(SQL.Predecessors.forgetFollowers, (":id", id)) }
                try drop(id, failure, at: release.at)
            case .held(let until): try run(SQL.Quiet.holdLonger, (":until", until), (":id", id))
            }
        }
        if let joined = release.joined { try insert([joined]) }
        try count(keptBy: silenced)
    }

    /// Makes a held message available, or waiting if earlier steps of its run are not done.
    func send(_ id: Int64, _ lane: String, at now: Timestamp) throws {
        try run(SQL.Quiet.send, (":now", now), (":id", id))
        try updateState(of: id, at: now)
        try reorder(lane)
    }

    /// Drops the messages that `closing` would close and that are still kept back. Returns whether others must still be closed.
    func dropHeld(closedBy closing: Delivery.Closing, at now: Timestamp) throws -> Bool {
        var isOpen = closing.isOpen
        for name in closing.held {
            guard let (id, lane) = try keptBack(name) else {
                isOpen = true
                continue
            }
            try drop(id, .escalationEnded, at: now)
            try reorder(lane)
        }
        return isOpen
    }

    private func keptBack(_ name: String) throws -> (id: Int64, lane: String)? {
        try rows(SQL.Quiet.keptBack, (":name", PackedName(name))) { row in (id: row.int(0), lane: row.text(1)) }.first
    }

    /// Drops the earlier messages of its conversation that are still kept back, if this delivery closes or acknowledges what they would
    /// open.
    func dropKeptBack(settledBy id: Int64, at now: Timestamp) throws {
        guard let settling = try rows(SQL.Quiet.delivery, (":id", id), read: { row in DeliveryRow(row).delivery }).first,
            settling.settles
        else { return }
        let lane = settling.lane
        let kept: [Int64] = try rows(
            SQL.Quiet.keptBackInLane, (":lane_key", Fingerprint(content: lane).indexKey), (":lane", lane), (":id", id)
        ) { row in
            let other = DeliveryRow(row).delivery
            guard !other.settles, other.arguments.conversation == settling.arguments.conversation else { return nil }
            return row.int(DeliveryRow.width)
        }
        if kept.isEmpty { return }
        for id in kept { try drop(id, .settled, at: now) }
        try reorder(lane)
    }

    /// Drops the messages about a task that quiet times hold; returns how many of each rule.
    func dropHeld(about task: NamedTask, at now: Timestamp) throws -> [String: Int] {
        let held = try rows(SQL.Quiet.ofTask, (":subject", task.subject)) { row in (id: row.int(0), rule: row.text(1)) }
        let failure = Failure(.quiet, .giveUp, "`bellhop forget` ended all that waited for its task.")
        for (id, _) in held { try drop(id, failure, at: now) }
        return held.reduce(into: [:]) { $0[$1.rule, default: 0] += 1 }
    }

    func quietStatus() throws -> [StoreStatus.QuietStatus] {
        try rows(SQL.Quiet.all) { row in
            StoreStatus.QuietStatus(receiver: row.text(0), until: row.time(1), count: Int(row.int(2)))
        }
    }

    private func continues(_ delivery: Delivery) throws -> Bool {
        guard case .message(let message) = delivery.arguments, let conversation = message.conversation else { return false }
        return try exists(SQL.Quiet.continues, (":receiver", delivery.id.receiver), (":conversation", conversation))
    }

    private func waits(_ id: Int64, _ delivery: Delivery) throws -> Bool {
        if delivery.after.isEmpty { return false }
        return try exists(SQL.Quiet.waits, (":id", id)) && !isFree(id)
    }
}

/// Since the release was decided, a message is no longer held, or is held until another time.
struct ReleaseConflict: Error {}

extension SQL {
    /// Messages that quiet times hold. Each statement reads only the index of held messages.
    enum Quiet {
        static let next = "SELECT min(run_at) FROM delivery WHERE state = 'quiet'"

        static let first = """
            SELECT run_at, receiver FROM delivery WHERE state = 'quiet' AND run_at <= :now ORDER BY run_at, receiver LIMIT 1
            """

        static let held = """
            SELECT \(Deliveries.identity), id FROM delivery
            WHERE state = 'quiet' AND run_at = :end AND receiver = :receiver
            ORDER BY id
            LIMIT :limit
            """

        static let continues = """
            SELECT 1 FROM conversation
            WHERE receiver = :receiver AND conversation = :conversation AND first_message IS NOT NULL
            """

        static let waits = "SELECT 1 FROM delivery_wait WHERE delivery = :id"

        static let isHeld = "SELECT 1 FROM delivery WHERE id = :id AND state = 'quiet' AND run_at = :end"

        /// Makes the message due now, and moves its expiry by the same time.
        static let send = "UPDATE delivery SET run_at = :now, expires = expires + (:now - run_at) WHERE id = :id"

        static let holdLonger = "UPDATE delivery SET run_at = :until, expires = expires + (:until - run_at) WHERE id = :id"

        /// Ends the quiet times of messages that were made while the clock was ahead. They end in 1970, so that the release evaluates the
        /// quiet times of both the rule and the connection again. From then on they count as made now, so that a message that the release holds keeps its end.
        static let advance = """
            UPDATE delivery SET run_at = 0, expires = expires - run_at, created = :now WHERE state = 'quiet' AND created > :now
            """

        static let silence = """
            UPDATE delivery SET
                state = 'silenced', finished = :now, body = json_set(body, '$.initial', json_object('silence', :silence))
            WHERE id = :id
            """

        /// True for a delivery that a quiet time holds, or that waits for earlier steps.
        private static let isKeptBack = "state IN ('quiet', 'waiting')"

        static let keptBack = "SELECT id, lane FROM delivery WHERE \(Deliveries.isNamed) AND \(isKeptBack)"

        static let keptBackInLane = """
            SELECT \(Deliveries.identity), id FROM delivery
            WHERE \(Deliveries.isOpenInLane) AND \(isKeptBack) AND id < :id
            ORDER BY id
            """

        static let delivery = "SELECT \(Deliveries.identity) FROM delivery WHERE id = :id"

        static let ofTask = "SELECT id, rule FROM delivery WHERE state = 'quiet' AND subject = :subject ORDER BY rule, id"

        /// The held messages, counted for people.
        static let all = """
            SELECT receiver, run_at, count(*) FROM delivery WHERE state = 'quiet'
            GROUP BY run_at, receiver
            ORDER BY run_at, receiver
            """
    }
}
