import BellhopCore

extension Session {
    func history(_ query: HistoryQuery) throws -> StoredHistory {
        let (more, overflows) = query.limit.addingReportingOverflow(1)
        let after = query.through.map { max(0, $0 - Int64(query.limit)) }
        var page = try events(
            EventQuery(
                after: after, through: query.through, task: query.task, id: query.event, limit: overflows ? query.limit : more)
        ).events
        let isCut = page.count > query.limit
        if isCut { page.removeFirst() }
        if query.withCauses { page = try withCauses(page) }
        var history = StoredHistory(events: page)
        history.isCut = isCut
        history.rules = try rows(SQL.History.rules) { row in
            StoredHistory.RegisteredRule(name: row.text(0), revision: row.text(1), since: row.int(2))
        }
        history.pauses = try pauses()
        guard let first = page.first else { return history }
        let ids = Self.json(page.map { .string($0.event.id.text) })
        let places = Self.json(page.map { .int($0.sequence) })
        history.unrouted = Set(try rows(SQL.History.unrouted, (":places", places)) { row in row.int(0) })
        history.decisions = try decisions(of: page, ids)
        let own = Set(page.map(\.sequence))
        let waits = history.decisions.compactMap(\.waitPlace)
        let subjects = query.task == nil ? [] : Set(page.map(\.event.subject)).sorted()
        var deliveries = try prepare(
            SQL.History.deliveries, (":ids", ids), (":places", Self.json(own.union(waits).sorted().map(JSON.int))),
            (":subjects", Self.json(subjects.map(JSON.string))), (":limit", HistoryQuery.most))
        while try deliveries.next() {
            let record = try record(deliveries)
            let occasion = record.delivery.id.occasion
            let isOfEarlier = occasion.begun.map { !own.contains($0) } ?? false
            if isOfEarlier, !subjects.contains(record.delivery.task?.subject ?? "") {
                history.earlier.append(record)
            } else {
                history.deliveries.append(record)
            }
        }
        history.deliveries.reverse()
        history.timers = try timers(Array(Set(history.decisions.compactMap(\.timer)).union(absences(of: page))))
        let since = page.map(\.event.time).min() ?? first.event.time
        let names = Self.json(history.deliveries.map { .string($0.delivery.id.text) })
        history.audit = try rows(
            SQL.History.audit, (":after", try auditPlace(before: since)), (":since", since), (":names", names),
            (":limit", 4 * HistoryQuery.most)
        ) { row in AuditRow(number: row.int(0), at: row.time(1), entry: row.text(2), hash: row.text(3)) }
        for event in page where history.caused.count < HistoryQuery.most {
            history.caused += try caused(by: event, limit: HistoryQuery.most - history.caused.count)
        }
        return history
    }

    /// The events with all their causes and effects, in the order of the bus.
    private func withCauses(_ events: [StoredEvent]) throws -> [StoredEvent] {
        var known = Set(events.map(\.event.id))
        var all = events
        // Each round adds the causes of the events that the last round added.
        var last = events[...]
        while !last.isEmpty {
            let count = all.count
            for event in last where all.count < HistoryQuery.maxCauses {
                guard let cause = event.event.cause, known.insert(cause).inserted, let found = try self.event(cause) else {
                    continue
                }
                all.append(found)
            }
            last = all[count...]
        }
        last = all[...]
        while !last.isEmpty {
            let count = all.count
            for event in last where all.count < HistoryQuery.maxCauses {
                let found = try caused(by: event, limit: HistoryQuery.maxCauses - all.count)
                all += found.filter { known.insert($0.event.id).inserted }
            }
            last = all[count...]
        }
        return all.sorted { $0.sequence < $1.sequence }
    }

    private func event(_ id: Event.ID) throws -> StoredEvent? {
        var statement = try prepare(SQL.History.event, (":id", PackedName(id.text)))
        defer { statement.stop() }
        do { return try statement.next() ? StoredEvent(statement) : nil } catch is DamagedValue { return nil }
    }

    private func caused(by event: StoredEvent, limit: Int) throws -> [StoredEvent] {
        var statement = try prepare(SQL.History.caused, (":cause", PackedName(event.event.id.text)), (":limit", limit))
        defer { statement.stop() }
        var events: [StoredEvent] = []
        while try statement.next() {
            do { events.append(try StoredEvent(statement)) } catch is DamagedValue { continue }
        }
        return events
    }

    /// The records about these events and about the earlier waits that they continue, oldest first.
    private func decisions(of events: [StoredEvent], _ ids: [UInt8]) throws -> [DecisionRecord] {
        var records: [Int64: DecisionRecord] = [:]
        func take(_ row: borrowing Prepared) throws {
            if let record = try Self.decision(row) { records[row.int(6)] = record }
        }
        // The waits under these events' keys that began before the last event: a replay of an older event may have begun one.
        let keys = events.reduce(into: Set<String>()) { Self.collectKeys(of: $1.event, into: &$0) }
        var waits = try prepare(
            SQL.History.waits, (":until", events.map(\.event.time).max() ?? .distantPast),
            (":keys", Self.json(keys.sorted().map(JSON.string))))
        while try waits.next() { try take(waits) }
        // With these waits, also their ends, early or at their timers.
        let occasions = Set(records.values.map(\.occasion)).union(events.map { Occasion.event($0.event.id).id })
        let places = Set(records.values.compactMap(\.waitPlace)).union(events.map(\.sequence))
        var ofEvent = try prepare(SQL.History.decisionsOfEvent)
        for occasion in occasions {
            try ofEvent.bind(":occasion", occasion.text)
            while try ofEvent.next() { try take(ofEvent) }
            ofEvent.stop()
        }
        var others = try prepare(
            SQL.History.decisions, (":ids", ids), (":places", Self.json(places.sorted().map(JSON.int))))
        while try others.next() { try take(others) }
        // An escalation that these events began may have been ended by a later event.
        let begun = records.values.filter { $0.verdict == .escalating }
        if let since = begun.map(\.at).min() {
            let tasks = Set(begun.compactMap { $0.detail["key"]?.asString }).sorted()
            var escalations = try prepare(
                SQL.History.escalations, (":since", since), (":keys", Self.json(tasks.map(JSON.string))))
            while try escalations.next() { try take(escalations) }
        }
        return records.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The timers of the absences without `after` that these events may have begun again: of their source, or of all sources.
    private func absences(of events: [StoredEvent]) throws -> Set<RuleTimer.ID> {
        let keys = Set(events.map(\.event.source)).union([""])
        let rules = try rows(SQL.History.beginning) { row in row.text(0) }
        return Set(rules.flatMap { rule in keys.map { RuleTimer.ID(rule: rule, kind: .absence, key: $0) } })
    }

    /// The keys under which a rule may wait for this event: its task or one of its values, for `for` with the source. Other keys that `by`
    /// computes are not found.
    private static func collectKeys(of event: Event, into keys: inout Set<String>) {
        var texts = event.task.map { [$0.key.text] } ?? []
        var rest = Array(event.data.map(\.value))
        while let value = rest.popLast() {
            switch value {
            case .null, .double: break
            case .bool(let value): texts.append(String(value))
            case .int(let value): texts.append(String(value))
            case .string(let value): if value.utf8.count <= longestKey { texts.append(value) }
            case .array(let values): rest += values
            case .object(let members): rest += members.map(\.value)
            }
        }
        for text in texts {
            keys.insert(text)
            keys.insert("\(event.source)/\(text)")
        }
    }

    private static let longestKey = 200

    private static func json(_ values: [JSON]) -> [UInt8] { JSON.array(values).encoded() }
}

extension SQL {
    /// Deliveries, decisions and later events that some events caused. Each statement passes once over a table, or uses an index. `:ids`,
    /// `:subjects`, `:places` and `:names` are JSON arrays.
    enum History {
        static let unrouted = "SELECT sequence FROM unrouted WHERE sequence IN (SELECT value FROM json_each(:places))"

        /// The deliveries for these events, and the deliveries about these subjects from timers and elements of lists. (PostgreSQL:
        /// `split_part`.)
        static let deliveries = """
            \(Queries.deliveryRows)
            WHERE \(isForEvents) OR (
                (occasion LIKE 'timer/%' OR occasion LIKE 'element/%') AND subject IN (SELECT value FROM json_each(:subjects)))
            ORDER BY id DESC
            LIMIT :limit
            """

        /// Whether an occasion is a run for one of these events, for an element or a replay of one, for a timer that one began, or for an
        /// escalation of such a run. It parses the occasion, so that its time does not grow with the number of events.
        private static let isForEvents = """
            CASE substr(occasion, 1, instr(occasion, '/') - 1)
                WHEN 'timer' THEN \(isTimer("occasion"))
                WHEN 'escalation' THEN CASE substr(\(run), 1, instr(\(run), '/') - 1)
                    WHEN 'timer' THEN \(isTimer(run))
                    ELSE \(isEvent(run)) END
                ELSE \(isEvent("occasion"))
            END
            """

        /// The run that began an escalation: the part after its step and its repetition.
        private static let run = rest(rest(rest("occasion")))

        /// Whether the part after the kind of the occasion is one of these events.
        private static func isEvent(_ occasion: String) -> String {
            let rest = rest(occasion)
            return "substr(\(rest), 1, instr(\(rest) || '/', '/') - 1) IN (SELECT value FROM json_each(:ids))"
        }

        /// Whether the event that began the timer, or the last one before the silence, is one of these. Its place follows the due time,
        /// which follows the kind and the rule.
        private static func isTimer(_ occasion: String) -> String {
            let rest = rest(rest(rest(occasion)))
            let due = "substr(\(rest), 1, instr(\(rest), '/') - 1)"
            let place = "substr(\(due), max(instr(\(due), '-'), instr(\(due), '+')) + 1)"
            return "CAST(\(place) AS INTEGER) IN (SELECT value FROM json_each(:places))"
        }

        /// The part after the first slash.
        private static func rest(_ text: String) -> String { "substr(\(text), instr(\(text), '/') + 1)" }

        /// The records of why rules stopped at an event, by the index of occasions.
        static let decisionsOfEvent = "\(decisionRows) WHERE occasion = :occasion"

        /// The row id is the order in which they were made.
        private static let decisionRows = "SELECT rule, verdict, number, occasion, at, detail, rowid FROM decision"

        /// The same records for the elements, replays, timers and escalations of these events, but not for the events themselves.
        static let decisions = """
            \(decisionRows)
            WHERE (occasion >= 'element/' AND occasion < 'event/' OR occasion >= 'event0' AND occasion < 'timer0')
                AND \(isForEvents)
            """

        /// The waits under these keys that had begun. They explain a later event that continued a wait, without the events between.
        static let waits = """
            \(decisionRows)
            WHERE verdict = 'waiting' AND at <= :until AND detail ->> '$.key' IN (SELECT value FROM json_each(:keys))
            """

        /// The beginnings and the ends of the escalations of these tasks from a time on, by the index of verdicts.
        static let escalations = """
            \(decisionRows)
            WHERE verdict IN ('escalating', 'answered', 'ended') AND at >= :since
                AND detail ->> '$.key' IN (SELECT value FROM json_each(:keys))
            """

        /// The attempts of these deliveries, and the changes and pauses of rules.
        static let audit = """
            SELECT number, at, entry, hash FROM audit
            WHERE number > :after AND at >= :since AND entry <> '' AND (
                entry ->> '$.delivery' IN (SELECT value FROM json_each(:names))
                OR entry ->> '$.act' IN ('reload', 'pause', 'resume'))
            ORDER BY number
            LIMIT :limit
            """

        /// The events that an event caused, by the index of causes.
        static let caused = "\(Queries.eventRows) WHERE cause = :cause ORDER BY sequence LIMIT :limit"

        static let event = "\(Queries.eventRows) WHERE \(SQL.has("id", ":id"))"

        /// The rules that may have a silence.
        static let beginning = "SELECT name FROM rule WHERE begins_by_itself = 1"

        static let rules = "SELECT name, revision, since FROM rule ORDER BY name"
    }
}
