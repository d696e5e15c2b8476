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
        var rules = try prepare(SQL.History.rules)
        while try rules.next() {
            history.rules.append(
                StoredHistory.RegisteredRule(name: rules.text(0), revision: rules.text(1), since: rules.int(2)))
        }
        history.pauses = try pauses()
        guard let first = page.first else { return history }
        let ids = Self.json(page.map { .string($0.event.id.text) })
        let places = Self.json(page.map { .int($0.sequence) })
        var unrouted = try prepare(SQL.History.unrouted)
        try unrouted.bind(":places", text: places)
        while try unrouted.next() { history.unrouted.insert(unrouted.int(0)) }
        var deliveries = try prepare(SQL.History.deliveries)
        try deliveries.bind(":ids", text: ids)
        try deliveries.bind(":places", text: places)
        let subjects = query.task == nil ? [] : Set(page.map(\.event.subject)).sorted()
        try deliveries.bind(":subjects", text: Self.json(subjects.map(JSON.string)))
        try deliveries.bind(":limit", HistoryQuery.most)
        while try deliveries.next() { history.deliveries.append(try Self.record(deliveries)) }
        history.deliveries.reverse()
        history.decisions = try decisions(of: page, ids, places)
        var audit = try prepare(SQL.History.audit)
        try audit.bind(":since", page.map(\.event.time).min() ?? first.event.time)
        try audit.bind(":names", text: Self.json(history.deliveries.map { .string($0.delivery.id.text) }))
        try audit.bind(":limit", 4 * HistoryQuery.most)
        while try audit.next() {
            history.audit.append(
                AuditRow(number: audit.int(0), at: audit.time(1), entry: audit.text(2), hash: audit.text(3)))
        }
        for event in page where history.caused.count < HistoryQuery.most {
            history.caused += try caused(by: event, limit: HistoryQuery.most - history.caused.count)
        }
        return history
    }

    /// The events with those that led to them and all that they led to, in the order of the bus.
    private func withCauses(_ events: [StoredEvent]) throws -> [StoredEvent] {
        var known = Set(events.map(\.event.id))
        var all = events
        // Each round adds the causes of those that the round before added.
        var last = events[...]
        while !last.isEmpty {
            let count = all.count
            for event in last where all.count < HistoryQuery.mostCauses {
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
            for event in last where all.count < HistoryQuery.mostCauses {
                let found = try caused(by: event, limit: HistoryQuery.mostCauses - all.count)
                all += found.filter { known.insert($0.event.id).inserted }
            }
            last = all[count...]
        }
        return all.sorted { $0.sequence < $1.sequence }
    }

    private func event(_ id: Event.ID) throws -> StoredEvent? {
        var statement = try prepare(SQL.History.event)
        defer { statement.stop() }
        try statement.bind(":id", key: id.text)
        do { return try statement.next() ? StoredEvent(statement) : nil } catch is DamagedValue { return nil }
    }

    private func caused(by event: StoredEvent, limit: Int) throws -> [StoredEvent] {
        var statement = try prepare(SQL.History.caused)
        defer { statement.stop() }
        try statement.bind(":cause", key: event.event.id.text)
        try statement.bind(":limit", limit)
        var events: [StoredEvent] = []
        while try statement.next() {
            do { events.append(try StoredEvent(statement)) } catch is DamagedValue { continue }
        }
        return events
    }

    private func decisions(of events: [StoredEvent], _ ids: [UInt8], _ places: [UInt8]) throws -> [DecisionRecord] {
        var records: [DecisionRecord] = []
        var ofEvent = try prepare(SQL.History.decisionsOfEvent)
        for event in events {
            try ofEvent.bind(":occasion", Occasion.event(event.event.id).id.text)
            while try ofEvent.next() { try Self.decision(ofEvent).map { records.append($0) } }
            ofEvent.stop()
        }
        var others = try prepare(SQL.History.decisions)
        try others.bind(":ids", text: ids)
        try others.bind(":places", text: places)
        while try others.next() { try Self.decision(others).map { records.append($0) } }
        return try waits(before: events) + records
    }

    /// The waits for the tasks of these events that had begun when the first of them came.
    private func waits(before events: [StoredEvent]) throws -> [DecisionRecord] {
        let ids = Set(events.map(\.event.id))
        var waits = try prepare(SQL.History.waits)
        try waits.bind(":until", events.map(\.event.time).min() ?? .distantPast)
        // `for` waits under the source and the task, `none` under the task.
        let keys = Set(
            events.flatMap { event in event.event.task.map { [$0.key.text, "\(event.event.source)/\($0.key.text)"] } ?? [] })
        try waits.bind(":keys", text: Self.json(keys.sorted().map(JSON.string)))
        var records: [DecisionRecord] = []
        while try waits.next() {
            guard let record = try Self.decision(waits), !(record.occasion.event.map(ids.contains) ?? false) else { continue }
            records.append(record)
        }
        return records
    }

    private static func json(_ values: [JSON]) -> [UInt8] { JSON.array(values).encoded() }
}
