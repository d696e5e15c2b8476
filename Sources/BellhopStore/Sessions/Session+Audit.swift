import BellhopCore

/// The audit. Each row is added in the transaction of what it records.
extension Session {
    /// Adds a row to the audit.
    func audit(_ facts: JSON.Object, at now: Timestamp) throws {
        var entry: JSON.Object = ["time": .string(now.rfc3339)]
        for (name, fact) in facts { entry[name] = fact }
        // In its printed form, so that an exported row has the same hash.
        try run(SQL.Audit.insert, (":at", now), (":entry", JSON.object(entry).printable))
    }

    /// Adds the row of an attempt that ended. It is written without an object in between, and the chain is read once for many: each
    /// delivery ends with such a row, and `store.deliveries` takes 6 % more instructions otherwise.
    ///
    /// - Parameter chain: the end of the audit if the caller knows it, else nil; afterwards the new end.
    func audit(
        _ attempt: AuditedAttempt, outcome: AttemptOutcome, detail: String, at now: Timestamp, _ chain: inout AuditChain?
    ) throws {
        var last: AuditChain
        if let chain { last = chain } else { last = try auditChain() }
        let entry = attempt.entry(outcome: outcome, detail: detail, at: now)
        last.hash = AuditRow.hash(after: last.hash, number: last.number + 1, entry: entry)
        last.number += 1
        var statement = try prepare(SQL.Audit.add)
        try statement.bind(":number", last.number)
        try statement.bind(":at", now)
        try statement.bind(":entry", entry)
        try statement.bind(":hash", last.hash)
        try statement.run()
        chain = last
    }

    private func auditChain() throws -> AuditChain {
        var statement = try prepare(SQL.Audit.last)
        guard try statement.next() else { throw DamagedValue("the audit has no row") }
        return AuditChain(number: statement.int(0), hash: statement.text(3))
    }

    /// Adds the row of a person's act.
    func audit(_ act: AuditAct, by person: Person?, _ facts: JSON.Object, at now: Timestamp) throws {
        var entry: JSON.Object = ["kind": "act", "act": .string(act.rawValue)]
        for (name, fact) in facts { entry[name] = fact }
        entry["by"] = person?.json ?? .null
        try audit(entry, at: now)
    }

    func auditRows(_ query: AuditQuery) throws -> [AuditRow] {
        let after = try query.after ?? query.since.map { try auditPlace(before: $0) } ?? -1
        var statement = try prepare(query.isLast ? SQL.Audit.last : SQL.Audit.rows)
        if !query.isLast {
            try statement.bind(":after", after)
            try statement.bind(":since", query.since)
            try statement.bind(":acts", query.onlyActs)
            try statement.bind(":limit", query.limit)
        }
        var rows: [AuditRow] = []
        while try statement.next() {
            rows.append(
                AuditRow(number: statement.int(0), at: statement.time(1), entry: statement.text(2), hash: statement.text(3)))
        }
        return rows
    }

    /// The number of a row before all rows from a moment on. Looks from the end of the audit, which has the rows of more than a year, and
    /// stops at a thousand older rows in sequence: the clock may have been set back between two rows.
    func auditPlace(before moment: Timestamp) throws -> Int64 {
        var statement = try prepare(SQL.Audit.latest)
        var next = Int64.max
        while true {
            try statement.bind(":before", next)
            guard try statement.next(), !statement.isNull(0), statement.time(1) >= moment - Self.maxSetback else {
                return next - 1
            }
            next = statement.int(0)
            statement.stop()
        }
    }

    /// How far the clock may have been set back for longer than a thousand rows.
    private static let maxSetback = Duration.days(1)

    /// Removes the oldest rows before the limit, at most `most`. The last of them stays, but keeps only its hash, and a new row records
    /// the pruning. Returns how many were removed.
    func pruneAudit(before limit: Timestamp, atMost most: Int, at now: Timestamp) throws -> Int {
        var old = try prepare(SQL.Audit.old, (":limit", most))
        var (count, seen) = (0, 0)
        var last: Int64?
        // A row from a time when the clock was ahead does not keep the old rows after it.
        while try old.next(), old.time(1) < limit || old.time(1) > now {
            seen += 1
            if old.time(1) < limit { (count, last) = (seen, old.int(0)) }
        }
        old.stop()
        guard let last else { return 0 }
        try run(SQL.Audit.remove, (":number", last))
        guard let hash = try rows(SQL.Audit.empty, (":number", last), read: { row in row.text(0) }).first else { return 0 }
        let act = AuditAct.prune.rawValue
        try audit(["kind": .string(act), "act": .string(act), "through": .int(last), "hash": .string(hash)], at: now)
        return count
    }
}

/// The end of the audit, within a transaction.
struct AuditChain {
    var number: Int64
    var hash: String
}

struct AuditedAttempt {
    var delivery: Delivery.ID
    /// The delivery's short name.
    var name: String
    var action: String
    var subject: String?
    /// Counted from 1, over all attempts of the delivery.
    var attempt: Int64

    private enum Names {
        static let time = JSONName("time")
        static let kind = JSONName("kind")
        static let delivery = JSONName("delivery")
        static let rule = JSONName("rule")
        static let step = JSONName("step")
        static let to = JSONName("to")
        static let action = JSONName("action")
        static let task = JSONName("task")
        static let attempt = JSONName("attempt")
        static let outcome = JSONName("outcome")
        static let detail = JSONName("detail")
    }

    /// The entry in its printed form, so that an exported row has the same hash.
    func entry(outcome: AttemptOutcome, detail: String, at now: Timestamp) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member(Names.time, now.rfc3339)
        writer.member(Names.kind, "attempt")
        writer.member(Names.delivery, name)
        writer.member(Names.rule, delivery.rule)
        writer.member(Names.step, delivery.step.text)
        writer.member(Names.to, delivery.receiver)
        writer.member(Names.action, action)
        if let subject { writer.member(Names.task, subject) }
        writer.name(Names.attempt)
        writer.write(.int(attempt))
        writer.member(Names.outcome, outcome.rawValue)
        writer.member(Names.detail, detail)
        writer.endObject()
        return JSON.printable(String(decoding: writer.take(), as: UTF8.self))
    }
}

extension RetryPolicy.Next {
    /// The outcome, and the receipt's summary or the failure's message.
    var audited: (outcome: AttemptOutcome, detail: String) {
        switch self {
        case .done(let receipt): (.done, receipt.summary)
        case .retry(_, let failure): (.retry, failure.message)
        case .postponed(let failure): (.postponed, failure.message)
        case .paused(let failure, _): (.paused, failure.message)
        case .dead(let failure): (.dead, failure.message)
        case .held(let failure): (.held, failure.message)
        }
    }
}

extension SQL {
    enum Audit {
        /// There is always a row: pruning empties the last of the old rows instead of removing it, and keeps its hash. (PostgreSQL: the
        /// same, with a lock of the table.)
        static let insert = """
            INSERT INTO audit (number, at, entry, hash)
            SELECT number + 1, :at, :entry, audit_hash(hash, number + 1, :entry) FROM audit ORDER BY number DESC LIMIT 1
            """

        /// Adds the row after the last one, whose number and hash the transaction has read.
        static let add = "INSERT INTO audit (number, at, entry, hash) VALUES (:number, :at, :entry, :hash)"

        static let rows = """
            SELECT number, at, entry, hash FROM audit
            WHERE number > :after AND (:since IS NULL OR at >= :since) AND (NOT :acts OR instr(entry, '"act"') > 0)
            ORDER BY number
            LIMIT :limit
            """

        /// The first number and the latest time among the thousand rows before a number.
        static let latest = """
            SELECT min(number), max(at)
            FROM (SELECT number, at FROM audit WHERE number < :before ORDER BY number DESC LIMIT 1000)
            """

        static let last = "SELECT number, at, entry, hash FROM audit ORDER BY number DESC LIMIT 1"

        /// The oldest rows after the first one, without the last one, which always stays.
        static let old = """
            SELECT number, at FROM audit
            WHERE number > (SELECT min(number) FROM audit) AND number < (SELECT max(number) FROM audit)
            ORDER BY number
            LIMIT :limit
            """

        static let remove = "DELETE FROM audit WHERE number < :number"

        static let empty = "UPDATE audit SET entry = '' WHERE number = :number RETURNING hash"
    }
}
