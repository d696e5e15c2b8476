import BellhopAgent
import BellhopCore
import BellhopRules

/// A search among the tasks that the sources show now, with the filters of a request. It reads the tasks of one source at a time.
struct TaskSearch: Sendable {
    private let call: Call
    private let condition: TaskCondition?

    /// The most tasks that one search evaluates; the next page continues after them.
    static let maxSeen = 20_000

    init(_ call: Call) throws(Problem) {
        self.call = call
        condition = try call.text("where").map { text throws(Problem) in
            try call.checked { book throws(Diagnostics) in try TaskCondition(text, context: book.context) }
        }
    }

    /// The tasks, ordered by source and id, and the key after which the next page begins.
    func rows(limit: Int) async throws(Problem) -> (rows: [JSON], next: String?, failures: SearchFailures) {
        let after = call.text("after") ?? ""
        let clock = call.view.clock
        let end = clock.now + EventSearch.timeout
        var (rows, failures, seen, last): ([JSON], SearchFailures, Int, String) = ([], .init(), 0, after)
        for source in Self.sources(try await call.ask(.status).end, named: call.text("source"), after: after) {
            if rows.count == limit || seen >= Self.maxSeen || seen > 0 && clock.now >= end { return (rows, last, failures) }
            let later = try await tasks(of: source, after: after)
            let looked = later.prefix(Self.maxSeen - seen)
            let places: [Int]
            let count: Int
            if let condition {
                let matched = condition.matches(
                    among: looked.map { (source.name, $0.task) }, at: clock.now, limit: limit - rows.count,
                    isOver: { clock.now >= end })
                failures += matched.failures
                places = matched.places
                count = matched.seen
            } else {
                count = min(looked.count, limit - rows.count)
                places = Array(0..<count)
            }
            rows += places.map { place -> JSON in
                ["scope": .string(looked[place].scope.text), "task": looked[place].task.json(source: source.name)]
            }
            seen += count
            if count > 0 { last = later[count - 1].key }
            if count < later.count { return (rows, last, failures) }
        }
        return (rows, nil, failures)
    }

    private struct Entry {
        var key: String
        var scope: Scope.ID
        var task: Snapshot
    }

    /// The tasks of a source after a key, ordered by their keys.
    private func tasks(of source: (name: String, scopes: Set<Scope.ID>), after: String) async throws(Problem) -> [Entry] {
        let tasks: [Scope.ID: [Snapshot]]
        do throws(StoreError) { tasks = try await call.view.inquirer.tasks(in: source.scopes) } catch {
            throw Problem(InquiryError(error))
        }
        let entries = tasks.flatMap { scope, tasks in
            tasks.map { Entry(key: "\(source.name)/\($0.key.text)", scope: scope, task: $0) }
        }
        return entries.filter { $0.key > after }.sorted { $0.key < $1.key }
    }

    /// The sources that may have tasks after a key, with their scopes, in the order of the keys.
    ///
    /// - Parameter name: the only source; nil for all.
    static func sources(_ status: JSON, named name: String?, after: String) -> [(name: String, scopes: Set<Scope.ID>)] {
        let rows = status["sources"].elements.filter { ($0["tasks"]?.asInt ?? 0) > 0 }
        let sources = Dictionary(grouping: rows) { $0["source"].text }
        let found = sources.filter { source, _ in
            let first = "\(source)/"
            return (name == nil || source == name) && (first > after || after.hasPrefix(first))
        }
        return found.sorted { "\($0.key)/" < "\($1.key)/" }.map { source, rows in
            (name: source, scopes: Set(rows.compactMap { $0["scope"]?.asString }.map(Scope.ID.init)))
        }
    }
}
