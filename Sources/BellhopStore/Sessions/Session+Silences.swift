import BellhopCore

extension Session {
    private struct SilenceRow {
        var record: SilenceRecord
        var started: Timestamp?
    }

    func silences(includingEnded: Bool) throws -> [SilenceRecord] {
        try silenceRows(includingEnded ? SQL.Silences.all : SQL.Silences.open).map(\.record)
    }

    func add(_ silence: Silence, by person: Person?, at now: Timestamp) throws -> Bool {
        guard try insert(silence) else { return false }
        try audit(.addSilence, by: person, ["silence": .object(silence.json)], at: now)
        if silence.starts <= now { try start(silence, at: now) }
        return true
    }

    func endSilence(_ id: String, by person: Person?, at now: Timestamp) throws -> SilenceRecord? {
        guard let row = try silenceRows(SQL.Silences.open).first(where: { $0.record.silence.id == id }) else { return nil }
        try audit(.endSilence, by: person, ["silence": ["id": .string(id)]], at: now)
        return try end(row, at: now)
    }

    func beginAndEndSilences(_ entries: [SilenceEntry], at now: Timestamp) throws -> [Event] {
        try insert(entries.flatMap { $0.silences(at: now) }, at: now)
        let identities = Set(entries.map(\.identity))
        var events: [Event] = []
        for var row in try silenceRows(SQL.Silences.open) {
            let silence = row.record.silence
            let isConfigured = silence.entry.map { identities.contains($0) } ?? true
            if isConfigured, row.started == nil, silence.starts <= now {
                events.append(try start(silence, at: now))
                row.started = now
            }
            guard !isConfigured || silence.ends <= now else { continue }
            if !isConfigured, row.started == nil {
                try run(SQL.Silences.remove, (":id", silence.id))
                continue
            }
            let ended = try end(row, isConfigured: isConfigured, at: now)
            if row.started != nil { events.append(.silenceEnded(ended, at: now)) }
        }
        return events
    }

    /// Counts the deliveries that silences keep back. Throws ``RouteConflict`` if one of these silences has ended.
    func count(keptBy kept: [String: Int]) throws {
        guard !kept.isEmpty else { return }
        var statement = try prepare(SQL.Silences.count)
        for (id, count) in kept {
            try statement.bind(":id", id)
            try statement.bind(":count", count)
            if try statement.run() == 0 { throw RouteConflict.silence(id) }
        }
    }

    // Parts.

    /// What distinguishes the silences of entries, also of one whose entry was gone meanwhile.
    private struct Occurrence: Hashable {
        var entry: String?
        var ends: Timestamp
    }

    /// Adds the silences of entries that are not stored yet. One whose entry was gone meanwhile begins anew.
    private func insert(_ silences: [Silence], at now: Timestamp) throws {
        if silences.isEmpty { return }
        let stored = try rows(SQL.Silences.occurrences, (":now", now)) { row in
            Occurrence(entry: row.text(0), ends: row.time(1))
        }
        var known = Set(stored)
        for var silence in silences where known.insert(Occurrence(entry: silence.entry, ends: silence.ends)).inserted {
            while try !insert(silence) { silence = silence.again(at: now) }
        }
    }

    private func insert(_ silence: Silence) throws -> Bool {
        return try run(
            SQL.Silences.insert, (":id", silence.id), (":entry", silence.entry), (":starts", silence.starts),
            (":ends", silence.ends), (":body", StoredForm.silence.stamp(.object(silence.json)).encoded())) == 1
    }

    private func silenceRows(_ sql: String) throws -> [SilenceRow] {
        try rows(sql) { row in
            guard var silence = Silence(json: try row.json(1, as: .silence)) else {
                throw DamagedValue("a silence cannot be read")
            }
            silence.entry = row.optionalText(0)
            (silence.starts, silence.ends) = (row.time(5), row.time(6))
            return SilenceRow(
                record: SilenceRecord(silence, kept: Int(row.int(2)), ended: row.optionalTime(4)), started: row.optionalTime(3))
        }
    }

    @discardableResult
    private func start(_ silence: Silence, at now: Timestamp) throws -> Event {
        try run(SQL.Silences.start, (":id", silence.id), (":now", now))
        let event = Event.silenceStarted(silence, at: now)
        try append([event])
        return event
    }

    /// Ends a silence, with its event if it had begun.
    /// - Parameter isConfigured: false if its entry is gone from bellhop.yaml.
    private func end(_ row: SilenceRow, isConfigured: Bool = true, at now: Timestamp) throws -> SilenceRecord {
        var record = row.record
        try run(SQL.Silences.end, (":id", record.silence.id), (":gone", !isConfigured), (":now", now))
        record.ended = now
        if row.started != nil { try append([.silenceEnded(record, at: now)]) }
        return record
    }
}

extension SQL {
    enum Silences {
        static let insert = """
            INSERT INTO silence (id, entry, starts, ends, body) VALUES (:id, :entry, :starts, :ends, :body)
            ON CONFLICT (id) DO NOTHING
            """

        /// All silences. Those that have ended come last.
        static let all = "\(rows) ORDER BY ended IS NOT NULL, starts, id"

        /// Those that have not ended.
        static let open = "\(rows) WHERE ended IS NULL ORDER BY starts, id"

        private static let rows = "SELECT entry, body, kept, started, ended, starts, ends FROM silence"

        /// The entries and the planned ends of the silences that entries may have now. Reads no bodies: with many entries most silences have
        /// ended.
        static let occurrences = "SELECT entry, ends FROM silence WHERE entry IS NOT NULL AND ends > :now"

        static let start = "UPDATE silence SET started = :now WHERE id = :id"

        /// A silence whose entry is gone lasts only until now: an entry that is written again makes another silence.
        static let end = "UPDATE silence SET ended = :now, ends = iif(:gone, min(ends, :now), ends) WHERE id = :id"

        static let remove = "DELETE FROM silence WHERE id = :id"

        /// Changes nothing if the silence has ended.
        static let count = "UPDATE silence SET kept = kept + :count WHERE id = :id AND ended IS NULL"

        /// Counts from the later of the actual and the planned end, so that an entry of bellhop.yaml does not begin again.
        static let prune = "DELETE FROM silence WHERE max(ended, ends) < :before"
    }
}
