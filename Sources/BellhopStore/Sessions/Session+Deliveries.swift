import BellhopCore

extension Session {
    /// Adds deliveries; ids that already exist are skipped. Returns how many of the new ones each silence keeps back.
    @discardableResult
    func insert(_ deliveries: [Delivery]) throws -> [String: Int] {
        guard !deliveries.isEmpty else { return [:] }
        var silenced: [String: Int] = [:]
        var find = try prepare(SQL.Deliveries.isKnown)
        var statement = try prepare(SQL.Deliveries.insert)
        var waits = false
        var body: [UInt8] = []
        for delivery in deliveries {
            if let closes = delivery.closes, try !dropHeld(closedBy: closes, at: delivery.createdAt) { continue }
            let name = delivery.id.text
            try find.bind(":name", key: name)
            if try find.exists() { continue }
            body.removeAll(keepingCapacity: true)
            DeliveryBody(delivery).stored.encode(into: &body)
            let (state, failure) = delivery.stored
            try statement.bind(":name", key: name)
            try statement.bind(":occasion", delivery.id.occasion.text)
            try statement.bind(":rule", delivery.id.rule)
            try statement.bind(":step", delivery.id.step.text)
            try statement.bind(":receiver", delivery.id.receiver)
            try statement.bind(":action", delivery.action)
            try statement.bind(":effect", delivery.effect?.rawValue)
            try statement.bind(":subject", delivery.task?.subject)
            try statement.bind(lane: delivery.lane)
            try statement.bind(":body", text: body)
            try statement.bind(":coalesces", delivery.coalesces)
            try statement.bind(":hop", delivery.hop)
            try statement.bind(":created", delivery.createdAt)
            try statement.bind(":expires", delivery.expires)
            try statement.bind(":state", state.rawValue)
            try statement.bind(":run_at", delivery.runAt)
            try statement.bind(
                ":finished", state == .available || state == .waiting || state == .quiet ? nil : delivery.createdAt)
            var receipt: Receipt?
            if case .done(let done) = delivery.initial { receipt = done }
            try statement.bind(":receipt", receipt?.summary)
            try statement.bind(":reference", receipt?.reference)
            try statement.bind(":failure", text: failure?.stored.encoded())
            try statement.run()
            if case .silenced(let silence) = delivery.initial { silenced[silence, default: 0] += 1 }
            if state == .waiting || state == .quiet && !delivery.after.isEmpty {
                try wait(database.lastInsertedRowID, delivery)
                waits = waits || state == .waiting
            } else if delivery.settles {
                try dropKeptBack(settledBy: database.lastInsertedRowID, at: delivery.createdAt)
            }
        }
        // A waiting delivery makes later ones of its lane wait too. Waiting is rare, so lanes are examined only if a delivery waits.
        if try waits || int(SQL.Predecessors.anyBars) == 1 { try reorder(barredAmong: deliveries) }
        return silenced
    }

    func start(_ node: NodeID, at now: Timestamp) throws -> Int {
        try noteDowntime(until: now)
        try correctFutureTimes(at: now)
        return try rescue(from: node, at: now)
    }

    /// Takes back attempts whose lease has ended. Returns how many.
    ///
    /// - Parameter node: a node all of whose leases have ended; nil for none.
    func rescue(from node: NodeID? = nil, at now: Timestamp) throws -> Int {
        let failure = Failure(.interrupted, .unknownOutcome, "The agent ended before the attempt did.")
        var statement = try prepare(
            SQL.Deliveries.rescue, (":now", now), (":failure", failure.stored.encoded()), (":node", node?.name))
        var attempts: [AuditedAttempt] = []
        while try statement.next() {
            let id = Delivery.ID(
                occasion: Occasion.ID(statement.text(0)), rule: statement.text(1), step: StepPath(statement.text(2)),
                receiver: statement.text(3))
            attempts.append(
                AuditedAttempt(
                    delivery: id, name: id.text, action: statement.text(4), subject: statement.optionalText(5),
                    attempt: statement.int(6)))
        }
        var chain: AuditChain?
        for attempt in attempts { try audit(attempt, outcome: .interrupted, detail: failure.message, at: now, &chain) }
        return attempts.count
    }

    func correctFutureTimes(at now: Timestamp) throws {
        let corrections = [
            SQL.Deliveries.advance, SQL.Deliveries.advanceUncertain, SQL.Deliveries.advanceStops, SQL.Quiet.advance,
        ]
        for sql in corrections { try run(sql, (":now", now)) }
    }

    func wake(receiver: String, at now: Timestamp) throws {
        try run(SQL.Deliveries.wake, (":now", now), (":receiver", receiver))
    }

    /// The deliveries that wrote, or may have written, to each of these tasks since then, and those that created one of them.
    func writes(to subjects: [String], since: Timestamp) throws -> [String: [OwnWrite]] {
        var statement = try prepare(SQL.Deliveries.writes)
        var writes: [String: [OwnWrite]] = [:]
        for subject in subjects {
            try statement.bind(":subject", subject)
            try statement.bind(":since", since)
            while try statement.next() {
                let fields = statement.optionalText(2).flatMap { try? JSON.parse($0) }?.asObject ?? [:]
                writes[subject, default: []].append(
                    OwnWrite(hop: Int(statement.int(0)), fields: fields, movesTask: statement.text(1) == "makes"))
            }
        }
        return writes
    }

    /// The comments that were written (or may have been) to each of these tasks since then.
    func comments(on subjects: [String], since: Timestamp) throws -> [String: [WrittenComment]] {
        var statement = try prepare(SQL.Deliveries.comments)
        var comments: [String: [WrittenComment]] = [:]
        for subject in subjects {
            try statement.bind(":subject", subject)
            try statement.bind(":since", since)
            while try statement.next() {
                comments[subject, default: []].append(
                    WrittenComment(
                        reference: statement.optionalText(0), text: statement.optionalText(1) ?? "", hop: Int(statement.int(2)),
                        marker: Delivery.ID.marker(of: statement.key(3))))
            }
        }
        return comments
    }

    /// Each lane once. They are compared as the store compares them, by their bytes.
    static func distinct(_ lanes: [String]) -> some Sequence<String> {
        Dictionary(lanes.map { (Fingerprint(content: $0), $0) }) { first, _ in first }.values
    }

    func promote(_ lane: String) throws { try run(SQL.Deliveries.promote) { try $0.bind(lane: lane) } }
}

extension Delivery {
    /// The initial state, and the failure if it is dead or dropped.
    fileprivate var stored: (state: DeliveryState, failure: Failure?) {
        switch initial {
        case .available: (after.isEmpty ? .available : .waiting, nil)
        case .shadow: (.shadow, nil)
        case .done: (.done, nil)
        case .silenced: (.silenced, nil)
        case .quiet: (.quiet, nil)
        case .dropped(let failure): (.dropped, failure)
        case .dead(let failure): (.dead, failure)
        }
    }
}
