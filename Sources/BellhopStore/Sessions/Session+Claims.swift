import BellhopCore

extension Session {
    private struct Row {
        var delivery: Delivery
        /// Why its body cannot be read.
        var problem: DamagedValue?
        var id: Int64
        var name: String
        var attempts: Int
        var lease: Int64
        var firstStarted: Timestamp?
        var lastUncertain: Timestamp?

        /// Why it ends without an attempt; nil if it is attempted. An expired write that may have been made is attempted, because the
        /// attempt looks for it; it sends nothing.
        func refusal(at now: Timestamp) -> Failure? {
            if let problem { return DeliveryRow.failure(problem) }
            if delivery.effect != nil, lastUncertain != nil { return nil }
            return delivery.expires.flatMap { $0 < now ? .notSent(before: $0) : nil }
        }
    }

    /// What was sent in the conversation of a delivery.
    private struct Conversation {
        var firstMessage: JSON?
        /// Whether a message newer than the delivery was sent.
        var isNewer: Bool
        var isClosed: Bool
        /// Whether its first message shows one that is newer than the delivery.
        var showsNewer: Bool

        /// Whether the delivery would undo what a newer one did.
        func outdates(_ delivery: Delivery) -> Bool {
            isNewer && (isClosed || delivery.settles) || showsNewer && delivery.arguments.updatesConversation
        }
    }

    /// How far the clock may have been set back between two attempts.
    private static let clockCorrection = Duration.seconds(3600)

    private struct Due {
        /// Its place among the due deliveries of its receiver.
        var place: Int
        var runAt: Int64
        var id: Int64
        var receiver: String
        var rule: String
        /// The next deliveries in line, whose tasks the attempt should know.
        var upcoming: ArraySlice<Int64>
        var extraTime: Duration
    }

    /// T3.
    func claim(_ request: ClaimRequest) throws -> Claimed {
        var claimed = Claimed()
        let now = request.now
        let all = try due(request, &claimed)
        if all.count >= request.limit { claimed.mayHaveMore = true }
        let downtimes = try all.isEmpty ? nil : self.downtimes()
        for due in all {
            claimed.lastRules[due.receiver] = due.rule
            guard var row = try claimable(due.id) else { continue }
            let conversation = try conversation(of: row)
            if let failure = row.refusal(at: now) {
                claimed.mayHaveMore = true
                try endUnattempted(due.id, failure, at: now)
                try report(Claimed.Dead(row.delivery, failure), in: &claimed, at: now)
                try promote(row.delivery.lane)
                try release(behind: row.delivery.id)
                try updateFollowers(of: due.id, at: now)
            } else if let conversation, conversation.outdates(row.delivery) {
                claimed.mayHaveMore = true
                try drop(due.id, .outdated, at: now)
                claimed.outdated.append(row.delivery)
                try promote(row.delivery.lane)
            } else {
                row.delivery = try withoutExpired(row.delivery, due.id, &claimed, at: now)
                let upcoming = try due.upcoming.compactMap { try subject(of: $0) }
                claimed.claims.append(
                    try start(
                        row, by: request.node, until: request.until + due.extraTime, at: now, after: downtimes,
                        upcoming: upcoming, firstMessage: conversation?.firstMessage))
            }
        }
        return claimed
    }

    /// Drops the first delivery of a lane if it would undo what a newer one of its conversation did; false for any other.
    func dropOutdated(_ id: Int64, at now: Timestamp) throws -> Bool {
        guard let row = try claimable(id), row.refusal(at: now) == nil,
            try conversation(of: row)?.outdates(row.delivery) == true
        else { return false }
        try drop(id, .outdated, at: now)
        try promote(row.delivery.lane)
        return true
    }

    /// Ends a delivery as dead without an attempt.
    func endUnattempted(_ id: Int64, _ failure: Failure, at now: Timestamp) throws {
        try run(SQL.Deliveries.endUnattempted, (":now", now), (":failure", failure.stored.encoded()), (":id", id))
    }

    /// Reports a delivery that ended without an attempt.
    func report(_ dead: Claimed.Dead, in claimed: inout Claimed, at now: Timestamp) throws {
        claimed.dead.append(dead)
        if let notice = dead.delivery.deathNotice(dead.failure, at: now) { try append([notice]) }
    }

    /// The due deliveries of receivers with room: the first of each receiver, then the second of each, …
    private func due(_ request: ClaimRequest, _ claimed: inout Claimed) throws -> [Due] {
        let (limit, now) = (request.limit, request.now)
        var all: [Due] = []
        let pausesWrites = try areWritesPaused()
        var next = try receiver(after: nil)
        while let receiver = next {
            next = try self.receiver(after: receiver)
            let quota = request.quotas[receiver] ?? ClaimQuota(attempts: request.others)
            if let above = quota.coalescesAbove, case let count = try coalesce(receiver: receiver, above: above, at: now),
                count > 0
            {
                claimed.coalesced[receiver] = count
                // The next claim coalesces the rest, none of which is sent by itself before.
                if count == Self.maxCombined {
                    claimed.waiting.insert(receiver)
                    claimed.mayHaveMore = true
                    continue
                }
            }
            let attempts = min(quota.attempts, limit)
            // One more than there is room for, to see whether more wait.
            let found = try line(
                of: receiver, after: quota.lastRule, atMost: attempts + max(quota.upcoming, 1), at: now,
                withoutWrites: pausesWrites)
            let ids = found.map(\.id)
            for (place, due) in found.prefix(attempts).enumerated() {
                var due = due
                due.place = place
                due.upcoming = quota.upcoming == 0 ? [] : ids[(place + 1)...].prefix(quota.upcoming)
                due.extraTime = quota.extraTime
                all.append(due)
            }
            if found.count > attempts { claimed.waiting.insert(receiver) }
        }
        all.sort { ($0.place, $0.runAt, $0.id) < ($1.place, $1.runAt, $1.id) }
        return Array(all.prefix(limit))
    }

    /// The first due deliveries of a receiver: one of each rule in turn, beginning with the rule after `last`. Of a rule, the longest
    /// waiting comes first. Reads only about as many rows as it returns, however many wait.
    private func line(
        of receiver: String, after last: String, atMost most: Int, at now: Timestamp, withoutWrites: Bool
    ) throws -> [Due] {
        let rules = try rules(of: receiver, after: last, atMost: most, at: now, withoutWrites: withoutWrites)
        func due(_ rule: String, atMost most: Int) throws -> [Due] {
            try self.due(receiver, rule, atMost: most, at: now, withoutWrites: withoutWrites)
        }
        if rules.count == 1 { return try due(rules[0], atMost: most) }
        let share = rules.isEmpty ? 0 : most / rules.count + 1
        var queues: [[Due]] = []
        for rule in rules { queues.append(try due(rule, atMost: share)) }
        if queues.reduce(0, { $0 + $1.count }) < most {
            for place in queues.indices where queues[place].count == share {
                queues[place] = try due(rules[place], atMost: most)
            }
        }
        var line: [Due] = []
        var turn = 0
        while line.count < most, queues.contains(where: { $0.count > turn }) {
            for queue in queues where queue.count > turn && line.count < most { line.append(queue[turn]) }
            turn += 1
        }
        return line
    }

    /// The rules with a due delivery for a receiver, in the order of their turns.
    private func rules(
        of receiver: String, after last: String, atMost most: Int, at now: Timestamp, withoutWrites: Bool
    ) throws -> [String] {
        var rules: [String] = []
        let parts: [(start: String, end: String?)] = last.isEmpty ? [("", nil)] : [(last, nil), ("", last)]
        for (start, end) in parts {
            var place = start
            while rules.count < most,
                let (rule, first) = try rule(of: receiver, after: place, withoutWrites: withoutWrites),
                end.map({ rule <= $0 }) ?? true
            {
                place = rule
                if first <= now.microseconds { rules.append(rule) }
            }
        }
        return rules
    }

    private func due(
        _ receiver: String, _ rule: String, atMost most: Int, at now: Timestamp, withoutWrites: Bool
    ) throws -> [Due] {
        try rows(
            withoutWrites ? SQL.Deliveries.dueWithoutWrites : SQL.Deliveries.due,
            (":receiver", receiver), (":rule", rule), (":now", now), (":limit", most)
        ) { row in
            Due(
                place: 0, runAt: row.int(0), id: row.int(1), receiver: receiver, rule: rule, upcoming: [], extraTime: .zero)
        }
    }

    /// When the next delivery for other receivers than these is due, or the next lease ends.
    func nextDue(excluding receivers: Set<String>) throws -> Timestamp? {
        var statement = try prepare(SQL.Deliveries.firstLeaseEnd)
        var next = try statement.next() ? statement.optionalTime(0) : nil
        statement.stop()
        let pausesWrites = try areWritesPaused()
        var receiver = try receiver(after: nil)
        while let current = receiver {
            receiver = try self.receiver(after: current)
            if receivers.contains(current) { continue }
            var rule = ""
            while let (name, first) = try self.rule(of: current, after: rule, withoutWrites: pausesWrites) {
                rule = name
                next = min(next ?? .distantFuture, Timestamp(microseconds: first))
            }
        }
        return next
    }

    private func subject(of id: Int64) throws -> String? {
        var statement = try prepare(SQL.Deliveries.subject)
        try statement.bind(":id", id)
        return try statement.next() ? statement.optionalText(0) : nil
    }

    private func receiver(after last: String?) throws -> String? {
        var statement = try prepare(last == nil ? SQL.Deliveries.firstReceiver : SQL.Deliveries.nextReceiver)
        if let last { try statement.bind(":receiver", last) }
        return try statement.next() ? statement.optionalText(0) : nil
    }

    /// The next rule with a delivery that waits for a receiver, and when its first delivery is due.
    private func rule(
        of receiver: String, after last: String, withoutWrites: Bool
    ) throws -> (rule: String, first: Int64)? {
        var statement = try prepare(withoutWrites ? SQL.Deliveries.nextRuleWithoutWrites : SQL.Deliveries.nextRule)
        try statement.bind(":receiver", receiver)
        try statement.bind(":rule", last)
        return try statement.next() ? (statement.text(0), statement.int(1)) : nil
    }

    private func claimable(_ id: Int64) throws -> Row? {
        var statement = try prepare(SQL.Deliveries.claimable)
        try statement.bind(":id", id)
        guard try statement.next() else { return nil }
        let next = DeliveryRow.width
        let stored = DeliveryRow(statement)
        return Row(
            delivery: stored.delivery, problem: stored.problem, id: id, name: statement.key(next),
            attempts: Int(statement.int(next + 1)), lease: statement.int(next + 2),
            firstStarted: statement.optionalTime(next + 3),
            lastUncertain: statement.optionalTime(next + 4))
    }

    private func start(
        _ row: Row, by node: NodeID, until: Timestamp, at now: Timestamp, after downtimes: Downtimes?, upcoming: [String],
        firstMessage: JSON?
    ) throws -> Claim {
        let lease = Lease(token: row.lease + 1, node: node, until: until, row: row.id, name: row.name)
        var statement = try prepare(SQL.Deliveries.start)
        try statement.bind(":lease", lease.token)
        try statement.bind(":node", node.name)
        try statement.bind(":until", until)
        try statement.bind(":now", now)
        try statement.bind(":id", row.id)
        try statement.run()
        var attempt = Attempt(
            number: row.attempts + 1, now: now, firstStarted: row.firstStarted, lastUncertain: row.lastUncertain,
            othersReferences: try references(of: row),
            mayRepeat: row.lastUncertain == nil ? downtimes?.span(before: row.delivery.createdAt) : nil,
            firstMessage: firstMessage)
        attempt.replayOf = try timeOfReplayedEvent(for: row.delivery)
        attempt.upcoming = upcoming
        return Claim(delivery: row.delivery, lease: lease, attempt: attempt)
    }

    /// When the replayed event happened, if the delivery is of a replay; the distant past if the event is gone.
    private func timeOfReplayedEvent(for delivery: Delivery) throws -> Timestamp? {
        guard delivery.id.occasion.isReplay, let event = delivery.id.occasion.event else { return nil }
        var statement = try prepare(SQL.Replays.time)
        try statement.bind(":id", key: event.text)
        return try statement.next() ? statement.time(0) : .distantPast
    }

    /// Nil if it has no conversation, or nothing was sent in it.
    private func conversation(of row: Row) throws -> Conversation? {
        guard let conversation = row.delivery.arguments.conversation else { return nil }
        return try rows(
            SQL.Deliveries.conversation, (":id", row.id), (":created", row.delivery.createdAt),
            (":receiver", row.delivery.id.receiver), (":conversation", conversation)
        ) { row in
            try Conversation(
                firstMessage: row.isNull(0) ? nil : row.json(0), isNewer: row.int(1) == 1, isClosed: row.int(2) == 1,
                showsNewer: row.int(3) == 1)
        }.first
    }

    /// The references of other deliveries' writes to the task, or of records that they created at the receiver. An attempt that looks for its
    /// own result excludes them.
    private func references(of row: Row) throws -> Set<String> {
        var statement: Prepared
        switch row.delivery.effect {
        case .writes:
            guard let subject = row.delivery.task?.subject else { return [] }
            statement = try prepare(SQL.Deliveries.written)
            try statement.bind(":subject", subject)
        case .makes:
            // Before its first attempt the delivery cannot have created anything.
            guard let first = row.firstStarted else { return [] }
            statement = try prepare(SQL.Deliveries.made)
            try statement.bind(":receiver", row.delivery.id.receiver)
            try statement.bind(":since", first - Self.clockCorrection)
        case nil: return []
        }
        try statement.bind(":id", row.id)
        var references: Set<String> = []
        while try statement.next() { references.insert(statement.text(0)) }
        return references
    }
}
