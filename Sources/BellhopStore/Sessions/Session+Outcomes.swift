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
                try change(SQL.Deliveries.retryAnew, row.id, at: now)
                try run(SQL.Coalescing.keepJoined, (":carrier", id.text))
                if row.state == .quiet { try settle(row.id, at: now) }
            case .drop:
                try change(SQL.Deliveries.drop, row.id, at: now)
                if row.state == .waiting || row.state == .quiet { try forgetWaits(of: row.id) }
            }
            try reorder(row.lane)
            try settleFollowers(of: row.id, at: now)
            try audit(AuditAct(command), by: person, Self.facts(of: id), at: now)
            count += 1
        }
        return count
    }

    /// A person's change; false if the delivery or its arguments are not as the person saw them.
    func edit(_ edit: DeliveryEdit, by person: Person?) throws -> Bool {
        var statement = try prepare(SQL.Deliveries.editable)
        try statement.bind(":name", key: edit.id.text)
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
        guard let row = try running(finish), row.lease == finish.lease.token else { return false }
        let (outcome, detail) = finish.next.audited
        try audit(row.attempt, outcome: outcome, detail: detail, at: finish.at, &chain)
        switch finish.next {
        case .done(let receipt):
            try done(row.id, receipt, at: finish.at)
            if let change = receipt.conversation { try keep(change, of: finish.id.receiver, at: finish.at) }
            try promote(row.lane)
            try settleFollowers(of: row.id, at: finish.at)
        case .retry(let time, let failure):
            try retryLater(SQL.Deliveries.retry, row.id, failure, at: time, uncertain: finish.uncertain)
        case .postponed(let failure):
            var statement = try prepare(SQL.Deliveries.postpone)
            try statement.bind(":failure", text: failure.stored.encoded())
            try statement.bind(":uncertain", finish.uncertain)
            try statement.bind(":id", row.id)
            try statement.run()
        case .paused(let failure, let time):
            try retryLater(SQL.Deliveries.pause, row.id, failure, at: time, uncertain: finish.uncertain)
        case .dead(let failure):
            try end(row.id, as: .dead, failure, at: finish.at, uncertain: finish.uncertain)
            try promote(row.lane)
            try settleFollowers(of: row.id, at: finish.at)
        case .held(let failure):
            try end(row.id, as: .held, failure, at: finish.at, uncertain: finish.uncertain)
            try promote(row.lane)
            try settleFollowers(of: row.id, at: finish.at)
        }
        try append(finish.events)
        return true
    }

    private func keep(_ change: ConversationChange, of receiver: String, at now: Timestamp) throws {
        var statement = try prepare(
            change.firstMessage == nil ? SQL.Deliveries.endConversation : SQL.Deliveries.beginConversation)
        try statement.bind(":receiver", receiver)
        try statement.bind(":conversation", change.conversation)
        if let first = change.firstMessage {
            try statement.bind(":first_message", text: first.encoded())
            try statement.bind(":at", now)
        }
        try statement.run()
    }

    private struct Running {
        var id: Int64
        var lease: Int64
        var lane: String
        var attempt: AuditedAttempt
    }

    private func running(_ finish: Finish) throws -> Running? {
        let id = finish.id
        if let place = finish.lease.place {
            var statement = try prepare(SQL.Deliveries.runningAt)
            try statement.bind(":id", place)
            // Another delivery may have got this row since.
            guard try statement.next(), statement.holds(id.receiver, 6), statement.holds(id.rule, 7),
                statement.holds(id.step.text, 8), statement.holds(id.occasion.text, 9)
            else { return nil }
            return Self.running(id, statement)
        }
        var statement = try prepare(SQL.Deliveries.running)
        try statement.bind(":name", key: id.text)
        guard try statement.next() else { return nil }
        return Self.running(id, statement)
    }

    /// Reads the columns of `SQL.Deliveries.attempt`.
    private static func running(_ id: Delivery.ID, _ row: borrowing Prepared) -> Running {
        let attempt = AuditedAttempt(
            delivery: id, name: row.key(2), action: row.text(4), subject: row.optionalText(5), attempt: row.int(1))
        return Running(id: row.int(0), lease: row.int(1), lane: row.text(3), attempt: attempt)
    }

    func done(_ id: Int64, _ receipt: Receipt, as state: DeliveryState = .done, at now: Timestamp) throws {
        var statement = try prepare(SQL.Deliveries.done)
        try statement.bind(":state", state.rawValue)
        try statement.bind(":at", now)
        try statement.bind(":receipt", receipt.summary)
        try statement.bind(":reference", receipt.reference)
        try statement.bind(":id", id)
        try statement.run()
    }

    private func retryLater(_ sql: String, _ id: Int64, _ failure: Failure, at time: Timestamp, uncertain: Bool) throws {
        var statement = try prepare(sql)
        try statement.bind(":run_at", time)
        try statement.bind(":failure", text: failure.stored.encoded())
        try statement.bind(":uncertain", uncertain)
        try statement.bind(":id", id)
        try statement.run()
    }

    private func place(of id: Delivery.ID) throws -> (id: Int64, lane: String, state: DeliveryState)? {
        var statement = try prepare(SQL.Deliveries.place)
        try statement.bind(":name", key: id.text)
        guard try statement.next() else { return nil }
        return (statement.int(0), statement.text(1), try Self.state(statement.text(2)))
    }

    private func change(_ sql: String, _ id: Int64, at now: Timestamp) throws {
        var statement = try prepare(sql)
        try statement.bind(":now", now)
        try statement.bind(":id", id)
        try statement.run()
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
