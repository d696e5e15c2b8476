public import BellhopCore
import BellhopEngine
import BellhopRules

/// The answer to one inquiry, piece by piece. Reads rows from the store on demand, so that the whole answer is never in memory.
public struct InquiryAnswer: Sendable {
    public enum Piece: Sendable, Hashable {
        case rows([JSON])
        /// The last piece, after all rows.
        case end(JSON)
    }

    private let inquirer: Inquirer
    /// The part of the inquiry that is not answered yet.
    private var inquiry: Inquiry
    private var unreadable = 0
    private var lastPlace: Int64?
    /// The last place of the bus that was searched. A follower's next inquiry begins after it.
    private var seen: Int64?
    /// Whether the bus ends before the place from which the client follows it: then that place came from another store.
    private var isOtherBus = false
    /// The end of the answer about a history, once its rows have been given.
    private var historyEnd: JSON?
    /// When to stop waiting for the first event.
    private var deadline: Timestamp?
    /// The sources whose tasks are not answered yet, the next one last.
    private var sources: [StoreStatus.SourceStatus]?
    /// The last task that was looked at; nil at the beginning of a source.
    private var lastTask: TaskKey?
    /// The longest stop of each stopped receiver, once the stops were read.
    private var stops: [String: ReceiverStop]?
    /// The pause of all writes to tasks, once it was read; the inner optional is nil without such a pause.
    private var writesPause: Pause??

    /// How many rows are read from the store at once.
    private static let page = 500
    /// The longest wait for an event; a client gives up after a longer silence.
    private static let timeout = Duration.seconds(20)

    init(to inquiry: Inquiry, by inquirer: Inquirer) { (self.inquiry, self.inquirer) = (inquiry, inquirer) }

    /// The next piece; do not call after the end.
    public mutating func next() async throws(InquiryError) -> Piece {
        do throws(StoreError) {
            switch inquiry {
            case .status: return .end(try await inquirer.status())
            case .apply(let command, let ids): return .end(try await inquirer.apply(command, to: ids))
            case .pause(let target, let reason): return .end(try await inquirer.pause(target, reason: reason))
            case .resume(let target): return .end(try await inquirer.resume(target))
            case .silences(let ended): return .end(try await inquirer.silences(ended: ended))
            case .addSilence(let silence): return .end(try await inquirer.add(silence))
            case .endSilence(let id): return .end(try await inquirer.endSilence(id))
            case .forget(let task): return .end(try await inquirer.forget(task))
            case .replay(let request): return .end(try await inquirer.replay(request))
            case .form(let id): return .end(try await inquirer.form(of: id))
            case .edit(let edit): return .end(try await inquirer.edit(edit))
            case .keychainChanged(let change, let place):
                return .end(await inquirer.agent?.applyKeychainChange(change, place) ?? .null)
            case .keepRefusal(let key, let value): return .end(try await inquirer.keepRefusal(key, value))
            case .activity: return .end(try await inquirer.activity())
            case .tokens:
                let tokens = try await inquirer.tokens()
                return .end(["tokens": .array(tokens.map(\.shown))])
            case .addToken(let token): return .end(try await inquirer.add(token))
            case .removeToken(let name): return .end(try await inquirer.removeToken(of: name))
            case .events(let query, let waits): return try await events(query, waits: waits)
            case .deliveries(let query): return try await deliveries(query)
            case .tasks(let task): return try await tasks(task)
            case .audit(let query): return try await audit(query)
            case .history(let query): return try await history(query)
            }
        } catch {
            throw InquiryError(error)
        }
    }

    private mutating func events(_ asked: EventQuery, waits: Bool) async throws(StoreError) -> Piece {
        var query = asked
        let bell = waits && lastPlace == nil ? inquirer.agent?.events : nil
        let rings = bell?.rings ?? 0
        if query.after == nil, let span = try await inquirer.store.span(of: query) {
            query.after = span.after
            query.through = span.through
        }
        guard let after = query.after, asked.limit > 0, after < query.through ?? .max else { return endOfEvents }
        query.limit = min(asked.limit, Self.page)
        let page = try await inquirer.store.events(query)
        if let place = page.seen {
            // Pruning never removes the last place on a bus.
            if place < after, query.through == nil {
                (seen, isOtherBus) = (place, true)
                return endOfEvents
            }
            seen = max(seen ?? 0, place, after)
        }
        guard let last = page.end else {
            query.after = max(seen ?? 0, after)
            query.limit = asked.limit
            inquiry = .events(query, waits: waits)
            let deadline = deadline ?? inquirer.clock.now + Self.timeout
            guard let bell, inquirer.clock.now < deadline, !Task.isCancelled else { return endOfEvents }
            self.deadline = deadline
            await bell.wait(after: rings, until: deadline, on: inquirer.clock)
            return .rows([])
        }
        lastPlace = last
        unreadable += page.unreadable
        query.after = last
        query.limit = asked.limit - page.events.count - page.unreadable
        inquiry = .events(query, waits: waits)
        return .rows(page.events.map(\.json))
    }

    private var endOfEvents: Piece {
        let place = [lastPlace, seen].compactMap(\.self).max()
        var end: JSON.Object = ["unreadable": .int(Int64(unreadable)), "end": .optional(place)]
        if isOtherBus { end["other_bus"] = true }
        return .end(.object(end))
    }

    private mutating func deliveries(_ asked: DeliveryQuery) async throws(StoreError) -> Piece {
        var query = asked
        if query.after == nil, let span = try await inquirer.store.span(of: query) {
            query.after = span.after
            query.through = span.through
        }
        let end = Piece.end([:])
        guard let after = query.after, asked.limit > 0, after < query.through ?? .max else { return end }
        query.limit = min(asked.limit, Self.page)
        let records = try await inquirer.store.deliveries(query)
        guard let last = records.last else { return end }
        query.after = last.place
        query.limit = asked.limit - records.count
        inquiry = .deliveries(query)
        var rows: [JSON] = []
        for record in records {
            var json = asked.id == nil ? record.json : record.json(sentTo: inquirer.connection(record.delivery.id.receiver))
            json["place"] = .int(record.place)
            if let stop = try await stop(of: record) { json["stopped"] = stop }
            rows.append(json)
        }
        return .rows(rows)
    }

    /// The pause of all writes or the stop of the receiver for which the delivery waits, if it waits for one. A joined delivery waits with
    /// the one that it joined, which has the same receiver.
    private mutating func stop(of record: DeliveryRecord) async throws(StoreError) -> JSON? {
        guard record.joined?.state ?? record.state == .available else { return nil }
        if stops == nil { stops = try await inquirer.stops() }
        if writesPause == nil { writesPause = .some(try await inquirer.store.pauses().first { $0.subject == .writes }) }
        if let pause = writesPause ?? nil, record.delivery.effect != nil { return pause.json }
        guard let stop = stops?[record.delivery.id.receiver] else { return nil }
        // A delivery whose next attempt comes after the stop waits for that attempt.
        if let until = stop.until, record.joined == nil, record.runAt > until { return nil }
        return stop.json
    }

    private mutating func audit(_ asked: AuditQuery) async throws(StoreError) -> Piece {
        var query = asked
        query.limit = min(asked.limit, Self.page)
        let rows = query.limit > 0 ? try await inquirer.store.audit(query) : []
        guard let last = rows.last else { return .end([:]) }
        query.after = last.number
        query.limit = asked.isLast ? 0 : asked.limit - rows.count
        inquiry = .audit(query)
        return .rows(rows.map(\.json))
    }

    /// First all rows in one piece, then the other facts.
    private mutating func history(_ query: HistoryQuery) async throws(StoreError) -> Piece {
        if let historyEnd { return .end(historyEnd) }
        let history = try await inquirer.store.history(query)
        var facts = ExplanationFacts(history)
        for (place, record) in history.deliveries.enumerated() {
            facts.deliveries[place].stop = try await stop(of: record)
        }
        historyEnd = facts.end
        return .rows(facts.rows)
    }

    /// The tasks of one source after the other, in the form used in events, each with its scope.
    private mutating func tasks(_ wanted: String?) async throws(StoreError) -> Piece {
        if sources == nil {
            sources = inquirer.inUse(try await inquirer.store.status(at: inquirer.clock.now).sources).reversed()
        }
        guard let source = sources?.last else { return .end([:]) }
        let page = try await inquirer.store.tasks(
            TaskQuery(source.scope.id, after: lastTask, name: wanted, limit: Self.page))
        lastTask = page.end
        if page.end == nil { sources?.removeLast() }
        return .rows(page.tasks.map { ["scope": .string(source.scope.id.text), "task": $0.json(source: source.source)] })
    }
}
