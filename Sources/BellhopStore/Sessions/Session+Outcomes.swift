import BellhopCore

extension Session {
    /// T4.
    func finish(_ finishes: [Finish]) throws -> [Bool] {
        var answers: [Bool] = []
        answers.reserveCapacity(finishes.count)
        var chain: AuditChain?
        for finish in finishes { answers.append(try self.finish(finish, &chain)) }
        return answers
    }

    /// A person's command.
    func apply(
        _ command: DeliveryCommand, to deliveries: [Delivery.ID], by person: Person?, at now: Timestamp
    ) throws -> Int {
        var count = 0
        for id in deliveries {
            guard let row = try place(of: id), command.states.contains(row.state) else { continue }
            switch command {
            case .retry:
                try run(SQL.Deliveries.retryAnew, (":now", now), (":id", row.id))
                try run(SQL.Coalescing.keepJoined, (":carrier", id.text))
                if row.state == .quiet { try updateState(of: row.id, at: now) }
            case .drop:
                try run(SQL.Deliveries.drop, (":now", now), (":id", row.id))
                if row.state == .waiting || row.state == .quiet { try forgetWaits(of: row.id) }
                try release(behind: id)
            }
            try reorder(row.lane)
            try updateFollowers(of: row.id, at: now)
            try audit(AuditAct(command), by: person, Self.facts(of: id), at: now)
            if command == .retry, try dropOutdated(row.id, at: now) { continue }
            count += 1
        }
        return count
    }

    /// A person's change; false if the delivery or its arguments are not as the person saw them.
    func edit(_ edit: DeliveryEdit, by person: Person?) throws -> Bool {
        var statement = try prepare(SQL.Deliveries.editable, (":name", PackedName(edit.id.text)))
        guard try statement.next() else { return false }
        var body = try DeliveryBody(stored: JSON.parse(statement.bytes(1)))
        guard body.arguments == edit.before else { return false }
        body.arguments = edit.after
        body.edits.append(edit.edit)
        let coalesces = Delivery.coalesces(body.arguments, action: statement.text(2), step: StepPath(statement.text(3)))
        try run(SQL.Deliveries.edit, (":body", body.stored.encoded()), (":coalesces", coalesces), (":id", statement.int(0)))
        try audit(.edit, by: person, Self.facts(of: edit.id), at: edit.edit.at)
        return true
    }

    private static func facts(of delivery: Delivery.ID) -> JSON.Object {
        ["delivery": .string(delivery.text), "rule": .string(delivery.rule), "to": .string(delivery.receiver)]
    }

    private func finish(_ finish: Finish, _ chain: inout AuditChain?) throws -> Bool {
        // The effects of the attempt on its receiver are stored even if the lease was lost.
        if let pause = finish.pause {
            try self.pause(pause)
            chain = nil
        }
        for stop in finish.stops { try keep(stop) }
        if finish.isReceiverBack {
            try run(SQL.Deliveries.endBackoff, (":now", finish.at), (":receiver", finish.claim.delivery.id.receiver))
        }
        // The update itself finds out whether the lease holds: reading the row first would take 7 % of the time of `store.deliveries`.
        guard try end(finish) else { return false }
        let (delivery, lease, now) = (finish.claim.delivery, finish.claim.lease, finish.at)
        let (outcome, detail) = finish.next.audited
        let attempt = AuditedAttempt(
            delivery: delivery.id, name: lease.name, action: delivery.action, subject: delivery.task?.subject,
            attempt: lease.token)
        try audit(attempt, outcome: outcome, detail: detail, at: now, &chain)
        var noteKey = delivery.effect == nil ? nil : delivery.noteKey
        switch finish.next {
        case .done(let receipt): try keep(receipt.conversation, of: finish)
        case .dead(let failure): if let begun = failure.conversation { try keep(begun, of: finish) }
        case .held: noteKey = nil  // a person may decide to repeat it
        case .retry, .postponed, .paused:
            try append(finish.events)
            return true
        }
        // What the attempts of a write kept for each other.
        if let noteKey { try setNote(noteKey, to: nil) }
        try promote(delivery.lane)
        try release(behind: delivery.id)
        try updateFollowers(of: lease.row, at: now)
        try append(finish.events)
        return true
    }

    /// Records the end of an attempt in its delivery's row; false if the lease was lost.
    private func end(_ finish: Finish) throws -> Bool {
        switch finish.next {
        case .done(let receipt):
            try update(SQL.Deliveries.done, finish) { statement in
                try statement.bind(":at", finish.at)
                try statement.bind(":receipt", receipt.summary)
                try statement.bind(":reference", receipt.reference)
            }
        case .retry(let time, let failure):
            try update(SQL.Deliveries.retry, finish, failure) { try $0.bind(":run_at", time) }
        case .postponed(let failure): try update(SQL.Deliveries.postpone, finish, failure) { _ in }
        case .paused(let failure, let time):
            try update(SQL.Deliveries.pause, finish, failure) { try $0.bind(":run_at", time) }
        case .dead(let failure): try end(finish, failure, as: .dead)
        case .held(let failure): try end(finish, failure, as: .held)
        }
    }

    private func end(_ finish: Finish, _ failure: Failure, as state: DeliveryState) throws -> Bool {
        try update(SQL.Deliveries.end, finish, failure) { statement in
            try statement.bind(":state", state.rawValue)
            try statement.bind(":at", finish.at)
        }
    }

    private func update(
        _ sql: String, _ finish: Finish, _ failure: Failure, _ bind: (inout Prepared) throws -> Void
    ) throws -> Bool {
        try update(sql, finish) { statement in
            try bind(&statement)
            try statement.bind(":failure", text: failure.stored.encoded())
            try statement.bind(":uncertain", finish.uncertain)
        }
    }

    /// Updates the delivery's row; false if the lease was lost.
    private func update(_ sql: String, _ finish: Finish, _ bind: (inout Prepared) throws -> Void) throws -> Bool {
        let lease = finish.claim.lease
        let changed = try run(sql) { statement in
            try bind(&statement)
            try statement.bind(":id", lease.row)
            try statement.bind(":lease", lease.token)
            try statement.bind(":name", key: lease.name)
        }
        return changed == 1
    }

    /// Records what was sent in the conversation of a message.
    private func keep(_ change: ConversationChange?, of finish: Finish) throws {
        let (delivery, row) = (finish.claim.delivery, finish.claim.lease.row)
        var conversation = change?.conversation
        if case .message(let message) = delivery.arguments { conversation = message.conversation }
        guard let conversation else { return }
        try run(
            SQL.Deliveries.keepConversation, (":receiver", delivery.id.receiver), (":conversation", conversation),
            (":first_message", change?.firstMessage?.encoded()), (":id", row),
            (":closes", change.map { $0.firstMessage == nil } ?? false), (":at", finish.at),
            (":updates", delivery.arguments.updatesConversation), (":created", delivery.createdAt))
    }

    /// Makes a message part of another delivery's.
    func join(_ id: Int64, _ receipt: Receipt, at now: Timestamp) throws {
        try run(
            SQL.Deliveries.join, (":at", now), (":receipt", receipt.summary), (":reference", receipt.reference), (":id", id))
    }

    private func place(of id: Delivery.ID) throws -> (id: Int64, lane: String, state: DeliveryState)? {
        try rows(SQL.Deliveries.place, (":name", PackedName(id.text))) { row in
            (id: row.int(0), lane: row.text(1), state: try Self.state(row.text(2)))
        }.first
    }

    /// Finds a lane's head again: the running delivery, else the oldest open one.
    func reorder(_ lane: String) throws {
        var runs = try prepare(SQL.Deliveries.laneRuns)
        try runs.bind(lane: lane)
        if try runs.exists() { return }
        try run(SQL.Deliveries.demote) { try $0.bind(lane: lane) }
        try promote(lane)
    }
}
