import BellhopCore
import BellhopRules

/// Tasks as they were before certain events: events that are stored already, but are routed after the present batch.
///
/// A timer comes before the events of the moment at which it is due, even if a poll has already stored these.
struct EarlierTasks: Sendable {
    private var tasks = TasksBefore()
    /// Reads the events; nil if there are none.
    private var reload: (@Sendable () async throws(StoreError) -> EarlierTasks)?
    /// Whether none of the events were stored yet when the batch was chosen: facts that were read before are right.
    private(set) var isEmpty = true

    static let none = EarlierTasks()

    private init() {}

    /// - Parameters:
    ///   - place: the place on the bus behind which unrouted events are routed after the present batch.
    ///   - isEmpty: whether there were none when the batch was chosen.
    init(after place: Int64, isEmpty: Bool = false, in store: any Store, by book: RuleBook) {
        self.isEmpty = isEmpty
        reload = { () async throws(StoreError) in
            var earlier = EarlierTasks()
            var last = place
            while case let page = try await store.unrouted(after: last, limit: Self.page), let end = page.last {
                earlier.tasks.add(page, by: book)
                last = end.sequence
            }
            return earlier
        }
    }

    /// The most events to read at once: a poll of a mass change stores very many.
    private static let page = 1000

    /// The earlier tasks by all events that are stored now. Call this after reading the present tasks, because a poll may have changed
    /// tasks and stored events until then.
    func reloaded() async throws(StoreError) -> EarlierTasks { try await reload?() ?? self }

    /// All tasks of a scope in their earlier state. Those that have left since are last.
    func list(_ present: [Snapshot], of scope: Scope.ID) -> [Snapshot] { tasks.list(present, of: scope) }

    /// Some tasks of a scope in their earlier state. Some may have left since.
    func some(_ remembered: [TaskKey: RememberedTask], of scope: Scope.ID) -> [TaskKey: RememberedTask] {
        guard let changed = tasks[scope] else { return remembered }
        var tasks = remembered
        for (key, task) in remembered {
            guard let earlier = changed[key] else { continue }
            tasks[key] = earlier.map { RememberedTask(snapshot: $0, generation: task.generation) }
        }
        return tasks
    }
}
