import BellhopCore

extension Session {
    private struct Series: Hashable {
        var rule: String
        var verdict: DecisionRecord.Verdict
    }

    /// Adds records. Of each rule and verdict, keeps at most ``DecisionRecord/most``, the newest.
    func add(_ records: [DecisionRecord]) throws {
        guard !records.isEmpty else { return }
        var before: [Series: Int64] = [:]
        var last: [Series: Int64] = [:]
        var looking = try prepare(SQL.Decisions.last)
        var insert = try prepare(SQL.Decisions.insert)
        for record in records {
            let series = Series(rule: record.rule, verdict: record.verdict)
            if before[series] == nil {
                try Self.bind(series, to: &looking)
                before[series] = try looking.next() ? looking.int(0) : 0
                looking.stop()
            }
            let number = before[series, default: 0] + record.number
            try Self.bind(series, to: &insert)
            try insert.bind(":number", number)
            try insert.bind(":occasion", record.occasion.text)
            try insert.bind(":at", record.at)
            try insert.bind(":detail", text: JSON.object(record.detail).encoded())
            try insert.run()
            last[series] = number
        }
        var trim = try prepare(SQL.Decisions.trim)
        for (series, number) in last where number > Int64(DecisionRecord.most) {
            try Self.bind(series, to: &trim)
            try trim.bind(":last", number - Int64(DecisionRecord.most))
            try trim.run()
        }
    }

    func decisions(_ query: DecisionQuery) throws -> [DecisionRecord] {
        var statement = try prepare(query.occasion == nil ? SQL.Decisions.newest : SQL.Decisions.ofOccasion)
        if let occasion = query.occasion { try statement.bind(":occasion", occasion.text) }
        try statement.bind(":rule", query.rule)
        try statement.bind(":since", query.since)
        try statement.bind(":verdicts", text: Self.list(query.verdicts.map(\.rawValue)))
        try statement.bind(":limit", query.limit)
        var records: [DecisionRecord] = []
        while try statement.next() { try Self.decision(statement).map { records.append($0) } }
        return records.reversed()
    }

    /// Reads `rule, verdict, number, occasion, at, detail`; nil for a newer version's verdict.
    static func decision(_ row: borrowing Prepared) throws -> DecisionRecord? {
        guard let verdict = DecisionRecord.Verdict(rawValue: row.text(1)) else { return nil }
        return DecisionRecord(
            rule: row.text(0), verdict: verdict, occasion: Occasion.ID(row.text(3)), at: row.time(4), number: row.int(2),
            detail: try row.json(5).asObject ?? [:])
    }

    /// Deletes old records of a verdict, at most this many; returns how many.
    func forget(_ verdict: DecisionRecord.Verdict, before limit: Timestamp, atMost count: Int) throws -> Int {
        return try run(SQL.Decisions.prune, (":verdict", verdict.rawValue), (":before", limit), (":limit", count))
    }

    private static func bind(_ series: Series, to statement: inout Prepared) throws {
        try statement.bind(":rule", series.rule)
        try statement.bind(":verdict", series.verdict.rawValue)
    }
}

extension SQL {
    enum Decisions {
        static let last = "SELECT coalesce(max(number), 0) FROM decision WHERE rule = :rule AND verdict = :verdict"

        static let insert = """
            INSERT INTO decision (rule, verdict, number, occasion, at, detail)
            VALUES (:rule, :verdict, :number, :occasion, :at, :detail)
            """

        static let trim = "DELETE FROM decision WHERE rule = :rule AND verdict = :verdict AND number <= :last"

        /// Newest first; the caller reverses them.
        static let newest = "\(rows) WHERE \(filter) ORDER BY at DESC, number DESC LIMIT :limit"

        static let ofOccasion = "\(rows) WHERE occasion = :occasion AND \(filter) ORDER BY at DESC, number DESC LIMIT :limit"

        private static let rows = "SELECT rule, verdict, number, occasion, at, detail FROM decision"

        private static let filter = """
            (:rule IS NULL OR rule = :rule) AND (:since IS NULL OR at >= :since)
                AND (:verdicts IS NULL OR verdict IN (SELECT value FROM json_each(:verdicts)))
            """

        static let prune = """
            DELETE FROM decision
            WHERE rowid IN (SELECT rowid FROM decision WHERE verdict = :verdict AND at < :before LIMIT :limit)
            """
    }
}
