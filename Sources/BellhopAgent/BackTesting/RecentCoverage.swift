public import BellhopCore
public import BellhopRules

/// Which parts of one rule file recent events reached, by a short back-test. It uses the newest events of the bus and the events of the latest
/// runs and stops of the file's rules, and adds the deliveries that these runs made.
public struct RecentCoverage: Sendable {
    public var file: RuleCoverage.File
    /// How many events went through the rules.
    public private(set) var events = 0
    /// The time of the first of them; nil without events.
    public private(set) var since: BellhopCore.Timestamp?

    /// How far back it looks for events that concern the rules, in time and in places of the bus.
    private static let (span, places) = (Duration.days(7), Int64(4000))
    /// The most events of these, and how many places are read at once.
    private static let (maxEvents, page) = (500, Int64(500))
    /// The events of at most this many deliveries and records of a rule are added, for at most this many rules of the file.
    private static let (maxRuns, maxRules) = (20, 10)
    /// The most timers that come due, and how long the rules may take.
    private static let (maxFirings, timeout) = (2000, Duration.seconds(2))

    /// - Parameters:
    ///   - book: only the rules of the file, loaded with `record`.
    ///   - rule: the rule of the file that comes first when there are many.
    static func of(
        _ book: RuleBook, _ record: CoverageRecord, first rule: String, in store: any Store, at now: BellhopCore.Timestamp,
        clock: any AgentClock
    ) async throws(StoreError) -> RecentCoverage? {
        var names = book.rules.map(\.name)
        if let place = names.firstIndex(of: rule) { names.swapAt(0, place) }
        var stored = try await newest(for: book, in: store, at: now)
        for name in names.prefix(maxRules) { try await addRuns(of: name, book, record, store, &stored) }
        let events = stored.values.filter { $0.event.time <= now }.sorted {
            ($0.event.time, $0.sequence) < ($1.event.time, $1.sequence)
        }
        if let first = events.first {
            var test = BackTest(
                book, from: first.event.time, silences: try await store.silences(), coverage: record, maxFirings: maxFirings)
            let end = clock.now + timeout
            for start in stride(from: 0, to: events.count, by: 25) where clock.now < end && !Task.isCancelled {
                _ = test.feed(events[start..<min(start + 25, events.count)])
            }
            if clock.now < end { _ = test.finish(at: now) }
        }
        guard let file = record.coverage.files.first else { return nil }
        var coverage = RecentCoverage(file: file)
        (coverage.events, coverage.since) = (events.count, events.first?.event.time)
        return coverage
    }

    /// The newest events of the bus that may concern the rules, by their places.
    private static func newest(
        for book: RuleBook, in store: any Store, at now: BellhopCore.Timestamp
    ) async throws(StoreError) -> [Int64: StoredEvent] {
        guard let last = try await store.events(EventQuery(limit: 1)).end else { return [:] }
        // Any event may end a wait, and rules that read tasks know them from events.
        let takesAll = book.hasWaits || book.rules.contains { !book.scopesRead(by: $0.name).isEmpty }
        let types = takesAll ? [] : Array(Set(book.rules.flatMap(\.types)))
        let sources = takesAll || book.rules.contains { $0.sources.isEmpty } ? [] : Array(Set(book.rules.flatMap(\.sources)))
        var found: [Int64: StoredEvent] = [:]
        var through = last
        while found.count < maxEvents, through > max(0, last - places) {
            var query = EventQuery(
                after: max(0, through - page), through: through, types: types, sources: sources, since: now - span,
                limit: Int(page))
            while true {
                let events = try await store.events(query)
                for event in events { found[event.sequence] = event }
                guard events.seen == nil, let end = events.end, end < through else { break }
                query.after = end
            }
            through -= page
        }
        return found
    }

    /// Adds the events of the latest runs and stops of a rule, and notes the steps of these runs.
    private static func addRuns(
        of rule: String, _ book: RuleBook, _ record: CoverageRecord, _ store: any Store, _ stored: inout [Int64: StoredEvent]
    ) async throws(StoreError) {
        let deliveries = try await store.deliveries(DeliveryQuery(rule: rule, limit: maxRuns))
        let decisions = try await store.decisions(DecisionQuery(rule: rule, limit: maxRuns))
        for delivery in deliveries.map(\.delivery) { book.note(delivery, in: record) }
        let occasions = Set(deliveries.map(\.delivery.id.occasion) + decisions.map(\.occasion))
        let begun = Set(occasions.compactMap(\.begun)).subtracting(stored.keys)
        var known = Set(stored.values.map(\.event.id))
        for event in try await store.events(at: Array(begun)) where known.insert(event.event.id).inserted {
            stored[event.sequence] = event
        }
        for id in Set(occasions.compactMap(\.event)) where !known.contains(id) {
            for event in try await store.events(EventQuery(id: id.text, limit: 1)) where event.event.id == id {
                stored[event.sequence] = event
            }
        }
    }
}

extension RuleWorkshop {
    /// Which parts of a rule's file recent events reached; nil if events can reach no part of it.
    /// - Parameter text: the file with its present text.
    public func recentCoverage(of text: RuleFile, rule: String) async throws(WorkshopError) -> RecentCoverage? {
        let present = try inForce()
        let record = CoverageRecord()
        let book: RuleBook
        do throws(Diagnostics) { book = try present.loading([text], coverage: record) } catch { throw .refused(error) }
        return try await rethrowing(as: WorkshopError.store) { () async throws(StoreError) in
            try await RecentCoverage.of(
                book, record, first: rule, in: inquirer.store, at: inquirer.clock.now, clock: inquirer.clock)
        }
    }
}
