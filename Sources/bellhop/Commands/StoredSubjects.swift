import BellhopAgent
import BellhopCore
import BellhopRules

/// A task as its source was last polled.
struct PolledTask: Sendable {
    var snapshot: Snapshot
    var source: String
    /// The time of that poll, if it is known.
    var polled: Timestamp?
    var zone: TimeZoneTable

    /// Says which task a command looks at, and how old the facts are.
    var sentence: String {
        let time = polled.map { " at \(zone.dateAndClock($0))" } ?? ""
        return "Looking at \(snapshot.number) of \(source), as last polled\(time): \(snapshot.title).".visible
    }
}

/// Finds events and tasks that a person names, in the agent's store.
struct StoredSubjects: Sendable {
    let config: ConfigOptions
    let context: RuleContext

    /// The event with this id, or the only one whose id begins with it.
    func event(_ id: String) async throws(CommandError) -> StoredEvent {
        let found = try await config.storeLink().rows(.events(EventQuery(id: id, limit: 2)))
        let exact = found.first { $0["id"]?.asString == id }
        guard let json = exact ?? found.first else {
            throw CommandError(.problem, "There is no event `\(id.visible)`: `bellhop events` lists them.")
        }
        guard exact != nil || found.count == 1 else {
            throw CommandError(.problem, "Several events begin with \(id.visible). Give more of the id.")
        }
        guard let event = Event(cloudEvent: json) else {
            throw CommandError(.problem, "The event \(id.visible) cannot be read; was it written by another version?")
        }
        return StoredEvent(sequence: json["sequence"]?.asInt ?? 0, event: event)
    }

    /// A task that a source showed when it was last polled, by its number or sys_id.
    /// - Parameter preferred: the sources to prefer, such as those of a rule.
    func task(_ name: String, preferred: [String] = []) async throws(CommandError) -> PolledTask {
        let sources = context.sources.filter { preferred.contains($0.name) } + context.sources
        let found = try await shown(name)
        let first = sources.lazy.compactMap { source in found.first { $0.scope == source.scope } }.first ?? found.first
        guard let (scope, task) = first else {
            var numbers: [String] = []
            _ = try await config.storeLink().answer(.tasks(nil)) { row in
                if let number = row["task"]?["number"]?.asString { numbers.append(number) }
            }
            let help = Suggestion.didYouMean(name, among: numbers).map { ": \($0)" } ?? "."
            throw CommandError(.problem, "No source shows a task \(name.visible) now" + help)
        }
        let polled = try await statuses().first { $0["scope"]?.asString == scope.text }?["last_poll"]?.asMoment
        return PolledTask(
            snapshot: task.snapshot, source: sources.first { $0.scope == scope }?.name ?? task.source,
            polled: polled, zone: try config.storeLink().zone)
    }

    private func statuses() async throws(CommandError) -> [JSON] {
        try await config.storeLink().answer(.status)["sources"].elements
    }

    /// The tasks of all sources that were polled; empty without a configuration.
    func tasks() async throws(CommandError) -> [Scope.ID: [Snapshot]] {
        guard !context.isOpen else { return [:] }
        let scopes = try await statuses().compactMap { $0["scope"]?.asString }
        return try await tasks(in: Set(scopes.map { Scope.ID(text: $0) }))
    }

    /// The tasks that the sources with these scopes showed at their last polls. A scope that was never polled is missing.
    func tasks(in scopes: Set<Scope.ID>) async throws(CommandError) -> [Scope.ID: [Snapshot]] {
        if scopes.isEmpty { return [:] }
        let store = try config.storeLink().openForReading()
        return try await rethrowing(as: CommandError.init) { () async throws(StoreError) in
            let tasks = try await store.tasks(in: Array(scopes))
            try await store.close()
            return tasks
        }
    }

    private func shown(
        _ name: String
    ) async throws(CommandError) -> [(scope: Scope.ID, task: (snapshot: Snapshot, source: String))] {
        let answer = try await config.storeLink().rows(.tasks(name))
        return answer.compactMap { json in
            guard let scope = json["scope"]?.asString, let task = json["task"], let snapshot = Snapshot(json: task) else {
                return nil
            }
            return (Scope.ID(text: scope), (snapshot, task["source"].textOrEmpty))
        }
    }
}
