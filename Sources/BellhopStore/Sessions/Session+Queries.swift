import BellhopCore

extension Session {
    func status(at now: Timestamp) throws -> StoreStatus {
        var deliveries: [DeliveryState: Int] = [:]
        var open = try prepare(SQL.Queries.openDeliveries)
        while try open.next() { deliveries[try Self.state(open.text(0))] = Int(open.int(1)) }
        let joined = try rows(SQL.Queries.joinedCounts) { (state: $0.optionalText(0), count: Int($0.int(1))) }
        if !joined.isEmpty { deliveries[.joined] = joined.reduce(0) { $0 + $1.count } }
        let done = Int(try int(SQL.Queries.deliveryCount)) - deliveries.values.reduce(0, +)
        if done > 0 { deliveries[.done] = done }
        let backlog = try backlog()
        var status = StoreStatus(
            sources: try sources(), rules: try rules(), stops: try stops(with: backlog), deliveries: deliveries,
            undecided: try undecided(), events: Int(try int(SQL.Queries.eventCount)),
            unrouted: Int(try int(SQL.Queries.unroutedCount)), damaged: try damagedEvents())
        status.backlog = backlog
        status.prunedUntil = try prunedEvents()
        for case (let state?, let count) in joined { status.joined[try Self.state(state)] = count }
        status.pauses = try pauses().filter { pause in
            pause.isByPerson || status.rules.contains { pause.subject == .rule($0.rule) }
        }
        status.waits = try waits(at: now)
        status.counts = try counts(among: status.waits, at: now)
        (status.upcoming, status.laterWaits) = try upcoming()
        status.quiet = try quietStatus()
        status.silences = try silences(includingEnded: false)
        return status
    }

    func events(_ query: EventQuery) throws -> EventPage {
        // Read the last place first, so that the next query finds events that are added meanwhile.
        let last = try query.after == nil ? nil : min(int(SQL.Rules.lastPlace), query.through ?? .max)
        let name = Self.wholeID(query.id)
        var statement = try prepare(
            name != nil ? SQL.Queries.event : query.after == nil ? SQL.Queries.events : SQL.Queries.eventsAfter)
        if let name { try statement.bind(":key", key: name) }
        if name != nil || query.after != nil { try statement.bind(":after", query.after) }
        try statement.bind(":through", query.through)
        try Self.bind(query, to: &statement)
        var page = EventPage(events: [])
        var bytes = 0
        while query.after == nil || bytes < Self.maxShown {
            guard try statement.next() else {
                if page.count + page.unreadable < query.limit { page.seen = last.map { max($0, page.end ?? 0) } }
                break
            }
            bytes += statement.size(7)
            page.end = max(page.end ?? 0, statement.int(0))
            do { page.events.append(try StoredEvent(statement)) } catch is DamagedValue { page.unreadable += 1 }
        }
        if query.after == nil { page.events.reverse() }
        return page
    }

    func digest(_ query: DigestQuery) throws -> Digest {
        func prepared(_ sql: String) throws -> Prepared {
            let types = Self.list(query.types.map(\.name)) ?? Array("[]".utf8)
            return try prepare(
                sql, (":after", query.after), (":before", query.before), (":types", types),
                (":sources", Self.list(query.sources)))
        }
        var counting = try prepared(SQL.Queries.digestCount)
        let count = try counting.next() ? Int(counting.int(0)) : 0
        var statement = try prepared(SQL.Queries.digest)
        try statement.bind(":limit", DigestQuery.most)
        var digest = Digest(events: [])
        var bytes = 0
        while bytes < Self.maxUnrouted, try statement.next() {
            bytes += statement.size(7)
            do { digest.events.append(try StoredEvent(statement)) } catch is DamagedValue { continue }
        }
        digest.events.reverse()
        digest.more = count - digest.events.count
        return digest
    }

    func activity(since: Timestamp) throws -> Activity {
        func hours(_ sql: String) throws -> [(state: String, hour: Activity.Hour)] {
            try rows(sql, (":since", since), (":limit", Activity.most)) { row in
                (row.text(2), Activity.Hour(hour: row.int(0), count: Int(row.int(1))))
            }
        }
        var deliveries: [DeliveryState: [Activity.Hour]] = [:]
        for (name, hour) in try hours(SQL.Queries.deliveryHours) {
            deliveries[try Self.state(name), default: []].append(hour)
        }
        return Activity(events: try hours(SQL.Queries.eventHours).map(\.hour), deliveries: deliveries)
    }

    func span(of query: EventQuery) throws -> RowSpan? {
        let name = Self.wholeID(query.id)
        var statement = try prepare(name == nil ? SQL.Queries.eventSpan : SQL.Queries.eventPlace)
        if let name { try statement.bind(":key", key: name) }
        try statement.bind(":through", query.through)
        try Self.bind(query, to: &statement)
        return try Self.span(&statement)
    }

    func deliveries(_ query: DeliveryQuery) throws -> [DeliveryRecord] {
        if let name = Self.wholeID(query.id) {
            var statement = try prepare(SQL.Queries.delivery, (":name", PackedName(name)))
            try Self.bind(query, to: &statement)
            guard try statement.next() else { return [] }
            let record = try record(statement)
            return record.place > query.after ?? 0 && record.place <= query.through ?? .max ? [record] : []
        }
        let readsFew = try selectsFew(query)
        let sql =
            if readsFew {
                query.after == nil ? SQL.Queries.fewDeliveries : SQL.Queries.fewDeliveriesAfter
            } else {
                query.after == nil ? SQL.Queries.deliveries : SQL.Queries.deliveriesAfter
            }
        var statement = try prepare(sql)
        if let after = query.after { try statement.bind(":after", after) }
        try statement.bind(":through", query.through)
        try Self.bind(query, to: &statement)
        var records: [DeliveryRecord] = []
        var bytes = 0
        while query.after == nil || bytes < Self.maxShown, try statement.next() {
            bytes += statement.size(DeliveryRow.body)
            records.append(try record(statement))
        }
        return query.after == nil ? records.reversed() : records
    }

    func span(of query: DeliveryQuery) throws -> RowSpan? {
        let name = Self.wholeID(query.id)
        let search = try selectsFew(query) ? SQL.Queries.fewDeliveriesSpan : SQL.Queries.deliverySpan
        var statement = try prepare(name == nil ? search : SQL.Queries.deliveryPlace)
        if let name { try statement.bind(":name", key: name) } else { try statement.bind(":through", query.through) }
        try Self.bind(query, to: &statement)
        return try Self.span(&statement)
    }

    /// Whether a query is for states that only few deliveries have: the dead, the waiting, and others that are not done.
    private func selectsFew(_ query: DeliveryQuery) throws -> Bool {
        if query.states.isEmpty || query.states.contains(.done) || query.states.contains(.joined) { return false }
        var count = try prepare(
            SQL.Queries.stateCount, (":states", Self.list(query.states.map(\.rawValue))), (":limit", Self.maxFew + 1))
        guard try count.next() else { return false }
        return count.int(0) <= Self.maxFew
    }

    /// With more deliveries than this, each page would read too many entries of the index.
    private static let maxFew: Int64 = 20_000

    /// The id in a query if it is complete; nil if it is only the beginning of an id.
    private static func wholeID(_ id: String?) -> String? {
        id.flatMap { id in
            id.utf8.count == 32 && id.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- UInt8(ascii: "a") < 6 } ? id : nil
        }
    }

    /// The most bytes of rows in a page after a place; a page has at least one row.
    private static let maxShown = 4 << 20

    private static func bind(_ query: EventQuery, to statement: inout Prepared) throws {
        try statement.bind(":types", text: list(query.types.map(\.name)))
        try statement.bind(":sources", text: list(query.sources))
        try statement.bind(":since", query.since)
        try statement.bind(":task", query.task)
        try statement.bind(":id", query.id.map(prefix))
        try statement.bind(":limit", query.limit)
    }

    private static func bind(_ query: DeliveryQuery, to statement: inout Prepared) throws {
        try statement.bind(":states", text: list(query.states.map(\.rawValue)))
        try statement.bind(":rule", query.rule)
        try statement.bind(":receiver", query.receiver)
        try statement.bind(":since", query.since)
        try statement.bind(":reason", query.reason?.rawValue)
        try statement.bind(":occasion", query.event.map { Occasion.event($0).id.text })
        try statement.bind(":id", query.id.map(prefix))
        try statement.bind(":limit", query.limit)
    }

    private static func span(_ statement: inout Prepared) throws -> RowSpan? {
        guard try statement.next(), !statement.isNull(0) else { return nil }
        return RowSpan(after: statement.int(0) - 1, through: statement.int(1))
    }

    // Parts.

    private func sources() throws -> [StoreStatus.SourceStatus] {
        try rows(SQL.Queries.sources) { row in
            StoreStatus.SourceStatus(
                source: row.text(0),
                scope: Scope(instance: row.text(1), user: row.text(2), kind: row.text(3), query: row.text(4)),
                hasBaseline: row.int(5) > 0, tasks: Int(row.int(8)), lastCommit: row.optionalTime(6),
                health: SourceHealth(stored: try row.json(7)))
        }
    }

    private func rules() throws -> [StoreStatus.RuleStatus] {
        try rows(SQL.Queries.rules, (":most", StoreStatus.WaitStatus.most)) { row in
            StoreStatus.RuleStatus(
                rule: row.text(0), runs: Int(row.int(1)), errors: Int(row.int(2)), lastError: row.optionalText(3),
                lastRun: row.optionalTime(4), nextDue: row.optionalTime(5), isOff: row.int(6) == 1,
                droppedKeys: Int(row.int(7)))
        }
    }

    private func backlog() throws -> [StoreStatus.BacklogStatus] {
        var backlog: [StoreStatus.BacklogStatus] = []
        var places: [String: Int] = [:]
        var statement = try prepare(SQL.Queries.backlog)
        while try statement.next() {
            let (receiver, waiting) = (statement.text(0), Int(statement.int(1)))
            if let place = places[receiver] {
                backlog[place].waiting += waiting
                continue
            }
            places[receiver] = backlog.count
            var entry = StoreStatus.BacklogStatus(
                receiver: receiver, waiting: waiting, since: statement.time(2), firstAttempt: statement.optionalTime(4),
                next: statement.optionalTime(5))
            if !statement.isNull(3) { entry.failure = Failure(stored: try statement.json(3)) }
            backlog.append(entry)
        }
        return backlog
    }

    private func stops(with backlog: [StoreStatus.BacklogStatus]) throws -> [StoreStatus.StopStatus] {
        let waiting = Dictionary(uniqueKeysWithValues: backlog.map { ($0.receiver, $0.waiting) })
        return try stops().map { StoreStatus.StopStatus(stop: $0, waiting: waiting[$0.receiver] ?? 0) }
    }

    private func undecided() throws -> [StoreStatus.UndecidedStatus] {
        try rows(SQL.Queries.undecided) { row in
            StoreStatus.UndecidedStatus(
                state: try Self.state(row.text(0)), receiver: row.text(1),
                reason: row.optionalText(2).map { Failure.Reason(rawValue: $0) ?? .refused }, count: Int(row.int(3)))
        }
    }

    func record(_ row: borrowing Prepared) throws -> DeliveryRecord {
        let delivery = DeliveryRow(row)
        let next = DeliveryRow.width
        var failure: Failure?
        if !row.isNull(next + 5) { failure = Failure(stored: try row.json(next + 5)) }
        if let problem = delivery.problem { failure = failure ?? DeliveryRow.failure(problem) }
        var record = DeliveryRecord(
            delivery: delivery.delivery, state: try Self.state(row.text(next)), attempts: Int(row.int(next + 1)),
            runAt: delivery.delivery.runAt, finishedAt: row.optionalTime(next + 2),
            receipt: row.optionalText(next + 3).map { Receipt($0, reference: row.optionalText(next + 4)) }, failure: failure,
            firstStarted: row.optionalTime(next + 7), lastStarted: row.optionalTime(next + 8), place: row.int(next + 6))
        if record.state == .joined { record.joined = try record.receipt?.reference.map(joined) }
        return record
    }

    private func joined(_ id: String) throws -> JoinedDelivery {
        var statement = try prepare(SQL.Queries.joined, (":name", PackedName(id)))
        guard try statement.next() else { return JoinedDelivery(id: id, state: nil) }
        let state = try Self.state(statement.text(0))
        let failure = statement.isNull(1) || state == .done ? nil : Failure(stored: try statement.json(1))
        return JoinedDelivery(id: id, state: state, error: failure?.message)
    }

    static func state(_ text: String) throws -> DeliveryState {
        guard let state = DeliveryState(rawValue: text) else { throw DamagedValue("a delivery has an unknown state") }
        return state
    }

    /// A JSON array for `json_each`; nil for no condition.
    static func list(_ names: [String]) -> [UInt8]? {
        names.isEmpty ? nil : JSON.array(names.map(JSON.string)).encoded()
    }

    /// A pattern for texts with this prefix. Ids are shorter than its bound, and SQLite refuses patterns of 50,000 bytes.
    private static func prefix(_ text: String) -> String {
        var pattern = ""
        for character in text.unicodeScalars.prefix(10_000).map(Character.init) {
            if "%_\\".contains(character) { pattern.append("\\") }
            pattern.append(character)
        }
        return pattern + "%"
    }
}
