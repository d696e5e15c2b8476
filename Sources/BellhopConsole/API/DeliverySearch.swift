import BellhopAgent
import BellhopCore
import BellhopRules

/// A search among deliveries, with the filters of a request.
struct DeliverySearch: Sendable {
    private let call: Call
    private let condition: DeliveryCondition?

    init(_ call: Call) throws(Problem) {
        self.call = call
        condition = try call.text("where").map { text throws(Problem) in
            try call.checked { book throws(Diagnostics) in try DeliveryCondition(text, context: book.context) }
        }
    }

    /// The deliveries, newest first, and the place before which the next page begins.
    func rows(limit: Int, before: Int64?) async throws(Problem) -> SearchPage {
        let query = DeliveryQuery(
            through: before.map { $0 - 1 }, states: call.texts("state").compactMap(DeliveryState.init),
            rule: call.text("rule"), receiver: call.text("receiver"), since: call.since("since"),
            reason: call.text("reason").flatMap(Failure.Reason.init), event: call.text("event").map(Event.ID.init),
            limit: limit)
        guard let condition else {
            return SearchPage(newest: try await call.ask(.deliveries(query)).rows, limit: limit, place: "place")
        }
        let clock = call.view.clock
        let end = clock.now + EventSearch.timeout
        return try await condition.search(
            query, limit: limit, before: before, at: clock.now, isOver: { clock.now >= end }
        ) { query async throws(Problem) in try await call.ask(.deliveries(query)).rows }
    }
}

extension Call {
    /// - Throws: 400 if the agent does not know a type of event.
    func checkTypes(_ types: [String]) throws(Problem) {
        guard let book = view.book() else { return }
        for type in types { if let complaint = book.complaint(aboutEventType: type) { throw Problem(400, complaint) } }
    }

    /// Compiles a condition against the rules in force.
    ///
    /// - Throws: 422 with the condition's mistakes.
    func checked<Value>(_ compile: (RuleBook) throws(Diagnostics) -> Value) throws(Problem) -> Value {
        guard let book = view.book() else { throw Problem(503, "The rules are not loaded yet: try again.", retryAfter: 1) }
        do throws(Diagnostics) { return try compile(book) } catch { throw Problem(error) }
    }
}
