import BellhopCore

/// What was sent and what people did, in the transaction in which it is stored.
extension Session {
    /// Adds a row to the audit.
    func audit(_ facts: JSON.Object, at now: Timestamp) throws {
        var entry: JSON.Object = ["time": .string(now.rfc3339)]
        for (name, fact) in facts { entry[name] = fact }
        var statement = try prepare(SQL.Audit.insert)
        try statement.bind(":at", now)
        // As it is printed, so that what is exported has the same hash.
        try statement.bind(":entry", JSON.object(entry).printable)
        try statement.run()
    }

    /// Adds the row of a person's act.
    func audit(_ act: String, by person: Person?, _ facts: JSON.Object, at now: Timestamp) throws {
        var entry: JSON.Object = ["kind": "act", "act": .string(act)]
        for (name, fact) in facts { entry[name] = fact }
        entry["by"] = person?.json ?? .null
        try audit(entry, at: now)
    }

    func auditRows(_ query: AuditQuery) throws -> [AuditRow] {
        var statement = try prepare(query.isLast ? SQL.Audit.last : SQL.Audit.rows)
        if !query.isLast {
            try statement.bind(":after", query.after ?? -1)
            try statement.bind(":since", query.since)
            try statement.bind(":limit", query.limit)
        }
        var rows: [AuditRow] = []
        while try statement.next() {
            rows.append(
                AuditRow(
                    number: statement.int(0), at: statement.time(1), entry: statement.text(2), hash: statement.text(3)))
        }
        return rows
    }

    /// Removes the oldest rows before the limit, at most `most`: the last of them stays with its hash alone, and a new row
    /// explains it. Returns how many were removed.
    func pruneAudit(before limit: Timestamp, atMost most: Int, at now: Timestamp) throws -> Int {
        var old = try prepare(SQL.Audit.old)
        try old.bind(":limit", most)
        var count = 0
        var last: Int64?
        while try old.next(), old.time(1) < limit {
            count += 1
            last = old.int(0)
        }
        old.stop()
        guard let last else { return 0 }
        var remove = try prepare(SQL.Audit.remove)
        try remove.bind(":number", last)
        try remove.run()
        var empty = try prepare(SQL.Audit.empty)
        try empty.bind(":number", last)
        guard try empty.next() else { return 0 }
        let hash = empty.text(0)
        empty.stop()
        try audit(["kind": "prune", "act": "prune", "through": .int(last), "hash": .string(hash)], at: now)
        return count
    }
}

/// An attempt of a delivery, as the audit records it.
struct AuditedAttempt {
    var delivery: Delivery.ID
    var action: String
    var subject: String?
    /// Counted from 1.
    var attempt: Int64

    func facts(outcome: String, detail: String) -> JSON.Object {
        var facts: JSON.Object = [
            "kind": "attempt", "delivery": .string(delivery.text), "rule": .string(delivery.rule),
            "step": .string(delivery.step.text),
            "to": .string(delivery.receiver), "action": .string(action),
        ]
        if let subject { facts["task"] = .string(subject) }
        facts["attempt"] = .int(attempt)
        facts["outcome"] = .string(outcome)
        facts["detail"] = .string(detail)
        return facts
    }
}

extension RetryPolicy.Next {
    /// The outcome in one word, and what the receiver or the failure says.
    var audited: (outcome: String, detail: String) {
        switch self {
        case .done(let receipt): ("done", receipt.summary)
        case .retry(_, let failure): ("retry", failure.message)
        case .postponed(let failure): ("postponed", failure.message)
        case .paused(let failure, _): ("paused", failure.message)
        case .dead(let failure): ("dead", failure.message)
        case .held(let failure): ("held", failure.message)
        }
    }
}
