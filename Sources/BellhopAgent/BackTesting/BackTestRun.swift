public import BellhopCore
public import BellhopRules

/// Reads the events of a span of time from the store, page by page, and routes them through rules, and through other rules to compare.
public struct BackTestRun {
    /// The most events that are read at once.
    private static let page = 1000

    private var test: BackTest
    private var other: BackTest?
    private var report: BackTestReport
    private var gaps = BackTestGaps()
    /// How many events later than the end were read since the last one that is not.
    private var later = 0

    /// - Parameters:
    ///   - against: the rules to compare with; nil for none.
    ///   - rules: the rules of both that are counted and compared; nil for all.
    ///   - begin: when the clock of the rules begins.
    ///   - known: the time of the first stored event of each source whose silence the rules wait for.
    private init(
        _ book: RuleBook, against: RuleBook?, counting rules: Set<String>?, _ report: BackTestReport, from begin: Timestamp,
        known: [String: Timestamp], silences: [SilenceRecord], coverage: CoverageRecord?, areWhole: Bool
    ) {
        test = BackTest(
            book, counting: rules, from: begin, known: known, silences: silences, coverage: coverage, isWhole: areWhole)
        other = against.map {
            BackTest($0, counting: rules, from: begin, known: known, silences: silences, isWhole: areWhole)
        }
        self.report = report
        if against != nil { self.report.difference = DeliveryDifference() }
    }

    /// Runs a back-test.
    /// - Parameters:
    ///   - coverage: records which parts of the rules run; the rules were loaded with it.
    ///   - areWhole: whether these are all rules that would run, and the others too (see ``BackTest``).
    ///   - progress: called after each page with the share of the events that is done, from 0 to 1.
    public static func report(
        _ store: any Store, _ book: RuleBook, against: RuleBook? = nil, counting rules: Set<String>? = nil,
        from since: Timestamp, to until: Timestamp, coverage: CoverageRecord? = nil, areWhole: Bool = false,
        progress: (Double) -> Void = { _ in }
    ) async throws(StoreError) -> BackTestReport {
        let silences = try await store.silences()
        var known: [String: Timestamp] = [:]
        let watched = book.watchedSources.union(against?.watchedSources ?? []).sorted()
        for source in watched {
            known[source] = try await beginning(of: store, sources: [source], until: until)
        }
        // Read before the events, which then have all later changes.
        let scopes = book.listedScopes.union(against?.listedScopes ?? [])
        let tasks = scopes.isEmpty ? [:] : try await store.tasks(in: Array(scopes), isForPeople: true)
        let status = try await store.status(at: until)
        // The few earlier events that are kept would look like a quiet time.
        let pruned = status.prunedUntil.flatMap { $0 > since && $0 < until ? $0 : nil }
        let from = pruned ?? since
        // Before the store's first event no schedule is due, because nothing is known of that time.
        let begin = max(from, try await beginning(of: store, until: until) ?? until)
        var run = BackTestRun(
            book, against: against, counting: rules, BackTestReport(since: since, until: until), from: begin,
            known: known, silences: silences, coverage: coverage, areWhole: areWhole)
        (run.gaps.begin, run.gaps.pruned) = (begin, pruned)
        let isCounted = run.test.tally.isCounted
        run.gaps.unseen = book.watchedSources(isCounted).filter { known[$0] == nil }.sorted()
        try await run.read(store, from: from, tasks, status, progress)
        return run.report
    }

    /// The earliest time of the first page of events. While all of them are later than the end, further pages are read: the clock may have
    /// been ahead when the first events were stored.
    private static func beginning(
        of store: any Store, sources: [String] = [], until end: Timestamp
    ) async throws(StoreError) -> Timestamp? {
        var query = EventQuery(after: 0, sources: sources, limit: page)
        var earliest: Timestamp?
        while !Task.isCancelled {
            let events = try await store.events(query)
            earliest = (events.map(\.event.time) + [earliest].compactMap(\.self)).min()
            if let earliest, earliest <= end { break }
            guard let last = events.end, events.seen == nil else { break }
            query.after = last
        }
        return earliest
    }

    private mutating func read(
        _ store: any Store, from: Timestamp, _ tasks: [Scope.ID: [Snapshot]], _ status: StoreStatus,
        _ progress: (Double) -> Void
    ) async throws(StoreError) {
        let first = try await store.span(of: EventQuery(limit: .max))
        report.hasEarlier = first != nil
        let span = try await store.span(of: EventQuery(since: from, limit: .max))
        try await know(tasks, before: span, in: store)
        if let span {
            report.hasEarlier = first.map { $0.after < span.after } ?? false
            var place = span.after
            while place < span.through, !Task.isCancelled {
                let page = try await store.events(EventQuery(after: place, through: span.through, limit: Self.page))
                report.unreadable += page.unreadable
                show(page.events)
                guard let end = page.seen ?? page.end, end > place else { break }
                place = end
                progress(Double(place - span.after) / Double(span.through - span.after))
            }
        }
        take(test.finish(at: report.until), other?.finish(at: report.until))
        report.tally = test.tally
        report.tally.list(test.book.rules.map(\.name))
        report.samples = report.tally.rules.compactMapValues { $0.latest.map(BackTestSample.init) }
        try await readActs(store)
        gaps.note(status.sources.filter { test.book.hasSource($0.source) })
        report.gaps = gaps.sentences(of: test.book, report, other: other?.tally)
    }

    /// Sets the tasks of sources as they were before the events of this span.
    /// - Parameter present: the tasks as they are after these events.
    private mutating func know(
        _ present: [Scope.ID: [Snapshot]], before span: RowSpan?, in store: any Store
    ) async throws(StoreError) {
        if present.isEmpty { return }
        var before = TasksBefore()
        var query = EventQuery(
            after: span?.after, through: span?.through, types: [.taskCreated, .taskReturned, .taskChanged, .taskRemoved],
            sources: test.book.context.sources.filter { present[$0.scope] != nil }.map(\.name), limit: Self.page)
        while span != nil, !Task.isCancelled {
            let page = try await store.events(query)
            before.add(page.events, by: test.book)
            guard page.seen == nil, let end = page.end else { break }
            query.after = end
        }
        for (scope, tasks) in present {
            let earlier = before.list(tasks, of: scope)
            test.know(earlier, of: scope)
            other?.know(earlier, of: scope)
        }
    }

    /// Reads the acts of people in that time, and the present pauses.
    private mutating func readActs(_ store: any Store) async throws(StoreError) {
        var query = AuditQuery(since: report.since, onlyActs: true, limit: Self.page)
        while !Task.isCancelled {
            let rows = try await store.audit(query)
            for row in rows where row.at <= report.until { gaps.note(row) }
            guard let last = rows.last, rows.count == Self.page else { break }
            query.after = last.number
        }
        gaps.note(try await store.pauses(), try await store.stops())
    }

    private mutating func show(_ events: [StoredEvent]) {
        let found = events.filter { $0.event.time <= report.until }
        for stored in events {
            if stored.event.time > report.until {
                later += 1
            } else {
                (report.ahead, later) = (report.ahead + later, 0)
            }
        }
        report.events += found.count
        for event in found.map(\.event) {
            gaps.note(event)
            if test.book.isOfMissingSource(event) { gaps.note(eventOfMissingSource: event.source) }
        }
        if report.first == nil { report.first = found.map(\.event.time).min() }
        take(test.feed(found), other?.feed(found))
    }

    private mutating func take(_ made: BackTest.MadeDeliveries, _ others: BackTest.MadeDeliveries?) {
        let isCounted = test.tally.isCounted
        report.add(made, isCounted)
        report.difference?.add(
            before: (others?.deliveries ?? []).filter { isCounted($0.id.rule) },
            after: made.deliveries.filter { isCounted($0.id.rule) })
    }
}
