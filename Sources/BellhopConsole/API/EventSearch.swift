import BellhopAgent
import BellhopCore
import BellhopRules

/// A search among events, with the filters of a request.
struct EventSearch: Sendable {
    private let call: Call
    private let filter: EventFilter?

    init(_ call: Call) throws(Problem) {
        self.call = call
        try call.checkTypes(call.texts("type"))
        filter = try call.text("where").map { text throws(Problem) in try Self.filter(text, call) }
    }

    static func filter(_ text: String, _ call: Call) throws(Problem) -> EventFilter {
        try call.checked { book throws(Diagnostics) in try EventFilter(text, context: book.context) }
    }

    private func query(through: Int64?, limit: Int) -> EventQuery {
        EventQuery(
            through: through, types: call.texts("type").map(EventType.init), sources: call.texts("source"),
            task: call.text("task"), since: call.since("since"), limit: limit)
    }

    /// The events, newest first, and the place where the next page begins.
    func rows(limit: Int, before: Int64?) async throws(Problem) -> SearchPage {
        guard let filter else {
            let (rows, end) = try await call.ask(.events(query(through: before.map { $0 - 1 }, limit: limit)))
            return SearchPage(
                newest: rows, unreadable: Int(end["unreadable"]?.asInt ?? 0), limit: limit, place: "sequence")
        }
        let (inquirer, clock) = (call.view.inquirer, call.view.clock)
        let end = clock.now + Self.timeout
        return try await filter.search(
            query(through: nil, limit: limit), limit: limit, before: before, at: clock.now, isOver: { clock.now >= end }
        ) { query async throws(Problem) in
            do throws(StoreError) { return try await inquirer.newest(query) } catch { throw Problem(InquiryError(error)) }
        }
    }

    /// The time limit of one search. The next page continues after the last row evaluated in this time.
    static let timeout = Duration.milliseconds(75)

    func stream() throws(Problem) -> ConsoleAnswer {
        let (types, sources, task) = (call.texts("type"), call.texts("source"), call.text("task"))
        let last = call.request.header("last-event-id")
        if let last, Int64(last) ?? -1 < 0 { throw Problem(400, "`Last-Event-ID` is not the id of an event of this stream.") }
        let after = last.flatMap { Int64($0) } ?? call.number("after")
        let (filter, clock, authenticator, request) = (filter, call.view.clock, call.authenticator, call.request)
        let isAdmitted: @Sendable () async -> Bool = { await authenticator.stillAdmits(request) }
        let viewer = call.feed.viewer(after: after, isAdmitted: isAdmitted) { stored, failures in
            let event = stored.event
            if !types.isEmpty, !types.contains(event.type.name) { return false }
            if !sources.isEmpty, !sources.contains(event.source) { return false }
            if let task, event.subject != task, !event.subject.hasSuffix("/" + task), event.task?.number != task { return false }
            guard let filter else { return true }
            let matched = filter.matches(among: [stored], at: clock.now)
            failures += matched.failures
            return !matched.places.isEmpty
        }
        guard let viewer else {
            throw Problem(503, "\(LiveFeed.maxViewers) viewers watch already. Try again later.", retryAfter: 30)
        }
        return ConsoleAnswer(stream: "text/event-stream", viewer)
    }
}
