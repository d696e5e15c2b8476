import BellhopAgent
import BellhopCore
import BellhopRules

/// A search among the tasks that the sources show now, with the filters of a request.
struct TaskSearch: Sendable {
    private let call: Call
    private let condition: TaskCondition?

    /// The most tasks that one search evaluates; the next page continues after them.
    static let maxSeen = 20_000
    /// How many tasks are read from the store at once.
    private static let page = 500

    init(_ call: Call) throws(Problem) {
        self.call = call
        condition = try call.text("where").map { text throws(Problem) in
            try call.checked { book throws(Diagnostics) in try TaskCondition(text, context: book.context) }
        }
    }

    /// The tasks by source, in the store's order of ids, and the place after which the next page begins: a source and an id.
    func rows(limit: Int) async throws(Problem) -> (rows: [JSON], next: String?, failures: SearchFailures) {
        let after = call.text("after") ?? ""
        let clock = call.view.clock
        let end = clock.now + EventSearch.timeout
        var (rows, failures, seen, last): ([JSON], SearchFailures, Int, String) = ([], .init(), 0, after)
        for source in Self.sources(try await call.ask(.status).end, named: call.text("source"), after: after) {
            var key = Self.key(in: after, of: source.name)
            repeat {
                if rows.count == limit || seen >= Self.maxSeen || seen > 0 && clock.now >= end { return (rows, last, failures) }
                // One more than shown says whether another page follows.
                let most = condition == nil ? limit - rows.count + 1 : Self.page
                let page = try await page(TaskQuery(source.scope, after: key, limit: min(most, Self.maxSeen - seen)))
                let places: [Int]
                let count: Int
                if let condition {
                    let matched = condition.matches(
                        among: page.tasks.map { (source.name, $0) }, at: clock.now, limit: limit - rows.count,
                        isOver: { clock.now >= end })
                    failures += matched.failures
                    places = matched.places
                    count = matched.seen
                } else {
                    count = min(page.tasks.count, limit - rows.count)
                    places = Array(0..<count)
                }
                rows += places.map { place -> JSON in
                    ["scope": .string(source.scope.text), "task": page.tasks[place].json(source: source.name)]
                }
                seen += count
                if count > 0 { last = "\(source.name)/\(page.tasks[count - 1].key.text)" }
                if count < page.tasks.count { return (rows, last, failures) }
                key = page.end
            } while key != nil
        }
        return (rows, nil, failures)
    }

    private func page(_ query: TaskQuery) async throws(Problem) -> TaskPage {
        do throws(StoreError) { return try await call.view.inquirer.tasks(query) } catch { throw Problem(InquiryError(error)) }
    }

    /// The sources that may have tasks after a place, with their scopes, in the order of the places.
    ///
    /// - Parameter name: the only source; nil for all.
    static func sources(_ status: JSON, named name: String?, after: String) -> [(name: String, scope: Scope.ID)] {
        let rows = status["sources"].elements.filter { ($0["tasks"]?.asInt ?? 0) > 0 }
        let scopes = Dictionary(rows.map { ($0["source"].textOrEmpty, Scope.ID(text: $0["scope"].textOrEmpty)) }) { first, _ in
            first
        }
        let found = scopes.filter { source, _ in
            (name == nil || source == name) && ("\(source)/" > after || key(in: after, of: source) != nil)
        }
        return found.sorted { "\($0.key)/" < "\($1.key)/" }.map { (name: $0.key, scope: $0.value) }
    }

    /// The key in a place of a source; nil for a place of another one.
    private static func key(in place: String, of source: String) -> TaskKey? {
        let first = "\(source)/".utf8
        guard place.utf8.starts(with: first) else { return nil }
        return TaskKey(String(Substring(place.utf8.dropFirst(first.count))))
    }
}
